#include "keep/keeper_options.hpp"

#include "base/text.hpp"

#include <charconv>

namespace holdfast::keep {

namespace {

template <class N>
Result<N> number(std::string_view option, std::string_view text) {
    N out{};
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error != std::errc{} || end != text.data() + text.size())
        return fail(Errc::invalid_argument, base::cat(option, " needs a number, not \"", text, "\""));
    return out;
}

std::string_view word(Restart restart) {
    switch (restart) {
    case Restart::never:
        return "never";
    case Restart::on_failure:
        return "on-failure";
    case Restart::always:
        return "always";
    }
    return "never";
}

} // namespace

std::string_view name_of(Containment containment) noexcept {
    switch (containment) {
    case Containment::automatic:
        return "auto";
    case Containment::plain:
        return "plain";
    case Containment::cgroup:
        return "cgroup";
    case Containment::pid_namespace:
        return "pidns";
    }
    return "auto";
}

Result<Containment> parse_containment(std::string_view text) {
    for (auto value :
         {Containment::automatic, Containment::plain, Containment::cgroup, Containment::pid_namespace})
        if (name_of(value) == text)
            return value;
    return fail(Errc::invalid_argument,
                base::cat("\"", text, "\" is not a containment; use auto, plain, cgroup or pidns"));
}

Result<Restart> parse_restart(std::string_view text) {
    for (auto value : {Restart::never, Restart::on_failure, Restart::always})
        if (word(value) == text)
            return value;
    return fail(Errc::invalid_argument,
                base::cat("\"", text, "\" is not a restart policy; use never, on-failure or always"));
}

std::vector<std::string> to_argv(const KeeperOptions& o) {
    std::vector<std::string> out{"holdfast-keep"};
    auto add = [&out](std::string_view name, std::string value) {
        out.push_back(base::cat("--", name, '=', value));
    };
    add("id", o.id);
    add("control", std::to_string(o.control_fd));
    if (o.host_fd >= 0)
        add("host", std::to_string(o.host_fd));
    for (int fd : o.life_fds)
        add("life", std::to_string(fd));
    if (o.own_life_fd >= 0)
        add("own-life", std::to_string(o.own_life_fd));
    add("stop", core::to_text(o.plan));
    if (o.containment != Containment::automatic)
        add("contain", std::string(name_of(o.containment)));
    for (const std::string& pattern : o.spare)
        add("spare", pattern);
    if (o.restart != Restart::never) {
        add("restart", std::string(word(o.restart)));
        add("backoff-first", std::to_string(o.backoff.first.count()));
        add("backoff", std::to_string(o.backoff.initial.count()));
        add("backoff-max", std::to_string(o.backoff.max.count()));
        add("reset-after", std::to_string(o.backoff.reset_after_held.count()));
        add("max-failures", std::to_string(o.backoff.max_failures));
    }
    if (o.idle.count())
        add("idle", std::to_string(o.idle.count()));
    if (o.max_life.count())
        add("max-life", std::to_string(o.max_life.count()));
    if (o.memory)
        add("memory", std::to_string(o.memory));
    if (o.terminal_fd >= 0)
        add("terminal", std::to_string(o.terminal_fd));
    if (o.join_front_group)
        add("group", std::to_string(o.front_group));
    if (!o.log.empty())
        add("log", o.log);
    if (!o.pid_file.empty()) {
        add("pid-file", o.pid_file);
        add("front", std::to_string(o.front));
    }
    if (!o.events.empty()) {
        add("events", o.events);
        add("label", o.label);
    }
    out.emplace_back("--");
    out.insert(out.end(), o.command.begin(), o.command.end());
    return out;
}

Result<KeeperOptions> parse_keeper_argv(const std::vector<std::string>& argv) {
    KeeperOptions o;
    std::size_t at = 1;
    for (; at < argv.size() && argv[at] != "--"; ++at) {
        std::string_view text = argv[at];
        std::size_t equals = text.find('=');
        if (!text.starts_with("--") || equals == std::string_view::npos)
            return fail(Errc::invalid_argument, base::cat("the keeper does not know \"", text, "\""));
        std::string_view name = text.substr(2, equals - 2);
        std::string_view value = text.substr(equals + 1);
        auto whole = [&](auto& target) -> Result<void> {
            auto parsed = number<std::remove_reference_t<decltype(target)>>(name, value);
            if (!parsed)
                return std::unexpected(parsed.error());
            target = *parsed;
            return {};
        };
        auto millis = [&](base::Millis& target) -> Result<void> {
            auto parsed = number<long long>(name, value);
            if (!parsed)
                return std::unexpected(parsed.error());
            target = base::Millis{*parsed};
            return {};
        };
        auto assign = [&](auto&& parsed, auto& target) -> Result<void> {
            if (!parsed)
                return std::unexpected(parsed.error());
            target = std::move(*parsed);
            return {};
        };
        Result<void> ok;
        if (name == "id")
            o.id = value;
        else if (name == "control")
            ok = whole(o.control_fd);
        else if (name == "host")
            ok = whole(o.host_fd);
        else if (name == "life")
            ok = whole(o.life_fds.emplace_back());
        else if (name == "own-life")
            ok = whole(o.own_life_fd);
        else if (name == "stop")
            ok = assign(core::parse_stop_plan(value), o.plan);
        else if (name == "contain")
            ok = assign(parse_containment(value), o.containment);
        else if (name == "spare")
            o.spare.emplace_back(value);
        else if (name == "restart")
            ok = assign(parse_restart(value), o.restart);
        else if (name == "backoff-first")
            ok = millis(o.backoff.first);
        else if (name == "backoff")
            ok = millis(o.backoff.initial);
        else if (name == "backoff-max")
            ok = millis(o.backoff.max);
        else if (name == "reset-after")
            ok = millis(o.backoff.reset_after_held);
        else if (name == "max-failures")
            ok = whole(o.backoff.max_failures);
        else if (name == "idle")
            ok = millis(o.idle);
        else if (name == "max-life")
            ok = millis(o.max_life);
        else if (name == "memory")
            ok = whole(o.memory);
        else if (name == "terminal")
            ok = whole(o.terminal_fd);
        else if (name == "group") {
            o.join_front_group = true;
            ok = whole(o.front_group);
        } else if (name == "log")
            o.log = value;
        else if (name == "pid-file")
            o.pid_file = value;
        else if (name == "front")
            ok = whole(o.front);
        else if (name == "events")
            o.events = value;
        else if (name == "label")
            o.label = value;
        else
            return fail(Errc::invalid_argument, base::cat("the keeper does not know \"", text, "\""));
        if (!ok)
            return std::unexpected(ok.error());
    }
    if (at + 1 >= argv.size() || o.id.empty() || o.control_fd < 0)
        return fail(Errc::invalid_argument, "holdfast-keep is started by `holdfast run` and by the library, "
                                            "not by hand; see `holdfast run --help`");
    o.command.assign(argv.begin() + static_cast<std::ptrdiff_t>(at) + 1, argv.end());
    return o;
}

} // namespace holdfast::keep
