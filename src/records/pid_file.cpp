#include "records/pid_file.hpp"

#include "base/text.hpp"
#include "json/json_fields.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace holdfast::records {

namespace {
constexpr std::int64_t largest_pid = 4'194'304;
// When a process started, in seconds since 1970, is told by the kernel from a boot time in whole seconds, and
// that moves when the clock is set.
constexpr double start_tolerance = 2.0;
} // namespace

std::optional<PidFileEntry> parse_pid_file(std::string_view text) {
    while (!text.empty() && (text.back() == '\n' || text.back() == ' ' || text.back() == '\r'))
        text.remove_suffix(1);
    while (!text.empty() && text.front() == ' ')
        text.remove_prefix(1);
    std::int64_t number = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc{} && end == text.data() + text.size()) {
        if (number <= 0 || number > largest_pid)
            return std::nullopt;
        return PidFileEntry{.pid = static_cast<int>(number)};
    }
    auto object = json::parse_object(text);
    if (!object)
        return std::nullopt;
    number = json::integer_field(*object, "pid");
    if (number <= 0 || number > largest_pid)
        return std::nullopt;
    PidFileEntry out;
    out.pid = static_cast<int>(number);
    if (const json::value* start = object->if_contains("start_time")) {
        if (start->is_int64())
            out.start_time = static_cast<double>(start->get_int64());
        else if (start->is_double())
            out.start_time = start->get_double();
    }
    out.argv = json::texts_field(*object, "argv");
    out.kind = json::text_field(*object, "kind");
    return out;
}

std::string plain_pid_file(int pid) {
    return base::cat(pid, '\n');
}

std::string json_pid_file(int pid, std::uint64_t start_ticks, const std::vector<std::string>& argv,
                          std::string_view kind) {
    json::object out;
    out["pid"] = pid;
    out["kind"] = json::string(kind);
    out["argv"] = json::to_array(argv);
    out["start_time"] = start_ticks;
    return json::to_text(out) + "\n";
}

PidFileProof judge_pid_file(const PidFileEntry& entry, std::uint64_t start_ticks, double start_unix) {
    if (!entry.start_time)
        return PidFileProof::unproven;
    // Not told apart by their size: after 116 days of uptime ticks are as large as seconds.
    bool same = *entry.start_time == static_cast<double>(start_ticks) ||
                std::fabs(*entry.start_time - start_unix) <= start_tolerance;
    return same ? PidFileProof::proven : PidFileProof::recycled;
}

bool runs_command(const std::vector<std::string>& named, const std::vector<std::string>& command_line) {
    if (named.empty())
        return true;
    if (command_line.size() < named.size())
        return false;
    const std::size_t first = command_line.size() - named.size();
    if (!std::equal(named.begin() + 1, named.end(),
                    command_line.begin() + static_cast<std::ptrdiff_t>(first) + 1))
        return false;
    const std::string& word = command_line[first];
    const auto file_name = [](std::string_view path) { return path.substr(path.rfind('/') + 1); };
    if (file_name(word) == file_name(named[0]) && !file_name(word).empty())
        return true;
    if (first == 0 || command_line[first - 1] != "-m")
        return false;
    std::string module = base::cat('/', word);
    std::ranges::replace(module, '.', '/');
    return named[0].ends_with(module + ".py") || named[0].ends_with(module + "/__main__.py");
}

bool may_have_written(const PidFileEntry& entry, std::uint64_t start_ticks, double start_unix,
                      double file_unix) {
    switch (judge_pid_file(entry, start_ticks, start_unix)) {
    case PidFileProof::proven:
        return true;
    case PidFileProof::recycled:
        return false;
    case PidFileProof::unproven:
        break;
    }
    return start_unix <= file_unix + start_tolerance;
}

} // namespace holdfast::records
