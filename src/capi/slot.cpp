// Slots for C.
#include "capi/json_out.hpp"
#include "capi/support.hpp"
#include "slot/slot_json.hpp"

using namespace holdfast;
using namespace holdfast::capi;

struct hf_slot {
    Ownership ownership;
};

namespace {

hf_error done(const Result<void>& result) {
    return result ? HF_OK : failed(result.error());
}

SlotLocation location_of(const char* directory, const char* name) {
    return {.directory = std::string(view(directory)), .name = std::string(view(name))};
}

} // namespace

extern "C" {

hf_error hf_slot_acquire(const hf_options* options, hf_slot** out, char** attached) {
    return guarded([&] {
        SlotLocation location;
        AcquireOptions how;
        OptionReader read(options);
        read.text("directory", location.directory);
        read.text("name", location.name);
        read.choice("if_held", how.if_held,
                    {{"refuse", IfHeld::refuse},
                     {"wait", IfHeld::wait},
                     {"replace", IfHeld::replace},
                     {"attach", IfHeld::attach}});
        if (read.has("wait")) {
            Millis wait{0};
            read.millis("wait", wait);
            how.wait = wait;
        }
        read.millis("grace", how.grace);
        read.millis("stall", how.stall);
        read.list("argv", how.argv);
        read.text("address", how.address);
        read.text("session", how.session);
        read.number("cancel_fd", how.cancel_fd);
        if (auto understood = read.finish(); !understood)
            return failed(understood.error());
        auto got = acquire(location, how);
        if (!got)
            return failed(got.error());
        if (got->ownership) {
            *out = new hf_slot{std::move(*got->ownership)};
            if (attached != nullptr)
                *attached = nullptr;
            return HF_OK;
        }
        (void)give(slot::json_of(got->attached_to), attached);
        *out = nullptr;
        return HF_OK;
    });
}

void hf_slot_free(hf_slot* slot) {
    delete slot;
}

uint64_t hf_slot_epoch(const hf_slot* slot) {
    return slot->ownership.epoch();
}

hf_error hf_slot_progress(hf_slot* slot, uint64_t progress, uint64_t total, const char* status) {
    return guarded(
        [&] { return done(slot->ownership.report_progress(progress, total, std::string(view(status)))); });
}

hf_error hf_slot_extend_patience(hf_slot* slot, int64_t more_ms) {
    return guarded([&] { return done(slot->ownership.extend_patience(Millis{more_ms})); });
}

hf_error hf_slot_set_status(hf_slot* slot, const char* status) {
    return guarded([&] { return done(slot->ownership.set_status(std::string(view(status)))); });
}

hf_error hf_slot_set_address(hf_slot* slot, const char* address) {
    return guarded([&] { return done(slot->ownership.set_address(std::string(view(address)))); });
}

hf_error hf_slot_set_phase(hf_slot* slot, const char* phase) {
    return guarded([&] {
        const std::string_view name = view(phase);
        if (name == "starting")
            return done(slot->ownership.starting());
        if (name == "ready")
            return done(slot->ownership.ready());
        if (name == "draining")
            return done(slot->ownership.draining());
        return failed(Errc::invalid_argument, "a phase is starting, ready or draining");
    });
}

int hf_slot_life_fd(const hf_slot* slot) {
    return slot->ownership.life_fd();
}
int hf_slot_watch_fd(hf_slot* slot) {
    return slot->ownership.watch_fd();
}

hf_error hf_slot_still_mine(hf_slot* slot) {
    return guarded([&] { return done(slot->ownership.still_mine()); });
}

hf_error hf_slot_query(const char* directory, const char* name, char** json) {
    return guarded([&] {
        auto info = query(location_of(directory, name));
        if (!info)
            return failed(info.error());
        return give(slot::json_of(*info), json);
    });
}

hf_error hf_slot_list(const char* directory, char** json) {
    return guarded([&] {
        auto all = list_slots(std::string(view(directory)));
        if (!all)
            return failed(all.error());
        json::array out;
        for (const SlotInfo& info : *all)
            out.push_back(slot::json_of(info));
        return give(out, json);
    });
}

hf_error hf_slot_stop(const char* directory, const char* name, const hf_options* options, int* was_running) {
    return guarded([&] {
        const auto how = read_stop(options);
        if (!how)
            return failed(how.error());
        auto stopped = stop_slot(location_of(directory, name), *how);
        if (!stopped)
            return failed(stopped.error());
        if (was_running != nullptr)
            *was_running = stopped->anybody ? 1 : 0;
        return HF_OK;
    });
}

hf_error hf_slot_wait(const char* directory, const char* name, const char* what, int64_t timeout_ms,
                      int cancel_fd, char** json) {
    return guarded([&] {
        const std::string_view word = view(what);
        if (word != "ready" && word != "free")
            return failed(Errc::invalid_argument, "wait for ready or for free");
        auto info = wait_for(location_of(directory, name), word == "ready" ? WaitFor::ready : WaitFor::free,
                             timeout(timeout_ms), cancel_fd);
        if (!info)
            return failed(info.error());
        return give(slot::json_of(*info), json);
    });
}

} // extern "C"
