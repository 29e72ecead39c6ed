// open: a link that opens the viewer's pages once, and a browser for it where there is one.
#include "base/duration.hpp"
#include "base/text.hpp"
#include "cli/memory/client.hpp"
#include "cli/memory/memory.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "holdfast/slot.hpp"
#include "sys/errors.hpp"
#include "sys/program_path.hpp"
#include "sys/spawn.hpp"
#include "sys/whole_file.hpp"
#include "json/json_fields.hpp"
#include "json/json_write.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>

namespace holdfast::cli {

using base::cat;

namespace {

constexpr const char* opener = "xdg-open";
constexpr std::chrono::milliseconds between_questions{100}; // whether the browser has used the link
constexpr std::chrono::seconds browser_patience{60};

bool has_value(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr && *value != 0;
}

bool can_open_browser() {
    return (has_value("DISPLAY") || has_value("WAYLAND_DISPLAY")) && sys::check_program(opener).has_value();
}

// What the browser is told to open. A command line can be read by every user of the machine, so the link
// itself must not stand on one: it stands in a file of our own, which leads the browser on.
class LinkFile {
public:
    static Result<LinkFile> write(const std::string& home, const std::string& url) {
        LinkFile file;
        file.path_ = cat(home, "/open.html");
        auto written =
            sys::write_whole(file.path_, cat("<!doctype html><meta charset=\"utf-8\"><title>Memory</title>"
                                             "<meta http-equiv=\"refresh\" content=\"0; url=",
                                             url, "\"><a href=\"", url, "\">Open the memory</a>\n"));
        if (!written)
            return std::unexpected(std::move(written.error()));
        return file;
    }
    LinkFile(LinkFile&& other) noexcept
        : path_(std::exchange(other.path_, "")) {}
    LinkFile& operator=(LinkFile&&) = delete;
    ~LinkFile() {
        if (!path_.empty())
            ::unlink(path_.c_str());
    }
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    LinkFile() = default;
    std::string path_;
};

Result<sys::PidFd> start_browser(const std::string& path) {
    const sys::Fd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (!nothing)
        return sys::fail_sys("open /dev/null");
    sys::SpawnSpec spec;
    spec.argv = {opener, path};
    spec.fds = {{nothing.get(), 0}, {nothing.get(), 1}, {nothing.get(), 2}};
    spec.new_session = true; // what ends this command must not end the browser
    return sys::spawn(spec);
}

// The file must stay until the browser has read it, which the owner sees by the link that is used. What goes
// wrong is said, and is no failure: the link was printed.
void open_browser(MemoryClient& client, const std::string& home, const json::object& link) {
    auto file = LinkFile::write(home, json::text_field(link, "url"));
    if (!file)
        return complain(cat("no browser is opened: ", file.error().message, "; open the link yourself"));
    auto browser = start_browser(file->path());
    if (!browser)
        return complain(cat("no browser is opened: ", browser.error().message, "; open the link yourself"));
    const auto deadline = sys::Deadline::in(browser_patience);
    while (!deadline.passed()) {
        auto answer = client.call("viewer.link_state", {{"id", json::text_field(link, "id")}});
        if (!answer)
            return (void)fail_with(answer.error());
        const auto state = answer->is_object() ? json::text_field(answer->get_object(), "state") : "";
        if (state == "used")
            return;
        if (state != "open")
            return complain("the link is too old, or its owner has ended, before a browser had opened it");
        if (!browser->ended()) {
            (void)browser->wait_ended(sys::Deadline::in(between_questions));
            continue;
        }
        if (const int status = browser->peek_exit_status().value_or(0); status != 0)
            return complain(cat(opener, " ended with status ", status, "; open the link yourself"));
        client.pause(between_questions); // it has handed the file on
    }
    complain(cat("no browser has opened the link within ", base::format_duration(browser_patience),
                 "; open it yourself"));
}

std::string owner_of(const SlotInfo& slot) {
    return slot.owner_pid > 0 ? cat("process ", slot.owner_pid) : "a process in another container";
}

} // namespace

int memory_open_command(const Arguments& arguments) {
    json::object params;
    if (auto valid = duration_option(arguments, "valid"); !valid)
        return fail_with(valid.error());
    else if (*valid) {
        if (**valid < std::chrono::milliseconds(1) || **valid > std::chrono::hours(24))
            return fail_with({Errc::invalid_argument, "--valid is a time from 1ms to 24h", 0});
        params["validMs"] = static_cast<std::int64_t>((*valid)->count());
    }
    int no_home = exit_ok;
    const auto home = existing_memory_home(arguments, no_home);
    if (!home)
        return no_home;
    const auto slot = query({*home, "memory"});
    if (!slot)
        return fail_with(slot.error());
    if (slot->state != SlotState::owned) {
        complain(cat("no process serves the memory at ", *home,
                     ". Start one, and leave it running: holdfast memory daemon",
                     arguments.has("home") ? cat(" --home ", *home) : ""));
        return exit_not_running;
    }
    auto client = MemoryClient::start(*home, arguments);
    if (!client)
        return fail_with(client.error());
    auto given = client->call("viewer.link", std::move(params));
    if (!given && given.error().code == Errc::not_found) {
        complain(cat(owner_of(*slot), " serves the memory at ", *home,
                     " without its pages. Start it without --no-viewer, or ask for them from beside it: "
                     "holdfast memory daemon",
                     arguments.has("home") ? cat(" --home ", *home) : ""));
        return exit_not_running;
    }
    if (!given)
        return fail_with(given.error());
    const auto* link = given->if_object();
    if (link == nullptr)
        return fail_with({Errc::protocol, "the owner of the memory gave no link", 0});
    const auto url = json::text_field(*link, "url");
    const auto valid_ms = json::integer_field(*link, "validMs");
    const bool opens = !arguments.has("print") && can_open_browser();
    const int code =
        arguments.has("json")
            ? answer(json::to_text(json::object{{"url", url}, {"validMs", valid_ms}, {"browser", opens}}) +
                     "\n")
            : answer(cat(url, '\n'));
    if (code == exit_ok && !arguments.has("json") && ::isatty(STDERR_FILENO) == 1)
        complain(cat("the link opens one page, once, within ",
                     base::format_duration(std::chrono::milliseconds(valid_ms)), "; show it to nobody"));
    if (code == exit_ok && opens)
        open_browser(*client, *home, *link);
    return code;
}

} // namespace holdfast::cli
