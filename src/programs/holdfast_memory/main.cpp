// holdfast-memory: the memory helper over stdio. Takes exactly the flags that the existing adapter gives its
// bridge.
#include "base/duration.hpp"
#include "base/hex.hpp"
#include "base/printable.hpp"
#include "base/text.hpp"
#include "memory/mcp/mcp.hpp"
#include "memory/repository/connection.hpp"
#include "memory/serve/look.hpp"
#include "memory/serve/run.hpp"
#include "memory/transfer/bridge.hpp"
#include "memory/viewer/viewer.hpp"
#include "places/user_places.hpp"
#include "sys/fd.hpp"
#include "sys/terminal.hpp"
#include "json/json_write.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

namespace {

using namespace holdfast;
using base::cat;

// As docs/exit-codes.md has them.
constexpr int exit_usage = 64;
constexpr int exit_damaged = 65; // what can be read was written

constexpr const char* usage =
    "usage: holdfast-memory [--agent=NAME] [--home=DIR] [--runtime-scope=HEX] [--no-viewer | --port=N]\n"
    "                       [--max-line=SIZE] [--no-progress] [--mcp] [--daemon [--idle=DUR]]\n";

constexpr const char* help =
    "\n"
    "Serves the memory contract (JSON-RPC, one message a line) on standard input and output.\n"
    "\n"
    "  --agent=NAME         the agent that is served (default: default)\n"
    "  --home=DIR           the data home (default: $HOLDFAST_HOME/memory, else\n"
    "                       $XDG_STATE_HOME/holdfast/default/memory)\n"
    "  --runtime-scope=HEX  accepted, and not needed: the home is the scope\n"
    "  --port=N             the viewer's port (default: 8377); when it is taken, the next free one\n"
    "  --no-viewer          serve no pages\n"
    "  --max-line=SIZE      the longest line that is taken, 4K to 31M (default: 16M, or what\n"
    "                       HOLDFAST_MEMORY_MAX_LINE says)\n"
    "  --no-progress        draw no bar on stderr\n"
    "  --mcp                as an MCP server\n"
    "  --daemon             stay when standard input ends, until TERM, INT or core.shutdown\n"
    "  --idle=DUR           and leave when nobody was there for this long, such as 15m\n"
    "  --help, --version    say this, or the version\n"
    "\n"
    "For people: holdfast memory --help\n";

struct Flags {
    memory::RunOptions options;
    bool port_given = false;
    std::string lines_of; // only turn this database into lines
    bool look = false;    // only say what can be said of the home
    bool say_help = false;
    bool say_version = false;
    std::string viewer_said; // the address that was told last
};

// False: it is none, and that was said.
bool take_line_limit(memory::RunOptions& options, std::string_view text, const char* name) {
    const auto bytes = base::parse_size(text);
    if (!bytes || *bytes < memory::Ledger::least_line || *bytes > memory::Ledger::most_line) {
        std::fprintf(stderr, "holdfast-memory: %s takes a size from 4K to 31M\n", name);
        return false;
    }
    options.max_line = *bytes;
    return true;
}

std::optional<Flags> parse(int argc, char** argv) {
    Flags flags;
    memory::RunOptions& options = flags.options;
    options.argv.assign(argv, argv + argc);
    options.viewer = true;
    bool person = true;
    options.viewer_port = memory::default_viewer_port;
    constexpr const char* line_variable = "HOLDFAST_MEMORY_MAX_LINE";
    if (const char* limit = std::getenv(line_variable); limit != nullptr && *limit != 0)
        if (!take_line_limit(options, limit, line_variable))
            return std::nullopt;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        if (flag.starts_with("--agent=") && flag.size() > 8) {
            options.agent = flag.substr(8);
        } else if (flag.starts_with("--home=") && flag.size() > 7) {
            options.home = flag.substr(7);
        } else if (flag.starts_with("--idle=")) {
            const auto idle = base::parse_duration(flag.substr(7));
            if (!idle) {
                std::fprintf(stderr, "holdfast-memory: --idle: %s\n",
                             base::printable(idle.error().message).c_str());
                return std::nullopt;
            }
            options.idle = *idle;
        } else if (flag.starts_with("--runtime-scope=")) {
            // The home is the scope here: its lock lies inside it, so nothing needs to tell runtimes apart.
            if (!std::ranges::all_of(flag.substr(16), [](char c) { return base::hex_value(c) >= 0; })) {
                std::fputs("holdfast-memory: --runtime-scope takes hexadecimal digits\n", stderr);
                return std::nullopt;
            }
        } else if (flag.starts_with("--port=")) {
            const auto [end, failed] =
                std::from_chars(flag.data() + 7, flag.data() + flag.size(), options.viewer_port);
            if (failed != std::errc() || end != flag.data() + flag.size()) {
                std::fputs("holdfast-memory: --port takes a number from 0 to 65535\n", stderr);
                return std::nullopt;
            }
            flags.port_given = true;
        } else if (flag.starts_with("--lines-of=") && flag.size() > 11) {
            flags.lines_of = flag.substr(11);
        } else if (flag.starts_with("--max-line=")) {
            if (!take_line_limit(options, flag.substr(11), "--max-line"))
                return std::nullopt;
        } else if (flag == "--look") {
            flags.look = true;
        } else if (flag == "--help" || flag == "-h") {
            flags.say_help = true;
        } else if (flag == "--version") {
            flags.say_version = true;
        } else if (flag == "--told-by-client") {
            options.told_by_client = true;
        } else if (flag == "--mcp") {
            options.protocol = "mcp";
        } else if (flag == "--daemon") {
            options.daemon = true;
        } else if (flag == "--no-viewer") {
            options.viewer = false;
        } else if (flag == "--no-progress") {
            person = false;
        } else {
            std::fprintf(stderr, "holdfast-memory: unknown flag %s\n%s", base::printable(flag).c_str(),
                         usage);
            return std::nullopt;
        }
    }
    if (!flags.say_help && !flags.say_version && flags.lines_of.empty()) {
        auto home = places::memory_home_of_user("default", options.home);
        if (!home) {
            std::fprintf(stderr, "holdfast-memory: %s; or say where with --home=DIR\n",
                         base::printable(home.error().message).c_str());
            return std::nullopt;
        }
        options.home = std::move(*home);
    }
    if (const char* above = std::getenv("NOTIFY_SOCKET"))
        options.notify_address = above;
    options.person = person && sys::shows_moving_lines(STDERR_FILENO);
    return flags;
}

// Each attached client costs the owner five descriptors.
void raise_descriptor_limit() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, 65536);
        (void)::setrlimit(RLIMIT_NOFILE, &limit);
    }
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
        std::fprintf(stderr, "holdfast-memory: %s\n", base::printable_lines(done.error().message).c_str());
    if (!done && written && memory::is_corrupt(done.error()))
        return exit_damaged;
    return done && written ? 0 : 1;
}

// For `holdfast memory status`: the health of the home on stdout.
int say_what_is_there(const std::string& home) {
    const auto health = memory::look_at_home(home);
    if (!health) {
        std::fprintf(stderr, "holdfast-memory: %s\n", base::printable_lines(health.error().message).c_str());
        return 1;
    }
    const auto text = json::to_text(*health);
    return std::puts(text.c_str()) >= 0 && std::fflush(stdout) == 0 ? 0 : 1;
}

// The owner serves the pages, and there is one address for all: somebody who asked for another one has to
// know.
void say_where_it_is(Flags& flags, const std::string& address) {
    if (address == std::exchange(flags.viewer_said, address))
        return;
    const auto& options = flags.options;
    const bool moved = flags.port_given && options.viewer_port != 0 &&
                       !address.ends_with(cat(":", options.viewer_port, "/"));
    memory::say_viewer_address(address, moved ? cat("served there by the owner of the home; --port=",
                                                    options.viewer_port, " is not used")
                                              : "served by the owner of the home");
}

} // namespace

int main(int argc, char** argv) {
    ::mallopt(M_ARENA_MAX, 2); // an arena per thread would double the memory of a process that mostly waits
    auto flags = parse(argc, argv);
    if (!flags)
        return exit_usage;
    if (flags->say_help || flags->say_version) {
        flags->say_help ? (std::fputs(usage, stdout), std::fputs(help, stdout))
                        : std::puts("holdfast-memory " HOLDFAST_VERSION);
        return std::fflush(stdout) == 0 ? 0 : 1;
    }
    std::signal(SIGPIPE, SIG_IGN);
    std::signal(SIGXFSZ, SIG_IGN); // a limit on files (ulimit -f) is a full disk, and no death of all clients
    // The keys and habits of a terminal stop its whole foreground group. Others may be served by this
    // process, and a host that was put into the background goes on later and finds it as it was.
    for (const int signal : {SIGTSTP, SIGTTIN, SIGTTOU})
        std::signal(signal, SIG_IGN);
    if (!flags->lines_of.empty())
        return write_lines_of(flags->lines_of);
    if (flags->look)
        return say_what_is_there(flags->options.home);
    // What is remembered is for its owner alone, and for its owner whatever umask was inherited: under 0277
    // or 0777 this user could never open it again.
    ::umask(S_IRWXG | S_IRWXO);
    auto& options = flags->options;
    options.protocols.push_back(
        {"mcp",
         [](memory::Service&, memory::Contract& contract) { return std::make_unique<memory::Mcp>(contract); },
         memory::mcp_lost_text});
    options.companion = memory::start_viewer;
    options.on_viewer = [&](const std::string& address) { say_where_it_is(*flags, address); };
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    // Before any thread is made, so that all of them inherit it and only the descriptor sees the signals.
    ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
    const sys::Fd stop(::signalfd(-1, &signals, SFD_CLOEXEC));
    options.signal_fd = stop.get();
    raise_descriptor_limit();
    const auto end = memory::run(options);
    if (!end.message.empty())
        std::fprintf(stderr, "holdfast-memory: %s\n", base::printable_lines(end.message).c_str());
    if (end.at_once) {
        std::fflush(stderr);
        ::_exit(end.code); // the store is sound at any moment; waiting longer is what the bound forbids
    }
    return end.code;
}
