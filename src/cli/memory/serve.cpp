// serve, daemon and mcp: this process becomes holdfast-memory.
#include "base/text.hpp"
#include "cli/memory/memory.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace holdfast::cli {

using base::cat;

namespace {

int become_helper(const Arguments& arguments, const char* face) {
    auto home = memory_home(arguments);
    if (!home)
        return fail_with(home.error());
    auto program = find_memory_program();
    if (!program)
        return fail_with(program.error());
    std::vector<std::string> words{"holdfast-memory", cat("--home=", *home)};
    if (auto agent = arguments.value("agent"))
        words.push_back(cat("--agent=", *agent));
    if (auto port = arguments.value("port")) {
        unsigned number = 0;
        const auto read = std::from_chars(port->data(), port->data() + port->size(), number);
        if (read.ec != std::errc{} || read.ptr != port->data() + port->size() || number > 65535)
            return fail_with(
                {Errc::invalid_argument, cat("--port is a number from 0 to 65535, not \"", *port, "\""), 0});
        if (arguments.has("no-viewer"))
            return fail_with({Errc::invalid_argument,
                              "--port is the viewer's, and --no-viewer switches it off: give one of them",
                              0});
        words.push_back(cat("--port=", number));
    }
    if (arguments.has("no-viewer"))
        words.emplace_back("--no-viewer");
    if (auto limit = arguments.value("max-line"))
        words.push_back(cat("--max-line=", *limit)); // what it may be is known there
    if (auto idle = duration_option(arguments, "idle"); !idle)
        return fail_with(idle.error());
    else if (*idle)
        words.push_back(cat("--idle=", (*idle)->count(), "ms"));
    if (*face != 0)
        words.emplace_back(face);
    std::vector<char*> argv;
    for (auto& word : words)
        argv.push_back(word.data());
    argv.push_back(nullptr);
    ::execv(program->c_str(), argv.data());
    const int error = errno;
    return fail_with(
        {Errc::cannot_start, cat("cannot execute ", *program, ": ", std::strerror(error)), error});
}

} // namespace

int memory_serve_command(const Arguments& arguments) {
    return become_helper(arguments, "");
}
int memory_daemon_command(const Arguments& arguments) {
    return become_helper(arguments, "--daemon");
}
int memory_mcp_command(const Arguments& arguments) {
    return become_helper(arguments, "--mcp");
}

} // namespace holdfast::cli
