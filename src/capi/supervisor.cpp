// Supervisor and holds for C.
#include "capi/handles.hpp"
#include "capi/json_out.hpp"
#include "capi/support.hpp"

using namespace holdfast;
using namespace holdfast::capi;

namespace {

Result<HelperSpec> read_spec(const hf_options* options) {
    HelperSpec spec;
    OptionReader read(options);
    read.list("command", spec.command);
    read.text("directory", spec.directory);
    if (std::vector<std::string> whole; read.list("environment", whole))
        spec.environment = std::move(whole);
    read.list("extra_environment", spec.extra_environment);
    read.choice("framing", spec.framing,
                {{"newline", RpcFraming::newline}, {"content-length", RpcFraming::content_length}});
    read.choice("cancel", spec.cancel,
                {{"silent", RpcCancel::silent}, {"lsp", RpcCancel::lsp}, {"mcp", RpcCancel::mcp}});
    read.text("key", spec.key);

    read.text("label", spec.label);
    read.choice("ready_by", spec.ready_by,
                {{"start", ReadyBy::start}, {"notify", ReadyBy::notify}, {"health", ReadyBy::health}});
    read.text("health_method", spec.health.method);
    read.text("health_params", spec.health.params);
    read.millis("health_every", spec.health.every);
    read.millis("health_within", spec.health.within);
    read.millis("health_while_starting", spec.health.while_starting);
    read.number("health_misses", spec.health.misses);
    read.text("stop_plan", spec.stop_plan);
    read.text("containment", spec.containment);
    read.choice(
        "errors", spec.errors,
        {{"inherit", HelperErrors::inherit}, {"discard", HelperErrors::discard}, {"log", HelperErrors::log}});
    read.millis("stall", spec.stall);
    read.millis("linger", spec.linger);
    read.millis("serve_within", spec.serve_within);
    read.millis("respawn_first", spec.respawn.first);
    read.millis("respawn_initial", spec.respawn.initial);
    read.number("respawn_factor", spec.respawn.factor);
    read.millis("respawn_max", spec.respawn.max);
    read.number("respawn_jitter", spec.respawn.jitter);
    read.millis("respawn_reset_after_held", spec.respawn.reset_after_held);
    read.number("respawn_max_failures", spec.respawn.max_failures);
    read.millis("respawn_window", spec.respawn.window);
    read.millis("respawn_cool_down", spec.respawn.cool_down);
    read.number("max_message", spec.limits.max_message);
    read.number("max_in_flight", spec.limits.max_in_flight);
    read.number("max_unsent_bytes", spec.limits.max_unsent_bytes);
    read.number("max_waiting", spec.limits.max_waiting);
    read.number("max_requests", spec.limits.max_requests);
    read.number("max_notifications", spec.limits.max_notifications);
    if (auto understood = read.finish(); !understood)
        return std::unexpected(understood.error());
    return spec;
}

hf_error give_generation(const Result<Generation>& result, uint64_t* out) {
    if (!result)
        return failed(result.error());
    if (out != nullptr)
        *out = *result;
    return HF_OK;
}

} // namespace

extern "C" {

hf_error hf_supervisor_new(const hf_options* options, hf_supervisor** out) {
    return guarded([&] {
        SupervisorOptions given;
        OptionReader read(options);
        read.text("profile", given.profile);
        read.text("keeper_program", given.keeper_program);
        if (auto understood = read.finish(); !understood)
            return failed(understood.error());
        auto made = Supervisor::create(given);
        if (!made)
            return failed(made.error());
        *out = new hf_supervisor{std::move(*made)};
        return HF_OK;
    });
}

void hf_supervisor_free(hf_supervisor* supervisor) {
    delete supervisor;
}

hf_error hf_supervisor_shutdown(hf_supervisor* supervisor, int64_t timeout_ms) {
    return guarded([&] {
        auto ended = supervisor->supervisor.shutdown(timeout(timeout_ms));
        return ended ? HF_OK : failed(ended.error());
    });
}

hf_error hf_supervisor_status(hf_supervisor* supervisor, char** json) {
    return guarded([&] {
        json::array out;
        for (const auto& [key, status] : supervisor->supervisor.status()) {
            json::object one = to_object(status);
            one["key"] = key;
            out.push_back(std::move(one));
        }
        return give(out, json);
    });
}

hf_error hf_supervisor_hold(hf_supervisor* supervisor, const hf_options* options, hf_hold** out) {
    return guarded([&] {
        auto spec = read_spec(options);
        if (!spec)
            return failed(spec.error());
        auto hold = supervisor->supervisor.hold(*spec);
        if (!hold)
            return failed(hold.error());
        *out = new hf_hold{std::move(*hold)};
        return HF_OK;
    });
}

void hf_hold_free(hf_hold* hold) {
    delete hold;
}

void hf_hold_release(hf_hold* hold) {
    hold->hold.release();
}

hf_error hf_hold_wait_ready(hf_hold* hold, int64_t timeout_ms, uint64_t* generation) {
    return guarded([&] { return give_generation(hold->hold.wait_ready(timeout(timeout_ms)), generation); });
}

hf_error hf_hold_status(hf_hold* hold, char** json) {
    return guarded([&] { return give(to_object(hold->hold.status()), json); });
}

hf_error hf_hold_replace(hf_hold* hold, uint64_t seen, int64_t timeout_ms, uint64_t* generation) {
    return guarded(
        [&] { return give_generation(hold->hold.replace(seen, timeout(timeout_ms)), generation); });
}

hf_error hf_hold_retry(hf_hold* hold) {
    return guarded([&] {
        auto again = hold->hold.retry();
        return again ? HF_OK : failed(again.error());
    });
}

} // extern "C"
