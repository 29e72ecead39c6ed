#include "memory/serve/attached.hpp"

#include "base/text.hpp"
#include "sys/clock.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>

namespace holdfast::memory {

namespace {

std::string_view next_word(std::string_view& text) {
    const auto end = std::min(text.find(' '), text.size());
    const auto word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return word;
}

std::uint64_t number(std::string_view word) {
    std::uint64_t value = 0;
    std::from_chars(word.data(), word.data() + word.size(), value);
    return value;
}

Progress parse_state(std::string_view text) {
    Progress progress;
    const auto name = next_word(text);
    for (const auto phase :
         {Phase::opening, Phase::recovering, Phase::migrating, Phase::indexing, Phase::ready, Phase::failed})
        if (name == name_of(phase))
            progress.phase = phase;
    progress.done = number(next_word(text));
    progress.total = number(next_word(text));
    progress.detail = text;
    return progress;
}

} // namespace

Result<sys::Fd> offer(const std::string& home, const AttachRequest& request, int in, int out,
                      const LedgerFiles& files, std::chrono::milliseconds patience, int stop_fd,
                      StoppedOwner* stopped) {
    auto connection = connect_to(home);
    if (!connection)
        return connection;
    if (!send_packet(connection->get(), to_text(request), {in, out, files.state.get(), files.outbox.get()}))
        return fail(Errc::not_found, "the owner of the home went away");
    const auto deadline = sys::Deadline::in(patience);
    for (;;) {
        pollfd ready[2] = {{connection->get(), POLLIN, 0}, {stop_fd, POLLIN, 0}};
        const int n = ::poll(
            ready, 2,
            (stopped != nullptr ? deadline.earlier(sys::Deadline::in(StoppedOwner::look_every)) : deadline)
                .poll_timeout());
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0 && !deadline.passed()) {
            if (stopped != nullptr)
                stopped->look();
            continue;
        }
        if (n <= 0)
            return fail(Errc::not_found, "the owner of the home does not answer");
        if (ready[0].revents == 0)
            return fail(Errc::cancelled, "asked to end");
        bool gone = false;
        const auto packet = receive_packet(connection->get(), gone);
        if (gone)
            return fail(Errc::not_found, "the owner of the home went away");
        if (!packet)
            continue;
        if (packet->text.starts_with(version_refusal))
            return fail(Errc::unsupported, packet->text.substr(version_refusal.size()));
        if (packet->text.starts_with("no "))
            return fail(Errc::protocol, packet->text.substr(3));
        if (packet->text != "ok")
            continue;
        if (!send_packet(connection->get(), "go"))
            return fail(Errc::not_found, "the owner of the home went away");
        return connection;
    }
}

AttachedResult stay_attached(int connection, int stop_fd, std::chrono::milliseconds drain_bound,
                             const AttachedNews& news, const WaitingClient& client, StoppedOwner& stopped) {
    AttachedResult result;
    // The owner keeps the bound; this is for an owner that is itself stuck.
    constexpr std::chrono::milliseconds margin{2000};
    sys::Deadline deadline;
    for (;;) {
        pollfd ready[2] = {{connection, POLLIN, 0}, {result.stopping ? -1 : stop_fd, POLLIN, 0}};
        const int n =
            ::poll(ready, 2, deadline.earlier(sys::Deadline::in(StoppedOwner::look_every)).poll_timeout());
        if (n < 0 && errno == EINTR)
            continue;
        if (result.stopping || client.waits())
            stopped.look();
        else
            stopped.nobody_waits();
        if (n == 0 && deadline.passed()) {
            result.end = AttachedEnd::too_late;
            result.code = 1;
            return result;
        }
        if (n == 0)
            continue;
        if (ready[1].revents != 0) {
            signalfd_siginfo info{};
            (void)!::read(stop_fd, &info, sizeof info);
            result.stopping = true;
            deadline = sys::Deadline::in(drain_bound + margin);
            (void)send_packet(connection, "stop");
        }
        if (ready[0].revents == 0)
            continue;
        bool gone = false;
        const auto packet = receive_packet(connection, gone);
        if (gone) {
            result.end = AttachedEnd::owner_gone;
            return result;
        }
        if (!packet)
            continue;
        std::string_view text = packet->text;
        const auto word = next_word(text);
        if (word == "done") {
            result.code = static_cast<int>(number(text));
            return result;
        }
        if (word == "state" && news.on_state)
            news.on_state(parse_state(text));
        if (word == "viewer" && news.on_viewer)
            news.on_viewer(std::string(text));
    }
}

} // namespace holdfast::memory
