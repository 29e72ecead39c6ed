// Health: a question that tells starting from ready, and slow from wedged.
#include "supervise/helper.hpp"
#include "json/json_scan.hpp"

#include <functional>

namespace holdfast::supervise {

using core::EventKind;
using core::HelperPhase;

namespace {

struct HealthWords {
    bool ready = true;
    std::uint64_t progress = 0;
    std::string words; // the value of "progress", raw
};

HealthWords read_health(std::string_view result) {
    HealthWords out;
    std::string_view phase;
    std::string_view progress;
    json::ObjectReader reader(result);
    while (reader.next()) {
        if (reader.key() == "phase")
            phase = reader.value();
        else if (reader.key() == "progress")
            progress = reader.value();
    }
    out.words = progress;
    out.ready = phase.empty() || phase == R"("ready")";
    // Any change is progress; what it means is the helper's affair. Never 0, which is "nothing said yet".
    out.progress = (std::hash<std::string_view>{}(phase) * 31 + std::hash<std::string_view>{}(progress)) | 1;
    return out;
}

} // namespace

void Helper::receive(std::string_view bytes) {
    if (!peer_)
        return;
    const std::uint64_t before = peer_->counters().messages;
    peer_->receive(bytes, now_moment());
    // Whatever it says, it is not wedged.
    if (machine_.health_misses > 0 && peer_->counters().messages != before)
        apply(core::Event::of(EventKind::answered, machine_.generation));
}

// It asked us something and waits for the answer, perhaps with its only thread: as long as that is being
// served, its silence is ours, and its start does not stand still by its own fault.
void Helper::be_patient_with_who_waits_for_us(base::Moment now) {
    const bool stalls = machine_.due[static_cast<std::size_t>(core::Timer::stall)] <= now;
    if (stalls && peer_ && peer_->serving() > 0)
        apply(core::Event::of_progress(machine_.generation, ++patience_words_ * 2));
}

void Helper::ask_health(base::Moment now) {
    const bool starting =
        (machine_.phase == HelperPhase::starting || machine_.phase == HelperPhase::starting_unheld) &&
        spec_.ready_by == ReadyBy::health;
    health_due_ = base::never;
    if (health_call_ != 0 || !peer_ || !output_open_ || (!starting && !usable()))
        return;
    auto asked =
        peer_->call(0, spec_.health.method, spec_.health.params, base::after(now, spec_.health.within), 0);
    if (asked)
        health_call_ = *asked;
    else // no room for it is no sign of illness
        health_due_ = base::after(now, spec_.health.every);
}

void Helper::hear_health(const rpc::Answer& answer) {
    health_call_ = 0;
    const base::Moment now = now_moment();
    const bool starting =
        machine_.phase == HelperPhase::starting || machine_.phase == HelperPhase::starting_unheld;
    if (answer.kind == rpc::Answer::Kind::failed) {
        if (answer.failure.code == Errc::closed)
            return;        // the transport is gone, and that is heard of elsewhere
        health_due_ = now; // asked again at once: a miss has taken its time already
        const bool waits_for_us = peer_ && peer_->serving() > 0;
        if (!starting && !waits_for_us)
            apply(core::Event::of(EventKind::health_missed, machine_.generation));
        return;
    }
    if (!starting) {
        health_due_ = base::after(now, spec_.health.every);
        return;
    }
    // An error is an answer, but says nothing of readiness.
    const HealthWords words = answer.kind == rpc::Answer::Kind::result
                                  ? read_health(answer.json)
                                  : HealthWords{false, machine_.progress, progress_words_};
    if (words.ready) {
        apply(core::Event::of(EventKind::ready, machine_.generation));
        return;
    }
    health_due_ = base::after(now, spec_.health.while_starting);
    progress_words_ = words.words.substr(0, 200);
    apply(core::Event::of_progress(machine_.generation, words.progress));
}

} // namespace holdfast::supervise
