// Answers: staged in the outbox, then spliced into the client's pipe.
#include "memory/serve/ledger_shared.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace holdfast::memory {

namespace {

constexpr std::uint64_t little = std::uint64_t{64} << 10;
constexpr std::uint64_t much = std::uint64_t{4} << 20;
constexpr std::uint64_t block = std::uint64_t{2} << 20; // the largest page that a memory file may be made of

} // namespace

std::uint64_t Ledger::unsent() const noexcept {
    return shared_->out_end - sent_;
}

bool Ledger::stage(std::uint32_t ticket, std::string_view message) {
    const std::uint64_t from = shared_->out_end;
    char newline = '\n';
    std::size_t done = 0;
    while (done < message.size() + 1) {
        const auto rest = message.substr(std::min(done, message.size()));
        const iovec parts[2] = {{const_cast<char*>(rest.data()), rest.size()}, {&newline, 1}};
        const auto n = ::pwritev(files_.outbox.get(), parts, 2, static_cast<off_t>(from + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += static_cast<std::size_t>(n);
    }
    // The answer counts once out_end includes it; from then on its ticket is known to be answered.
    if (ticket != 0)
        slot(ticket - 1)->answer_at = from + 1;
    shared_->out_end = from + done;
    if (ticket != 0)
        free_slot(ticket);
    return true;
}

// Not a pipe: sendfile moves the outbox's position just as splice does, to whatever takes it. What takes
// neither (a file opened for appending, an old terminal) gets a plain write; there a kill between the write
// and the note repeats a piece, which nothing can tell.
ssize_t Ledger::pump_other(int out, std::size_t amount) {
    amount = std::min<std::size_t>(amount, 4096);
    pollfd ready{out, POLLOUT, 0};
    if (::poll(&ready, 1, 0) != 1) {
        errno = EAGAIN;
        return -1;
    }
    auto n = ::sendfile(out, files_.outbox.get(), nullptr, amount);
    if (n >= 0 || (errno != EINVAL && errno != ENOSYS))
        return n;
    std::array<char, 4096> copy;
    n = ::pread(files_.outbox.get(), copy.data(), amount, static_cast<off_t>(sent_));
    if (n > 0)
        n = ::write(out, copy.data(), static_cast<std::size_t>(n));
    if (n > 0)
        ::lseek(files_.outbox.get(), n, SEEK_CUR);
    return n;
}

Ledger::Sent Ledger::pump(int out) {
    while (const std::size_t left = unsent()) {
        ssize_t n = -1;
        if (!not_a_pipe_) {
            n = ::splice(files_.outbox.get(), nullptr, out, nullptr, left, SPLICE_F_NONBLOCK);
            if (n < 0 && errno == EINVAL)
                not_a_pipe_ = true;
        }
        if (not_a_pipe_)
            n = pump_other(out, left);
        if (n > 0) {
            sent_ += static_cast<std::uint64_t>(n);
            continue;
        }
        if (n < 0 && errno == EINTR)
            continue;
        return n < 0 && errno == EAGAIN ? Sent::blocked : Sent::gone;
    }
    give_back_sent(out);
    return Sent::all;
}

// The pipe holds the very pages of the outbox until the client reads them. A page that is taken out of the
// file stays whole for the pipe; part of a large page would be wiped in place. So: everything when the pipe
// is empty, else only what cannot be a part.
void Ledger::give_back_sent(int out) {
    const std::uint64_t behind = sent_ - given_back_;
    if (behind < little)
        return;
    std::uint64_t end = sent_ & ~std::uint64_t{4095};
    int in_pipe = 1;
    if (not_a_pipe_ || ::ioctl(out, FIONREAD, &in_pipe) != 0)
        in_pipe = 1; // nobody tells
    if (in_pipe != 0) {
        if (behind < much)
            return;
        end = sent_ & ~(block - 1);
    }
    if (end > given_back_ &&
        ::fallocate(files_.outbox.get(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                    static_cast<off_t>(given_back_), static_cast<off_t>(end - given_back_)) == 0)
        given_back_ = end;
}

} // namespace holdfast::memory
