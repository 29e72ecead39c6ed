#include "supervise/core.hpp"

#include "base/text.hpp"
#include "core/stop_plan.hpp"
#include "keep/keeper_options.hpp"
#include "places/user_places.hpp"
#include "slot/sweep.hpp"
#include "sys/directories.hpp"
#include "json/json_scan.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace holdfast::supervise {

namespace {

constexpr std::size_t remembered_helpers = 256; // idle ones; more are forgotten

std::optional<std::string> from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value != nullptr ? std::optional<std::string>(value) : std::nullopt;
}

void add_part(std::string& key, std::string_view part) {
    key += base::cat(part.size(), ':');
    key += part;
}

void add_parts(std::string& key, const std::vector<std::string>& parts) {
    key += base::cat(parts.size(), ';');
    for (const std::string& part : parts)
        add_part(key, part);
}

} // namespace

std::string key_of(const HelperSpec& spec) {
    // Lengths before texts, so that no text can look like two.
    std::string key;
    add_parts(key, spec.command);
    add_part(key, spec.directory);
    key += spec.environment ? 'e' : 'i';
    if (spec.environment)
        add_parts(key, *spec.environment);
    add_parts(key, spec.extra_environment);
    key += base::cat(static_cast<int>(spec.framing), ',', static_cast<int>(spec.cancel), ',');
    add_part(key, spec.key);
    return key;
}

Result<void> check(const HelperSpec& spec) {
    if (spec.command.empty() || spec.command.front().empty())
        return fail(Errc::invalid_argument, "a helper needs a command");
    for (const std::string& word : spec.command)
        if (word.find('\0') != std::string::npos)
            return fail(Errc::invalid_argument, "a word of the command contains a zero byte");
    for (const auto* variables : {&spec.extra_environment, spec.environment ? &*spec.environment : nullptr})
        if (variables != nullptr)
            for (const std::string& variable : *variables)
                if (variable.find('=') == std::string::npos || variable.front() == '=' ||
                    variable.find('\0') != std::string::npos)
                    return fail(Errc::invalid_argument,
                                base::cat("\"", variable, "\" is not of the form NAME=value"));
    if (auto plan = core::parse_stop_plan(spec.stop_plan); !plan)
        return std::unexpected(plan.error());
    if (auto containment = keep::parse_containment(spec.containment); !containment)
        return std::unexpected(containment.error());
    if (spec.ready_by == ReadyBy::health && spec.health.method.empty())
        return fail(Errc::invalid_argument, "readiness by health needs a health method");
    if (!json::is_json(spec.health.params))
        return fail(Errc::invalid_argument, "the params of the health method are not JSON");
    for (const Millis span : {spec.stall, spec.linger, spec.serve_within, spec.health.every,
                              spec.health.within, spec.health.while_starting, spec.respawn.cool_down})
        if (span < Millis{0})
            return fail(Errc::invalid_argument, "a time of the helper's spec is negative");
    return core::check(core::BackoffPolicy{.first = spec.respawn.first,
                                           .initial = spec.respawn.initial,
                                           .factor = spec.respawn.factor,
                                           .max = spec.respawn.max,
                                           .jitter = spec.respawn.jitter,
                                           .reset_after_held = spec.respawn.reset_after_held,
                                           .max_failures = spec.respawn.max_failures,
                                           .window = spec.respawn.window});
}

Result<std::shared_ptr<Core>> Core::create(const SupervisorOptions& options) {
    std::string profile = options.profile;
    if (profile.empty())
        profile = from_environment("HOLDFAST_PROFILE").value_or("");
    if (profile.empty())
        profile = "default";
    auto places = places::places_of_user(profile);
    auto program = find_keeper_program(options.keeper_program);
    if (!places || !program)
        return std::unexpected(!places ? places.error() : program.error());
    if (auto made = sys::make_directories(places->helpers); !made)
        return std::unexpected(made.error());
    if (auto checked = sys::check_private_directory(places->helpers); !checked)
        return std::unexpected(checked.error());
    auto loop = Loop::start();
    if (!loop)
        return std::unexpected(loop.error());
    auto engine = std::make_shared<Engine>(KeeperPlace{*program, *places}, *loop);
    // What a double kill left behind earlier is ended beside the first start, not before it.
    engine->sweeper.post([directory = places->helpers] { slot::sweep(directory); });
    return std::make_shared<Core>(std::move(*loop), std::move(engine));
}

Core::Core(std::shared_ptr<Loop> loop, std::shared_ptr<Engine> engine)
    : loop_(std::move(loop))
    , engine_(std::move(engine)) {}

Core::~Core() {
    // The last reference may be dropped by a callback or by the loop's tick: then nothing can be waited for
    // here.
    loop_->stop();
    // Notifications and requests that nobody has begun with are of no use any more. Answers are: they are
    // told, if need be after this, by threads that own what they need. What runs has a moment to end.
    for (const auto& [key, helper] : helpers_)
        helper->drop_lanes();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    for (Workers* workers : {&engine_->sweeper, &callbacks_->handlers, &callbacks_->notes,
                             &callbacks_->passing, &callbacks_->answers})
        workers->finish(deadline);
}

void Core::forget_some() {
    if (helpers_.size() <= remembered_helpers)
        return;
    std::erase_if(helpers_, [](const auto& entry) { return entry.second->process().is_forgettable(); });
}

Result<Hold> Core::hold(const HelperSpec& spec) {
    // Also for a helper that is known already: this spec may be the one that starts it again.
    if (auto checked = check(spec); !checked)
        return std::unexpected(checked.error());
    std::string key = key_of(spec);
    std::shared_ptr<Conversation> helper;
    {
        const std::scoped_lock lock(mutex_);
        if (shut_)
            return fail(Errc::closed, "the supervisor was shut down");
        if (const auto at = helpers_.find(key); at != helpers_.end()) {
            helper = at->second;
        } else {
            forget_some();
            helper = std::make_shared<Conversation>(key, spec, engine_, callbacks_);
            helpers_.emplace(std::move(key), helper);
        }
        // Under the lock, so that it is not forgotten in between.
        auto tag = helper->hold(spec);
        if (!tag)
            return std::unexpected(tag.error());
        return Hold(std::move(helper), *tag);
    }
}

bool Core::at_rest() const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::all_of(helpers_,
                               [](const auto& entry) { return entry.second->process().is_closed(); });
}

Result<void> Core::shutdown(std::optional<Millis> at_most) {
    std::vector<std::shared_ptr<Conversation>> helpers;
    {
        const std::scoped_lock lock(mutex_);
        shut_ = true;
        for (const auto& [key, helper] : helpers_)
            helpers.push_back(helper);
    }
    for (const auto& helper : helpers)
        helper->process().shutdown();
    if (loop_->on_own_thread())
        return {}; // it goes on by itself
    const base::Moment due = at_most ? base::after(now_moment(), *at_most) : base::never;
    for (;;) {
        std::unique_lock lock(engine_->rest_mutex);
        if (engine_->unreaped == 0) {
            lock.unlock();
            if (at_rest())
                break;
            lock.lock();
        }
        const base::Moment now = now_moment();
        if (now >= due) {
            lock.unlock();
            std::string left;
            for (const auto& helper : helpers)
                if (const std::string named = helper->process().still_ending(); !named.empty())
                    left += base::cat(left.empty() ? "" : ", ", named);
            return fail(Errc::timed_out, left.empty() ? "helpers are still ending"
                                                      : base::cat("helpers are still ending: ", left));
        }
        // Bounded, because a helper's last step and this look are under different locks.
        engine_->rest_changed.wait_for(
            lock, std::min<std::chrono::nanoseconds>(due - now, std::chrono::milliseconds(20)));
    }
    std::string left;
    for (const auto& helper : helpers)
        if (const std::string named = helper->process().survivors(); !named.empty())
            left += base::cat(left.empty() ? "" : ", ", named);
    if (!left.empty())
        return fail(Errc::survivors, base::cat("could not be ended: ", left));
    return {};
}

std::vector<std::pair<std::string, HelperStatus>> Core::status() const {
    std::vector<std::shared_ptr<Conversation>> helpers;
    {
        const std::scoped_lock lock(mutex_);
        for (const auto& [key, helper] : helpers_)
            helpers.push_back(helper);
    }
    std::vector<std::pair<std::string, HelperStatus>> out;
    for (const auto& helper : helpers)
        out.emplace_back(helper->key(), helper->status());
    return out;
}

} // namespace holdfast::supervise
