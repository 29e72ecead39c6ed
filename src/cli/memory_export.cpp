// The store as JSON lines, a page at a time.
#include "cli/exit_codes.hpp"
#include "cli/memory.hpp"
#include "cli/memory_client.hpp"
#include "cli/print.hpp"
#include "cli/progress_bar.hpp"
#include "core/json_fields.hpp"
#include "core/printable.hpp"
#include "core/text.hpp"
#include "sys/errors.hpp"
#include "sys/new_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::cli {

namespace json = boost::json;
using core::cat;

namespace {

Result<void> write_all(int fd, std::string_view text, const std::string& name) {
    while (!text.empty()) {
        const auto n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0) {
            auto failed = sys::fail_making(cat("write ", name));
            if (failed.error().code == Errc::no_space)
                failed.error().message += "; free some space, or choose another place";
            return failed;
        }
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

std::uint64_t lines_in(const json::value& health) {
    const auto* state = health.if_object();
    const auto* counts = state != nullptr ? core::object_field(*state, "counts") : nullptr;
    std::uint64_t sum = 0;
    if (counts != nullptr)
        for (const char* name : {"sessions", "episodes", "traces", "feedback", "objects"})
            sum += core::unsigned_field(*counts, name);
    return sum;
}

// Exact bytes go into files and pipes; on a terminal what would steer it is escaped, which means the same.
Result<void> write_lines(int fd, std::string_view lines, const std::string& name) {
    return ::isatty(fd) == 1 ? write_all(fd, core::printable_json(lines), name) : write_all(fd, lines, name);
}

struct Exported {
    std::uint64_t lines = 0;
    std::uint64_t damaged = 0; // places of the store that are named on stderr
};

// What a page says of rows that could not be read, or not as they were stored.
std::uint64_t name_damage(const json::object& page) {
    const auto* damaged = page.if_contains("damaged");
    if (damaged == nullptr || !damaged->is_array())
        return 0;
    for (const auto& rows : damaged->get_array())
        if (const auto* one = rows.if_object())
            complain(core::printable(core::text_field(*one, "message")));
    return damaged->get_array().size();
}

// All pages to `fd`.
Result<Exported> write_pages(MemoryClient& client, int fd, const std::string& name, bool quiet) {
    ProgressBar bar("exporting", !quiet);
    Exported exported;
    auto& done = exported.lines;
    std::uint64_t total = 0;
    std::string cursor;
    for (;;) {
        auto page = client.call("transfer.export",
                                cursor.empty() ? json::object() : json::object{{"cursor", cursor}});
        if (!page)
            return std::unexpected(std::move(page.error()));
        const auto* shown = page->if_object();
        const auto* lines = shown != nullptr ? shown->if_contains("lines") : nullptr;
        if (lines == nullptr || !lines->is_string())
            return fail(Errc::protocol, "holdfast-memory gave a page without lines");
        if (auto written = write_lines(fd, lines->get_string(), name); !written)
            return std::unexpected(std::move(written.error()));
        done += core::unsigned_field(*shown, "count");
        exported.damaged += name_damage(*shown);
        cursor = core::text_field(*shown, "next");
        if (cursor.empty())
            return exported;
        if (bar.visible() && total == 0)
            if (auto health = client.call("core.health", {}))
                total = lines_in(*health);
        bar.show(done, std::max(done, total), cat(done, " lines"));
    }
}

// A pipe, a device, what a shell stands for >(…): it is there already and takes what is written.
bool is_stream(const std::string& name) {
    struct stat there {};
    return ::stat(name.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
}

// The exit code of an export that came to its end.
int end_of(const Exported& exported, const std::string& home) {
    if (exported.damaged == 0)
        return exit_ok;
    complain(cat(
        "the store at ", home,
        " is damaged: what is named above is not in the export, or not as it was stored. All the rest is, "
        "and can be imported. Into a new home it comes at once with: holdfast memory import ",
        home, "/data/memory.db --home DIRECTORY"));
    return exit_bad_data;
}

Result<Exported> export_to(const Arguments& arguments, const std::string& home, int fd,
                           const std::string& name, bool quiet) {
    auto client = MemoryClient::start(home, arguments);
    if (!client)
        return std::unexpected(std::move(client.error()));
    return write_pages(*client, fd, name, quiet);
}

} // namespace

int memory_export_command(const Arguments& arguments) {
    int no_home = exit_ok;
    const auto home = existing_memory_home(arguments, no_home);
    if (!home)
        return no_home;
    const bool quiet = arguments.has("quiet");
    if (arguments.words.empty() || arguments.words[0] == "-") {
        if (stdout_is_terminal() && arguments.words.empty())
            complain("the export goes to this terminal; to a file: holdfast memory export FILE");
        const auto count = export_to(arguments, *home, STDOUT_FILENO, "stdout", quiet);
        return count ? end_of(*count, *home) : fail_with(count.error());
    }
    const auto& name = arguments.words[0];
    if (is_stream(name)) {
        const sys::Fd stream(::open(name.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
        const auto count = stream ? export_to(arguments, *home, stream.get(), name, quiet)
                                  : Result<Exported>(sys::fail_making(cat("open ", name)));
        return count ? end_of(*count, *home) : fail_with(count.error());
    }
    auto file = sys::NewFile::open(name);
    if (!file)
        return fail_with(file.error());
    const auto count = export_to(arguments, *home, file->fd(), name, quiet);
    if (!count)
        return fail_with(count.error());
    if (auto there = file->appear(); !there)
        return fail_with(there.error());
    if (!quiet)
        complain(cat(count->lines, " lines written to ", name));
    return end_of(*count, *home);
}

} // namespace holdfast::cli
