#include "rpc/deadlines.hpp"

#include <algorithm>
#include <functional>

namespace holdfast::rpc {

void Deadlines::add(base::Moment due, std::uint64_t number) {
    if (due == base::never)
        return;
    live_.insert(number);
    heap_.emplace_back(due, number);
    std::push_heap(heap_.begin(), heap_.end(), std::greater<>{});
}

void Deadlines::forget(std::uint64_t number) {
    if (live_.erase(number) == 0)
        return;
    if (heap_.size() > 64 && heap_.size() > 2 * live_.size()) {
        std::erase_if(heap_, [this](const auto& entry) { return !live_.contains(entry.second); });
        std::make_heap(heap_.begin(), heap_.end(), std::greater<>{});
        if (heap_.capacity() > 4 * heap_.size() + 64)
            heap_.shrink_to_fit();
    }
}

void Deadlines::drop_finished() {
    while (!heap_.empty() && !live_.contains(heap_.front().second)) {
        std::pop_heap(heap_.begin(), heap_.end(), std::greater<>{});
        heap_.pop_back();
    }
}

base::Moment Deadlines::next() {
    drop_finished();
    return heap_.empty() ? base::never : heap_.front().first;
}

std::uint64_t Deadlines::take_due(base::Moment now) {
    if (next() > now)
        return 0;
    if (heap_.empty())
        return 0;
    const std::uint64_t number = heap_.front().second;
    live_.erase(number);
    drop_finished();
    return number;
}

void Deadlines::clear() {
    heap_.clear();
    live_.clear();
}

} // namespace holdfast::rpc
