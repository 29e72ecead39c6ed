// holdfast-memory: the memory helper over stdio. Takes exactly the flags that the existing adapter gives its
// bridge.
#include "core/text.hpp"
#include "memory/mcp/mcp.hpp"
#include "memory/serve/run.hpp"
#include "memory/transfer/bridge.hpp"
#include "memory/viewer/viewer.hpp"
#include "sys/fd.hpp"

#include <malloc.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>

namespace {

using namespace holdfast;
using core::cat;

constexpr const char* usage = "usage: holdfast-memory [--agent=NAME] [--home=DIR] [--runtime-scope=HEX] "
                              "[--no-viewer | --port=N] [--mcp] "
                              "[--daemon [--idle=DUR]]\n"
                              "Serves the memory contract (JSON-RPC, one message a line) on standard input "
                              "and output; with --mcp as an MCP "
                              "server.\n";

struct Flags {
    memory::RunOptions options;
    std::uint16_t port = memory::default_viewer_port;
    std::string lines_of; // only turn this database into lines
};

// "90s", "15m", "2h", "500ms", or a number of seconds.
std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
    std::int64_t number = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (failed != std::errc() || number < 0 || number > 1'000'000'000)
        return std::nullopt;
    const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
    if (unit == "ms")
        return std::chrono::milliseconds(number);
    for (const auto& [name, seconds] :
         {std::pair<std::string_view, std::int64_t>{"", 1}, {"s", 1}, {"m", 60}, {"h", 3600}})
        if (unit == name)
            return std::chrono::seconds(number * seconds);
    return std::nullopt;
}

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
    memory::RunOptions& options = flags.options;
    options.argv.assign(argv, argv + argc);
    options.viewer = true;
    for (int i = 1; i < argc; ++i) {
        const std::string_view flag = argv[i];
        if (flag.starts_with("--agent=") && flag.size() > 8) {
            options.agent = flag.substr(8);
        } else if (flag.starts_with("--home=") && flag.size() > 7) {
            options.home = flag.substr(7);
        } else if (flag.starts_with("--idle=")) {
            options.idle = parse_duration(flag.substr(7));
            if (!options.idle) {
                std::fputs("holdfast-memory: --idle takes a time such as 90s, 15m or 2h\n", stderr);
                return std::nullopt;
            }
        } else if (flag.starts_with("--runtime-scope=")) {
            // The home is the scope here: its lock lies inside it, so nothing needs to tell runtimes apart.
            if (flag.substr(16).find_first_not_of("0123456789abcdefABCDEF") != flag.npos) {
                std::fputs("holdfast-memory: --runtime-scope takes hexadecimal digits\n", stderr);
                return std::nullopt;
            }
        } else if (flag.starts_with("--port=")) {
            const auto [end, failed] =
                std::from_chars(flag.data() + 7, flag.data() + flag.size(), flags.port);
            if (failed != std::errc() || end != flag.data() + flag.size()) {
                std::fputs("holdfast-memory: --port takes a number from 0 to 65535\n", stderr);
                return std::nullopt;
            }
        } else if (flag.starts_with("--lines-of=") && flag.size() > 11) {
            flags.lines_of = flag.substr(11);
        } else if (flag == "--mcp") {
            options.protocol = "mcp";
        } else if (flag == "--daemon") {
            options.daemon = true;
        } else if (flag == "--no-viewer") {
            options.viewer = false;
        } else {
            std::fprintf(stderr, "holdfast-memory: unknown flag %s\n%s", argv[i], usage);
            return std::nullopt;
        }
    }
    if (options.home.empty())
        options.home = default_home();
    if (!options.home.starts_with('/')) {
        char* here = ::getcwd(nullptr, 0);
        options.home = cat(here != nullptr ? here : "", "/", options.home);
        std::free(here);
    }
    while (options.home.size() > 1 && options.home.ends_with('/'))
        options.home.pop_back();
    if (const char* above = std::getenv("NOTIFY_SOCKET"))
        options.notify_address = above;
    if (const char* slow = std::getenv("HOLDFAST_MEMORY_SLOW_OPEN_MS")) // for tests: docs/memory.md
        options.slow_open_ms = std::strtol(slow, nullptr, 10);
    options.person = ::isatty(2) != 0;
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
        std::fprintf(stderr, "holdfast-memory: %s\n", done.error().message.c_str());
    return done && written ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    ::mallopt(M_ARENA_MAX, 2); // an arena per thread would double the memory of a process that mostly waits
    auto flags = parse(argc, argv);
    if (!flags)
        return 2;
    std::signal(SIGPIPE, SIG_IGN);
    if (!flags->lines_of.empty())
        return write_lines_of(flags->lines_of);
    auto& options = flags->options;
    options.protocols.push_back({"mcp", [](memory::Service&, memory::Contract& contract) {
                                     return std::make_unique<memory::Mcp>(contract);
                                 }});
    options.companion = [port = flags->port](memory::OwnerDesk& desk) {
        return memory::start_viewer(desk, port);
    };
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
        std::fprintf(stderr, "holdfast-memory: %s\n", end.message.c_str());
    if (end.at_once) {
        std::fflush(stderr);
        ::_exit(end.code); // the store is sound at any moment; waiting longer is what the bound forbids
    }
    return end.code;
}
