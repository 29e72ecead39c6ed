// holdfast-memory: the memory helper over stdio. Takes exactly the flags that the existing adapter gives its
// bridge.
#include "core/text.hpp"
#include "holdfast/slot.hpp"
#include "memory/contract/contract.hpp"
#include "memory/serve/stdio_server.hpp"
#include "memory/service/service.hpp"
#include "memory/store/ids.hpp"
#include "memory/transfer/bridge.hpp"
#include "sys/fd.hpp"

#include <malloc.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>

namespace {

using namespace holdfast;
using core::cat;

constexpr const char* usage =
    "usage: holdfast-memory [--agent=NAME] [--home=DIR] [--runtime-scope=HEX] [--no-viewer] [--daemon]\n"
    "Serves the memory contract (JSON-RPC, one message a line) on standard input and output.\n";

// The stated bound: TERM and INT end the process within this time after what was read is committed or given
// up.
constexpr std::int64_t drain_ms = 10'000;

struct Flags {
    std::string agent = "default";
    std::string home;
    std::string lines_of; // only turn this database into lines
    bool daemon = false;
};

std::string default_home() {
    if (const char* home = std::getenv("HOLDFAST_HOME"); home != nullptr && *home != 0)
        return cat(home, "/memory");
    if (const char* state = std::getenv("XDG_STATE_HOME"); state != nullptr && *state != 0)
        return cat(state, "/holdfast/default/memory");
    const char* user = std::getenv("HOME");
    return cat(user != nullptr ? user : "/tmp", "/.local/state/holdfast/default/memory");
}

std::optional<Flags> parse(int argc, char** argv) {
    Flags flags;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        if (flag.starts_with("--agent=") && flag.size() > 8) {
            flags.agent = flag.substr(8);
        } else if (flag.starts_with("--home=") && flag.size() > 7) {
            flags.home = flag.substr(7);
        } else if (flag.starts_with("--runtime-scope=")) {
            // The home is the scope here: its lock lies inside it, so nothing needs to tell runtimes apart.
            if (flag.substr(16).find_first_not_of("0123456789abcdefABCDEF") != flag.npos) {
                std::fputs("holdfast-memory: --runtime-scope takes hexadecimal digits\n", stderr);
                return std::nullopt;
            }
        } else if (flag.starts_with("--lines-of=") && flag.size() > 11) {
            flags.lines_of = flag.substr(11);
        } else if (flag == "--daemon") {
            flags.daemon = true;
        } else if (flag != "--no-viewer") {
            std::fprintf(stderr, "holdfast-memory: unknown flag %s\n%s", argv[i], usage);
            return std::nullopt;
        }
    }
    if (flags.home.empty())
        flags.home = default_home();
    if (!flags.home.starts_with('/')) {
        char* here = ::getcwd(nullptr, 0);
        flags.home = cat(here != nullptr ? here : "", "/", flags.home);
        std::free(here);
    }
    while (flags.home.size() > 1 && flags.home.ends_with('/'))
        flags.home.pop_back();
    return flags;
}

// The slot of the home, and what the opening tells through its record.
class HomeSlot {
public:
    HomeSlot(std::string home, std::vector<std::string> argv, int cancel_fd)
        : home_(std::move(home))
        , argv_(std::move(argv))
        , cancel_fd_(cancel_fd) {}

    Result<std::int64_t> take(const memory::OnProgress& progress) {
        const SlotLocation location{home_, "memory"};
        AcquireOptions options;
        options.argv = argv_;
        options.cancel_fd = cancel_fd_;
        auto got = acquire(location, options);
        if (!got && got.error().code == Errc::held) {
            progress({memory::Phase::opening, 0, 0, cat("waiting for the home: ", got.error().message)});
            options.if_held = IfHeld::wait;
            got = acquire(location, options);
        }
        if (!got)
            return std::unexpected(std::move(got.error()));
        const std::lock_guard lock(mutex_);
        ownership_ = std::move(got->ownership);
        return static_cast<std::int64_t>(ownership_->epoch());
    }

    void tell(const memory::Progress& progress) {
        const std::lock_guard lock(mutex_);
        if (!ownership_)
            return;
        if (progress.phase == memory::Phase::ready)
            (void)ownership_->ready();
        else
            // Each note is a step forward, also where the phase has no numbers of its own.
            (void)ownership_->report_progress(++steps_, 0,
                                              cat(memory::name_of(progress.phase), " ", progress.detail));
    }

    void draining() {
        const std::lock_guard lock(mutex_);
        if (ownership_)
            (void)ownership_->draining();
    }

    void release() {
        const std::lock_guard lock(mutex_);
        ownership_.reset();
    }

private:
    std::string home_;
    std::vector<std::string> argv_;
    int cancel_fd_;
    std::mutex mutex_;
    std::optional<Ownership> ownership_;
    std::uint64_t steps_ = 0;
};

void tell_person(const memory::Progress& progress) {
    if (::isatty(2) == 0)
        return;
    const auto name = memory::name_of(progress.phase);
    if (progress.total == 0) {
        std::fprintf(stderr, "\r\033[Kmemory: %.*s %s\n", static_cast<int>(name.size()), name.data(),
                     progress.detail.c_str());
        return;
    }
    constexpr int width = 30;
    const int filled = static_cast<int>(progress.done * width / progress.total);
    std::fprintf(stderr, "\r\033[Kmemory: %-10.*s [%.*s%.*s] %3llu %%", static_cast<int>(name.size()),
                 name.data(), filled, "##############################", width - filled,
                 "------------------------------",
                 static_cast<unsigned long long>(progress.done * 100 / progress.total));
}

// For `holdfast memory import`: another program's database as lines on stdout.
int write_lines_of(const std::string& path) {
    bool written = true;
    auto done = memory::read_bridge(path, [&](std::string_view line) {
        written = std::fwrite(line.data(), 1, line.size(), stdout) == line.size() &&
                  std::fputc('\n', stdout) != EOF;
        return written;
    });
    written = std::fflush(stdout) == 0 && written;
    if (!done)
        std::fprintf(stderr, "holdfast-memory: %s\n", done.error().message.c_str());
    return done && written ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    ::mallopt(M_ARENA_MAX, 2); // an arena per thread would double the memory of a process that mostly waits
    const auto flags = parse(argc, argv);
    if (!flags)
        return 2;
    std::signal(SIGPIPE, SIG_IGN);
    if (!flags->lines_of.empty())
        return write_lines_of(flags->lines_of);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    // Before any thread is made, so that all of them inherit it and only the descriptor sees the signals.
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    const sys::Fd stop(::signalfd(-1, &signals, SFD_CLOEXEC));
    const sys::Fd cancel(::eventfd(0, EFD_CLOEXEC));

    HomeSlot slot(flags->home, std::vector<std::string>(argv, argv + argc), cancel.get());
    memory::ServiceOptions options;
    options.home = flags->home;
    options.agent = flags->agent;
    options.become_owner = [&](const memory::OnProgress& progress) { return slot.take(progress); };
    options.on_progress = [&](const memory::Progress& progress) {
        slot.tell(progress);
        tell_person(progress);
    };
    auto service = memory::Service::start(std::move(options));
    if (!service) {
        std::fprintf(stderr, "holdfast-memory: %s\n", service.error().message.c_str());
        return 1;
    }
    memory::Contract contract(**service);
    const sys::Fd asked_to_end(::eventfd(0, EFD_CLOEXEC));
    contract.on_shutdown([&] {
        const std::uint64_t one = 1;
        (void)!::write(asked_to_end.get(), &one, sizeof one);
    });
    auto peer = std::make_shared<memory::PipePeer>(1);
    auto end = memory::serve_pipe(contract, peer, 0, stop.get(), asked_to_end.get());
    if (end == memory::ServeEnd::end_of_input && flags->daemon && !contract.shutdown_asked()) {
        pollfd asked[2] = {{stop.get(), POLLIN, 0}, {asked_to_end.get(), POLLIN, 0}};
        while (::poll(asked, 2, -1) < 0 && errno == EINTR) {
        }
        end = memory::ServeEnd::stopped;
    }
    slot.draining();
    bool drained = true;
    if (end == memory::ServeEnd::stopped) {
        const std::uint64_t one = 1;
        if ((*service)->progress().phase == memory::Phase::opening)
            (void)!::write(cancel.get(), &one, sizeof one); // a wait for the home has nothing to finish
        drained = (*service)->drain(drain_ms);
    } else {
        // Whatever was written before the input ended is processed, however long the store takes to open; a
        // signal still ends the wait.
        while (!(*service)->drain(200)) {
            pollfd asked{stop.get(), POLLIN, 0};
            if (::poll(&asked, 1, 0) == 1) {
                drained = (*service)->drain(drain_ms);
                break;
            }
        }
    }
    peer->flush(2000);
    if (!drained) {
        std::fprintf(stderr, "holdfast-memory: %zu requests were not finished within %lld ms\n",
                     (*service)->pending(), static_cast<long long>(drain_ms));
        std::fflush(stderr);
        ::_exit(1); // the store is sound at any moment; waiting longer is what the bound forbids
    }
    const bool failed = !(*service)->failure().empty() && end != memory::ServeEnd::stopped;
    if (failed)
        std::fprintf(stderr, "holdfast-memory: %s\n", (*service)->failure().c_str());
    (*service)->close();
    slot.release();
    peer->stop();
    return failed ? 1 : 0;
}
