#include "registry/events.hpp"

#include "base/text.hpp"
#include "sys/clock.hpp"
#include "sys/directories.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/own_rights.hpp"
#include "sys/proc.hpp"
#include "json/json_fields.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace holdfast::registry {

std::string to_json_line(const Event& event) {
    json::object out;
    out["ts"] = event.unix_ms;
    out["type"] = event.type;
    if (!event.id.empty())
        out["id"] = event.id;
    if (!event.label.empty())
        out["name"] = event.label;
    if (event.pid)
        out["pid"] = event.pid;
    if (!event.reason.empty())
        out["reason"] = event.reason;
    if (event.status)
        out["status"] = *event.status;
    return json::to_text(out, {.bytes = json::Bytes::as_utf8}) + "\n";
}

std::optional<Event> event_from_line(std::string_view line) {
    auto object = json::parse_object(line);
    if (!object)
        return std::nullopt;
    Event out;
    out.unix_ms = json::integer_field(*object, "ts");
    out.type = json::text_field(*object, "type");
    out.id = json::text_field(*object, "id");
    out.label = json::text_field(*object, "name");
    out.pid = static_cast<int>(json::integer_field(*object, "pid"));
    out.reason = json::text_field(*object, "reason");
    if (object->contains("status"))
        out.status = static_cast<int>(json::integer_field(*object, "status"));
    return out;
}

void EventLog::append(Event event) const {
    if (!sys::make_directories(directory_))
        return;
    event.unix_ms = sys::unix_ms();
    std::string line = to_json_line(event);
    sys::Fd fd =
        sys::own_fd(::open(path().c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd)
        return;
    struct stat file{};
    const bool known = ::fstat(fd.get(), &file) == 0;
    if (known)
        sys::own_rights(fd.get(), file);
    if (known && static_cast<std::uint64_t>(file.st_size) > max_events_bytes &&
        ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
        // One of us turns the page; whoever still writes to the old one writes to the old one.
        struct stat there{};
        if (::stat(path().c_str(), &there) == 0 && there.st_ino == file.st_ino)
            ::rename(path().c_str(), (directory_ + "/events.1.jsonl").c_str());
        fd =
            sys::own_fd(::open(path().c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
        if (fd)
            sys::own_rights(fd.get());
    }
    // One write of one line: appends of this size are not torn or mixed.
    (void)!::write(fd.get(), line.data(), line.size());
}

Result<void> EventLog::check_readable() const {
    const sys::Fd fd(::open(path().c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd && errno != ENOENT)
        return sys::fail_sys(base::cat("read the event log ", path()));
    return {};
}

std::vector<Event> EventLog::read(std::uint64_t* seen) const {
    std::vector<Event> out;
    for (const std::string& file : {directory_ + "/events.1.jsonl", path()}) {
        auto text = sys::read_small_file(file, 4 * max_events_bytes);
        if (!text)
            continue;
        if (seen && file == path())
            *seen = text->rfind('\n') + 1; // 0 where there is none
        std::string_view rest = *text;
        while (!rest.empty()) {
            std::size_t end = rest.find('\n');
            if (auto event = event_from_line(rest.substr(0, end)))
                out.push_back(std::move(*event));
            rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
        }
    }
    return out;
}

} // namespace holdfast::registry
