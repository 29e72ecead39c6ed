#include "memory/serve/run.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "memory/serve/attached.hpp"
#include "memory/serve/owner.hpp"
#include "sys/clock.hpp"
#include "sys/directories.hpp"
#include "sys/errors.hpp"
#include "sys/file_watch.hpp"
#include "sys/pidfd.hpp"
#include "sys/pipes.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::chrono::milliseconds attach_patience{5000};
// A lock that a living process lets go of tells nobody: this is how long a look at it may stay wrong.
constexpr std::chrono::milliseconds second_look{100};

// Asked to end while nobody serves us: what the dead owner had read and not answered is answered here, as far
// as the client takes it.
void answer_what_was_lost(const RunOptions& options, LedgerFiles files) {
    auto ledger = Ledger::open(std::move(files));
    if (!ledger)
        return;
    const auto named = std::ranges::find(options.protocols, options.protocol, &NamedProtocol::name);
    const auto text = named != options.protocols.end() ? named->lost : lost_text;
    for (const auto& lost : ledger->lost())
        (void)ledger->stage(lost.ticket, text(lost.raw_id));
    const auto until = sys::Deadline::in(std::chrono::milliseconds(1000));
    while (ledger->pump(options.out) == Ledger::Sent::blocked && !until.passed()) {
        pollfd ready{options.out, POLLOUT, 0};
        ::poll(&ready, 1, until.poll_timeout());
    }
}

// What an owner stands on, and its threads use.
struct Footing {
    explicit Footing(const RunOptions& options)
        : cancel(::eventfd(0, EFD_CLOEXEC))
        , slot(options.home, options.argv, cancel.get())
        , report(options.notify_address, options.person) {}

    sys::Fd cancel;
    HomeSlot slot;
    StartReport report;
};

RunEnd serve(const RunOptions& options, std::unique_ptr<Footing> footing, LedgerFiles files) {
    auto owner = std::make_unique<Owner>(options, footing->slot, footing->report, std::move(files),
                                         footing->cancel.get());
    auto end = owner->run();
    if (end.at_once) {
        // Its threads still use all of it. The process ends now, and the kernel lets go of the home.
        (void)owner.release();
        (void)footing.release();
    }
    return end;
}

// What nobody can serve without: the reason, the way out, and an exit code that says which of them it is.
RunEnd cannot_start(const Error& error) {
    const int code = exit_code_of(error);
    const char* way_out =
        code == exit_no_space ? ". The disk is full: free some space and start again"
        : code == exit_not_writable
            ? ". The home must be writable for this user: make it so, or choose another one with --home"
            : "";
    return {code, false, cat(error.message, way_out)};
}

} // namespace

int exit_code_of(const Error& error) noexcept {
    if (error.code == Errc::no_space || error.sys == ENOSPC || error.sys == EDQUOT)
        return exit_no_space;
    return error.code == Errc::not_permitted || error.sys == EROFS ? exit_not_writable : 1;
}

AttachRequest attach_request(const RunOptions& options) {
    return {.protocol = options.protocol,
            .agent = options.agent,
            .viewer = options.viewer,
            .stay = options.daemon,
            .max_line = options.max_line,
            .port = options.viewer_port};
}

RunEnd run(const RunOptions& options) {
    const auto failed = cannot_start;
    auto files = LedgerFiles::make();
    if (!files)
        return failed(files.error());
    auto footing = std::make_unique<Footing>(options);
    const AttachRequest request = attach_request(options);
    const WaitingClient client(options.in, options.out, *files);
    StoppedOwner stopped(options.home);
    auto patience = sys::Deadline::in(attach_patience);
    int pause_ms = 1;
    for (;;) {
        // Each time: it may have been taken away together with its owner.
        if (auto made = sys::make_directories(options.home); !made)
            return failed(made.error());
        auto taken = footing->slot.try_take();
        if (!taken)
            return failed(taken.error());
        if (*taken)
            return serve(options, std::move(footing), std::move(*files));
        auto connection = offer(options.home, request, options.in, options.out, *files, attach_patience,
                                options.signal_fd, &stopped);
        if (connection) {
            const auto end = stay_attached(
                connection->get(), options.signal_fd, drain_bound,
                {[&](const Progress& progress) { (void)footing->report.tell(progress); }, options.on_viewer},
                client, stopped);
            if (end.end == AttachedEnd::done)
                return {end.code, false, ""};
            if (end.end == AttachedEnd::too_late)
                return {end.code, false, "the owner of the home did not finish in time"};
            if (end.stopping) {
                answer_what_was_lost(options, std::move(*files));
                return {0, false, ""};
            }
            patience = sys::Deadline::in(attach_patience);
            pause_ms = 1;
            continue;
        }
        if (connection.error().code == Errc::cancelled) {
            answer_what_was_lost(options, std::move(*files));
            return {0, false, ""};
        }
        if (connection.error().code == Errc::unsupported) {
            if (options.told_by_client) // a command: nobody wants to wait for the end of somebody else
                return {1, false, connection.error().message};
            std::fprintf(stderr, "holdfast-memory: %s. This process waits for the owner's end\n",
                         base::printable(connection.error().message).c_str());
            return serve(options, std::move(footing), std::move(*files));
        }
        if (connection.error().code == Errc::protocol || patience.passed())
            // Nobody to share with: an owner that listens nowhere, or cannot be woken. Its end is waited for,
            // and health is answered meanwhile.
            return serve(options, std::move(footing), std::move(*files));
        // It is coming up, or going away; or it was stopped before it could listen.
        stopped.look();
        pollfd stop{options.signal_fd, POLLIN, 0};
        if (::poll(&stop, 1, pause_ms) > 0) {
            answer_what_was_lost(options, std::move(*files));
            return {0, false, ""};
        }
        pause_ms = std::min(pause_ms * 2, 50);
    }
}

Result<ClientLink> attach_client(const std::string& home, const std::string& protocol,
                                 std::chrono::milliseconds at_most) {
    auto to = sys::make_pipe();
    auto from = sys::make_pipe();
    if (!to || !from)
        return std::unexpected(std::move((to ? from : to).error()));
    auto files = LedgerFiles::make();
    if (!files)
        return std::unexpected(std::move(files.error()));
    const auto deadline = sys::Deadline::in(at_most);
    const auto watch = sys::FileWatch::on_changes_in(home);
    for (;;) {
        // What happens from here on wakes the poll below.
        if (watch)
            watch->clear();
        auto connection = offer(home, {.protocol = protocol}, to->reading.get(), from->writing.get(), *files,
                                at_most, -1, nullptr);
        if (connection)
            return ClientLink{std::move(to->writing), std::move(from->reading), std::move(*connection)};
        const auto seen = query({home, "memory"});
        if (connection.error().code == Errc::protocol || connection.error().code == Errc::unsupported ||
            deadline.passed() || !seen || seen->state == SlotState::free)
            return std::unexpected(std::move(connection.error()));
        // It is coming up, which its files tell, or going away, which its process tells.
        const auto owner = sys::PidFd::open(seen->owner_pid);
        std::array<pollfd, 2> ends{
            {{watch ? watch->fd() : -1, POLLIN, 0}, {owner ? owner->fd() : -1, POLLIN, 0}}};
        (void)::poll(ends.data(), ends.size(),
                     deadline.earlier(sys::Deadline::in(second_look)).poll_timeout());
    }
}

} // namespace holdfast::memory
