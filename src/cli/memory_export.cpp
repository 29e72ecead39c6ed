// The store as JSON lines, a page at a time.
#include "cli/exit_codes.hpp"
#include "cli/memory.hpp"
#include "cli/memory_client.hpp"
#include "cli/print.hpp"
#include "cli/progress_bar.hpp"
#include "core/json_fields.hpp"
#include "core/text.hpp"
#include "sys/errors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

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
            auto failed = sys::fail_sys(cat("write ", name));
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

// All pages to `fd`; how many lines that were.
Result<std::uint64_t> write_pages(MemoryClient& client, int fd, const std::string& name, bool quiet) {
    ProgressBar bar("exporting", !quiet);
    std::uint64_t done = 0;
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
        if (auto written = write_all(fd, lines->get_string(), name); !written)
            return std::unexpected(std::move(written.error()));
        done += core::unsigned_field(*shown, "count");
        cursor = core::text_field(*shown, "next");
        if (cursor.empty())
            return done;
        if (bar.visible() && total == 0)
            if (auto health = client.call("core.health", {}))
                total = lines_in(*health);
        bar.show(done, std::max(done, total), cat(done, " lines"));
    }
}

} // namespace

int memory_export_command(const Arguments& arguments) {
    int no_home = exit_ok;
    const auto home = existing_memory_home(arguments, no_home);
    if (!home)
        return no_home;
    const bool to_file = !arguments.words.empty() && arguments.words[0] != "-";
    const std::string name = to_file ? arguments.words[0] : "stdout";
    const std::string unfinished = name + ".part";
    sys::Fd file;
    if (to_file) {
        if (::access(name.c_str(), F_OK) == 0)
            return fail_with(
                {Errc::invalid_argument, cat(name, " exists already; choose another name, or remove it"), 0});
        file = sys::Fd(::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
        if (!file)
            return fail_with(sys::fail_sys(cat("create ", unfinished)).error());
    } else if (stdout_is_terminal() && arguments.words.empty()) {
        complain("the export goes to this terminal; to a file: holdfast memory export FILE");
    }
    auto client = MemoryClient::start(*home);
    if (!client)
        return fail_with(client.error());
    auto count = write_pages(*client, to_file ? file.get() : STDOUT_FILENO, name, arguments.has("quiet"));
    if (count && to_file) {
        // Whole or not at all: the name appears when everything is on disk.
        if (::fsync(file.get()) != 0 || ::rename(unfinished.c_str(), name.c_str()) != 0)
            count = sys::fail_sys(cat("finish ", name));
    }
    if (!count) {
        if (to_file)
            ::unlink(unfinished.c_str());
        return fail_with(count.error());
    }
    if (to_file && !arguments.has("quiet"))
        complain(cat(*count, " lines written to ", name));
    return exit_ok;
}

} // namespace holdfast::cli
