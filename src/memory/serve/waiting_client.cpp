#include "memory/serve/waiting_client.hpp"

#include "memory/serve/ledger_shared.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

namespace holdfast::memory {

WaitingClient::WaitingClient(int in, int out, const LedgerFiles& files)
    : in_(in)
    , out_(out)
    , outbox_(files.outbox.get()) {
    void* mapped = ::mmap(nullptr, ledger_bytes, PROT_READ, MAP_SHARED, files.state.get(), 0);
    books_ = mapped != MAP_FAILED ? mapped : nullptr;
}

WaitingClient::~WaitingClient() {
    if (books_ != nullptr)
        ::munmap(const_cast<void*>(books_), ledger_bytes);
}

bool WaitingClient::waits() const {
    if (books_ == nullptr)
        return true;
    pollfd ends[2] = {{in_, POLLIN, 0}, {out_, POLLOUT, 0}};
    if (::poll(ends, 2, 0) < 0 || ends[0].revents != 0)
        return true;
    const auto books = Ledger::look_into(books_);
    if (books.in_flight)
        return true;
    const auto sent = ::lseek(outbox_, 0, SEEK_CUR);
    return ends[1].revents != 0 && sent >= 0 && static_cast<std::uint64_t>(sent) < books.staged;
}

} // namespace holdfast::memory
