// Asks holdfast-memory what there is to see: it has SQLite, and this program has not.
#include "base/duration.hpp"
#include "base/text.hpp"
#include "cli/memory/memory.hpp"
#include "sys/clock.hpp"
#include "sys/pipes.hpp"
#include "sys/spawn.hpp"
#include "json/json_parse.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace holdfast::cli {

namespace {

constexpr std::chrono::minutes most_looking{1};

} // namespace

Result<json::object> look_at_memory(const std::string& home) {
    auto program = find_memory_program();
    if (!program)
        return std::unexpected(std::move(program.error()));
    auto answer = sys::make_pipe();
    if (!answer)
        return std::unexpected(std::move(answer.error()));
    sys::SpawnSpec spec;
    spec.argv = {"holdfast-memory", "--look", base::cat("--home=", home)};
    spec.executable = *program;
    spec.fds = {{answer->writing.get(), 1}};
    auto process = sys::spawn(spec);
    if (!process)
        return std::unexpected(std::move(process.error()));
    answer->writing.reset();
    std::string text;
    std::array<char, 4096> chunk;
    const auto until = sys::Deadline::in(most_looking); // it asks the owner with a bound of its own
    for (;;) {
        pollfd ready{answer->reading.get(), POLLIN, 0};
        if (const int count = ::poll(&ready, 1, until.poll_timeout()); count == 0)
            return fail(Errc::timed_out, base::cat("looked at the memory at ", home, " for ",
                                                   base::format_duration(most_looking),
                                                   "; its files or its owner do not answer"));
        const auto n = ::read(answer->reading.get(), chunk.data(), chunk.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        text.append(chunk.data(), static_cast<std::size_t>(n));
    }
    if (process->wait_ended(until))
        (void)process->try_reap();
    auto health = json::parse_object(text);
    if (!health)
        return fail(Errc::io, base::cat("the memory at ", home, " cannot be looked at; why is said above"));
    return std::move(*health);
}

} // namespace holdfast::cli
