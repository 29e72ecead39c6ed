// Health: a question that tells starting from ready, and slow from wedged.
#include "supervise/conversation.hpp"

#include "json/json_scan.hpp"

#include <functional>

namespace holdfast::supervise {

using core::HelperPhase;

namespace {

bool is_starting(HelperPhase phase) {
    return phase == HelperPhase::starting || phase == HelperPhase::starting_unheld;
}

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

void Conversation::ask_health(Turn& turn, base::Moment now) {
    const bool starting = is_starting(process_.machine(turn).phase) && spec_.ready_by == ReadyBy::health;
    health_due_ = base::never;
    if (health_call_ != 0 || !peer_ || output_ < 0 || (!starting && !process_.usable(turn)))
        return;
    auto asked =
        peer_->call(0, spec_.health.method, spec_.health.params, base::after(now, spec_.health.within), 0);
    if (asked)
        health_call_ = *asked;
    else // no room for it is no sign of illness
        health_due_ = base::after(now, spec_.health.every);
}

void Conversation::hear_health(Turn& turn, const rpc::Answer& answer) {
    health_call_ = 0;
    const base::Moment now = now_moment();
    const bool starting = is_starting(process_.machine(turn).phase);
    if (answer.kind == rpc::Answer::Kind::failed) {
        if (answer.failure.code == Errc::closed)
            return;        // the transport is gone, and that is heard of elsewhere
        health_due_ = now; // asked again at once: a miss has taken its time already
        if (!starting && !waits_for_us(turn))
            process_.health_missed(turn);
        return;
    }
    if (!starting) {
        health_due_ = base::after(now, spec_.health.every);
        return;
    }
    if (answer.kind != rpc::Answer::Kind::result) { // an answer, but it says nothing of readiness
        health_due_ = base::after(now, spec_.health.while_starting);
        return;
    }
    const HealthWords words = read_health(answer.json);
    if (words.ready) {
        process_.told_ready(turn);
        return;
    }
    health_due_ = base::after(now, spec_.health.while_starting);
    process_.told_progress(turn, words.progress, std::string(words.words.substr(0, 200)));
}

} // namespace holdfast::supervise
