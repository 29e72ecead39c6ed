#include "memory/serve/home_slot.hpp"

#include "base/text.hpp"
#include "memory/serve/start_report.hpp"

namespace holdfast::memory {

using base::cat;

HomeSlot::HomeSlot(std::string home, std::vector<std::string> argv, int cancel_fd)
    : home_(std::move(home))
    , argv_(std::move(argv))
    , cancel_fd_(cancel_fd) {}

Result<bool> HomeSlot::try_take() {
    AcquireOptions options;
    options.argv = argv_;
    options.cancel_fd = cancel_fd_;
    auto got = acquire({home_, home_slot_name}, options);
    if (!got && got.error().code == Errc::held)
        return false;
    if (!got)
        return std::unexpected(std::move(got.error()));
    const std::lock_guard lock(mutex_);
    ownership_ = std::move(got->ownership);
    owned_ = true;
    return true;
}

Result<std::int64_t> HomeSlot::take(const OnProgress& progress) {
    if (!owned()) {
        progress({Phase::opening, 0, 0, "waiting for the home: another process owns it"});
        AcquireOptions options;
        options.argv = argv_;
        options.cancel_fd = cancel_fd_;
        options.if_held = IfHeld::wait;
        auto got = acquire({home_, home_slot_name}, options);
        if (!got)
            return std::unexpected(std::move(got.error()));
        const std::lock_guard lock(mutex_);
        ownership_ = std::move(got->ownership);
        owned_ = true;
    }
    const std::lock_guard lock(mutex_);
    return static_cast<std::int64_t>(ownership_->epoch());
}

bool HomeSlot::still_mine() {
    const std::lock_guard lock(mutex_);
    return !ownership_ || ownership_->still_mine().has_value();
}

void HomeSlot::tell(const Progress& progress) {
    const std::lock_guard lock(mutex_);
    if (!ownership_)
        return;
    if (progress.phase == Phase::ready) {
        (void)ownership_->set_status(sentence(progress)); // not what the last step of the start said
        (void)ownership_->ready();
    } else if (progress.total > 0) {
        (void)ownership_->report_progress(progress.done, progress.total, sentence(progress));
    } else { // a step forward, although the phase has no numbers of its own
        (void)ownership_->report_progress(++steps_, 0, sentence(progress));
    }
}

void HomeSlot::set_address(const std::string& address) {
    const std::lock_guard lock(mutex_);
    if (ownership_)
        (void)ownership_->set_address(address);
}

void HomeSlot::draining() {
    const std::lock_guard lock(mutex_);
    if (ownership_)
        (void)ownership_->draining();
}

void HomeSlot::release() {
    const std::lock_guard lock(mutex_);
    owned_ = false;
    ownership_.reset();
}

} // namespace holdfast::memory
