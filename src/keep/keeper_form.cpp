// The serialized form of a keeper's options: one list for writing and for reading them.
#include "keep/keeper_options.hpp"

#include "base/text.hpp"
#include "keep/control.hpp"

#include <charconv>
#include <concepts>

namespace holdfast::keep {

namespace {

using Options = KeeperOptions;
using Words = std::vector<std::string>;

std::string text_of(const std::string& value) {
    return value;
}
template <std::integral N>
std::string text_of(N value) {
    return std::to_string(value);
}
std::string text_of(base::Millis value) {
    return std::to_string(value.count());
}
std::string text_of(const core::StopPlan& value) {
    return core::to_text(value);
}
template <class E>
    requires std::is_enum_v<E>
std::string text_of(E value) {
    return std::string(name_of(value));
}

std::unexpected<Error> not_a_number(std::string_view name, std::string_view text) {
    return fail(Errc::invalid_argument, base::cat(name, " needs a number, not \"", text, "\""));
}

template <class T>
Result<void> assign(T& target, Result<T> value) {
    if (!value)
        return std::unexpected(value.error());
    target = std::move(*value);
    return {};
}

Result<void> read(std::string& target, std::string_view, std::string_view text) {
    target = text;
    return {};
}
template <std::integral N>
Result<void> read(N& target, std::string_view name, std::string_view text) {
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), target);
    if (error != std::errc{} || end != text.data() + text.size())
        return not_a_number(name, text);
    return {};
}
Result<void> read(base::Millis& target, std::string_view name, std::string_view text) {
    long long number = 0;
    auto ok = read(number, name, text);
    target = base::Millis{number};
    return ok;
}
Result<void> read(core::StopPlan& target, std::string_view, std::string_view text) {
    return assign(target, core::parse_stop_plan(text));
}
Result<void> read(Containment& target, std::string_view, std::string_view text) {
    return assign(target, parse_containment(text));
}
Result<void> read(Restart& target, std::string_view, std::string_view text) {
    return assign(target, parse_restart(text));
}
template <class T>
Result<void> read(std::optional<T>& target, std::string_view name, std::string_view text) {
    return read(target.emplace(), name, text);
}
template <class T>
Result<void> read(std::vector<T>& target, std::string_view name, std::string_view text) {
    return read(target.emplace_back(), name, text);
}

void say(Words& words, std::string_view name, std::string value) {
    words.push_back(base::cat("--", name, '=', value));
}
template <class T>
void write(Words& words, std::string_view name, const T& value) {
    say(words, name, text_of(value));
}
template <class T>
void write(Words& words, std::string_view name, const std::optional<T>& value) {
    if (value)
        say(words, name, text_of(*value));
}
template <class T>
void write(Words& words, std::string_view name, const std::vector<T>& values) {
    for (const T& value : values)
        say(words, name, text_of(value));
}

// All options of the form, in its order, and whether each is said: otherwise it has its default.
template <class O, class Visit>
void each_option(O& o, Visit visit) {
    const bool restarts = o.restart != Restart::never;
    const bool has_pid_file = !o.pid_file.empty();
    const bool has_events = !o.events.empty();
    visit("control", o.control_fd, true);
    visit("id", o.id, true);
    visit("host", o.host_fd, o.host_fd >= 0);
    visit("life", o.life_fds, true);
    visit("own-life", o.own_life_fd, o.own_life_fd >= 0);
    visit("stop", o.plan, true);
    visit("contain", o.containment, o.containment != Containment::automatic);
    visit("spare", o.spare, true);
    visit("restart", o.restart, restarts);
    visit("backoff-first", o.backoff.first, restarts);
    visit("backoff", o.backoff.initial, restarts);
    visit("backoff-max", o.backoff.max, restarts);
    visit("reset-after", o.backoff.reset_after_held, restarts);
    visit("max-failures", o.backoff.max_failures, restarts);
    visit("idle", o.idle, o.idle.count() != 0);
    visit("max-life", o.max_life, o.max_life.count() != 0);
    visit("memory", o.memory, o.memory != 0);
    visit("terminal", o.terminal_fd, o.terminal_fd >= 0);
    visit("group", o.join_group, true);
    visit("log", o.log, !o.log.empty());
    visit("pid-file", o.pid_file, has_pid_file);
    visit("front", o.front, has_pid_file);
    visit("events", o.events, has_events);
    visit("label", o.label, has_events);
}

// "--name=value" in two parts; empty when it is no such word.
std::pair<std::string_view, std::string_view> parts_of(std::string_view word) {
    const std::size_t equals = word.find('=');
    if (!word.starts_with("--") || equals == std::string_view::npos)
        return {};
    return {word.substr(2, equals - 2), word.substr(equals + 1)};
}

Result<void> read_word(Options& options, std::string_view word) {
    const auto [name, value] = parts_of(word);
    Result<void> out = fail(Errc::invalid_argument, base::cat("the keeper does not know \"", word, "\""));
    each_option(options, [&out, wanted = name, text = value](std::string_view option, auto& target, bool) {
        if (option == wanted)
            out = read(target, option, text);
    });
    return out;
}

} // namespace

std::vector<std::string> to_argv(const KeeperOptions& options) {
    Words out{"holdfast-keep", protocol_word()};
    each_option(options, [&out](std::string_view option, const auto& value, bool is_said) {
        if (is_said)
            write(out, option, value);
    });
    out.emplace_back("--");
    out.insert(out.end(), options.command.begin(), options.command.end());
    return out;
}

Result<KeeperOptions> parse_keeper_argv(const std::vector<std::string>& argv) {
    if (argv.size() < 2 || argv[1] != protocol_word())
        return fail(Errc::invalid_argument, "holdfast-keep is started by `holdfast run` and by the library, "
                                            "not by hand; see `holdfast run --help`");
    KeeperOptions out;
    std::size_t at = 2;
    for (; at < argv.size() && argv[at] != "--"; ++at)
        if (auto ok = read_word(out, argv[at]); !ok)
            return std::unexpected(ok.error());
    if (at + 1 >= argv.size() || out.id.empty() || out.control_fd < 0)
        return fail(Errc::invalid_argument, "the keeper's options lack an id, a control socket or a command");
    out.command.assign(argv.begin() + static_cast<std::ptrdiff_t>(at) + 1, argv.end());
    return out;
}

} // namespace holdfast::keep
