// The store as JSON lines, a page at a time.
#include "base/printable.hpp"
#include "base/text.hpp"
#include "cli/memory/client.hpp"
#include "cli/memory/line_source.hpp"
#include "cli/memory/memory.hpp"
#include "cli/memory/progress_bar.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "sys/errors.hpp"
#include "sys/new_file.hpp"
#include "sys/whole_file.hpp"
#include "json/json_fields.hpp"
#include "json/json_parse.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace holdfast::cli {

using base::cat;

namespace {

Result<void> write_text(int fd, std::string_view text, const std::string& name) {
    const int error = sys::write_all(fd, text);
    if (error == 0)
        return {};
    auto failed = sys::fail_making(cat("write ", name), error);
    if (failed.error().code == Errc::no_space)
        failed.error().message += "; free some space, or choose another place";
    return failed;
}

std::uint64_t lines_in(const json::value& health) {
    const auto* state = health.if_object();
    const auto* counts = state != nullptr ? json::object_field(*state, "counts") : nullptr;
    std::uint64_t sum = 0;
    if (counts != nullptr)
        for (const char* name : {"sessions", "episodes", "traces", "feedback", "objects"})
            sum += json::unsigned_field(*counts, name);
    return sum;
}

// Exact bytes go into files and pipes; on a terminal what would steer it is escaped, which means the same.
Result<void> write_lines(int fd, std::string_view lines, const std::string& name) {
    return ::isatty(fd) == 1 ? write_text(fd, base::printable_json(lines), name)
                             : write_text(fd, lines, name);
}

struct Exported {
    std::uint64_t lines = 0;
    std::uint64_t damaged = 0; // places of the store that are named on stderr
    std::string set_aside;     // an earlier database, which was corrupt
};

// What a page says of rows that could not be read, or not as they were stored.
std::uint64_t name_damage(const json::object& page) {
    const auto* damaged = page.if_contains("damaged");
    if (damaged == nullptr || !damaged->is_array())
        return 0;
    for (const auto& rows : damaged->get_array())
        if (const auto* one = rows.if_object())
            complain(base::printable(json::text_field(*one, "message")));
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
        done += json::unsigned_field(*shown, "count");
        exported.damaged += name_damage(*shown);
        cursor = json::text_field(*shown, "next");
        if (cursor.empty()) {
            exported.set_aside = json::text_field(*shown, "keptAs");
            return exported;
        }
        if (bar.visible() && total == 0)
            if (auto health = client.call("core.health", {}))
                total = lines_in(*health);
        bar.show(done, std::max(done, total), cat(done, " lines"));
    }
}

// What can be read of a database that nobody serves, to `fd`.
Result<Exported> write_lines_of(const std::string& database,
                                std::optional<std::chrono::milliseconds> patience, int fd,
                                const std::string& name, bool quiet) {
    auto source = LineSource::open(database, patience);
    if (!source)
        return std::unexpected(std::move(source.error()));
    if (!source->from_database())
        return fail(Errc::invalid_argument, cat(database, " is no database; --from takes one"));
    ProgressBar bar("exporting", !quiet);
    Exported exported;
    std::uint64_t total = 0;
    for (;;) {
        auto line = source->next();
        if (!line && line.error().sys == EUCLEAN) {
            ++exported.damaged; // which places these are was said by the one that read it
            return exported;
        }
        if (!line)
            return std::unexpected(std::move(line.error()));
        if (!*line)
            return exported;
        if ((*line)->number == 1) { // how many come
            const auto head = json::parse_object((*line)->text);
            total = head ? json::unsigned_field(*head, "total") : 0;
            continue;
        }
        if ((*line)->too_long) {
            ++exported.damaged;
            complain(cat("line ", (*line)->number, " is too long to be imported, and is left out"));
            continue;
        }
        if (auto written = write_lines(fd, cat((*line)->text, '\n'), name); !written)
            return std::unexpected(std::move(written.error()));
        ++exported.lines;
        bar.show(exported.lines, std::max(exported.lines, total), cat(exported.lines, " lines"));
    }
}

// A pipe, a device, what a shell stands for >(…): it is there already and takes what is written.
bool is_stream(const std::string& name) {
    struct stat there{};
    return ::stat(name.c_str(), &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode);
}

// Where an export comes from.
struct Origin {
    std::string home;
    std::string database; // --from; empty: the home's memory
};

// The exit code of an export that came to its end.
int end_of(const Exported& exported, const Origin& origin) {
    if (exported.damaged == 0 && exported.set_aside.empty())
        return exit_ok;
    const auto& home = origin.home;
    if (!origin.database.empty())
        complain(cat(origin.database, " is damaged: the export has what can be read of it"));
    else if (exported.damaged > 0)
        complain(cat(
            "the store at ", home,
            " is damaged: what is named above is not in the export, or not as it was stored. All the rest "
            "is, and can be imported. Into a new home it comes at once with: holdfast memory import ",
            exported.set_aside.empty() ? cat(home, "/data/memory.db") : exported.set_aside,
            " --home DIRECTORY"));
    return exit_bad_data;
}

Result<Exported> export_to(const Arguments& arguments, const Origin& origin, int fd, const std::string& name,
                           bool quiet) {
    const auto timeout = duration_option(arguments, "timeout");
    if (!timeout)
        return std::unexpected(timeout.error());
    if (!origin.database.empty())
        return write_lines_of(origin.database, *timeout, fd, name, quiet);
    auto exported = [&]() -> Result<Exported> {
        auto client = MemoryClient::start(origin.home, arguments);
        if (!client)
            return std::unexpected(std::move(client.error()));
        return write_pages(*client, fd, name, quiet);
    }();
    if (!exported || exported->set_aside.empty())
        return exported;
    const auto aside = exported->set_aside;
    const auto way = cat(" It is brought over with: holdfast memory import ", aside, " --home ", origin.home,
                         ". Move it away when it is no longer needed");
    // Of a memory in which something was stored since, part of the old one may have been brought over, and
    // forgotten after that.
    if (exported->lines > 0 || exported->damaged > 0) {
        complain(cat("an earlier database of the memory at ", origin.home, " was corrupt, and lies at ",
                     aside,
                     ". It is not in this export; alone it is exported by: holdfast memory export --from ",
                     aside, " FILE.", way));
        return exported;
    }
    complain(cat("the database of the memory at ", origin.home, " was corrupt, and is kept as ", aside,
                 "; a new one was begun, which is empty. The export has what can be read of the old one.",
                 way));
    exported = write_lines_of(aside, *timeout, fd, name, quiet);
    if (exported)
        exported->set_aside = aside;
    return exported;
}

} // namespace

int memory_export_command(const Arguments& arguments) {
    Origin origin;
    if (const auto from = arguments.value("from")) {
        origin.database = *from;
    } else {
        int no_home = exit_ok;
        const auto home = existing_memory_home(arguments, no_home);
        if (!home)
            return no_home;
        origin.home = *home;
    }
    const bool quiet = arguments.has("quiet");
    if (arguments.words.empty() || arguments.words[0] == "-") {
        if (stdout_is_terminal() && arguments.words.empty())
            complain("the export goes to this terminal; to a file: holdfast memory export FILE");
        const auto count = export_to(arguments, origin, STDOUT_FILENO, "stdout", quiet);
        return count ? end_of(*count, origin) : fail_with(count.error());
    }
    const auto& name = arguments.words[0];
    if (is_stream(name)) {
        const sys::Fd stream(::open(name.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
        const auto count = stream ? export_to(arguments, origin, stream.get(), name, quiet)
                                  : Result<Exported>(sys::fail_making(cat("open ", name)));
        return count ? end_of(*count, origin) : fail_with(count.error());
    }
    auto file = sys::NewFile::open(name);
    if (!file)
        return fail_with(file.error());
    const auto count = export_to(arguments, origin, file->fd(), name, quiet);
    if (!count)
        return fail_with(count.error());
    const int code = end_of(*count, origin);
    if (code != exit_ok && count->lines == 0) {
        complain(cat("nothing could be read; ", name, " was not made"));
        return code;
    }
    if (auto there = file->appear(); !there)
        return fail_with(there.error());
    if (!quiet)
        complain(cat(count->lines, " lines written to ", name));
    return code;
}

} // namespace holdfast::cli
