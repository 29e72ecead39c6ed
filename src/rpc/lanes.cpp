#include "rpc/lanes.hpp"

#include <iterator>
#include <utility>

namespace holdfast::rpc {

namespace {
constexpr std::int64_t quantum = 16 << 10; // bytes a lane may send in its turn
}

Lanes::Handle Lanes::push(HoldTag hold, std::uint64_t call, std::string frame) {
    auto [at, is_new] = lanes_.try_emplace(hold);
    Lane& lane = at->second;
    if (is_new) {
        lane.turn = turns_.insert(turns_.end(), hold);
        lane.credit = quantum;
    }
    lane.bytes += frame.size();
    bytes_ += frame.size();
    lane.items.push_back({call, std::move(frame)});
    return std::prev(lane.items.end());
}

void Lanes::retire(std::unordered_map<HoldTag, Lane>::iterator lane) {
    turns_.erase(lane->second.turn);
    lanes_.erase(lane);
}

void Lanes::remove(HoldTag hold, Handle handle) {
    const auto at = lanes_.find(hold);
    if (at == lanes_.end())
        return;
    at->second.bytes -= handle->frame.size();
    bytes_ -= handle->frame.size();
    at->second.items.erase(handle);
    if (at->second.items.empty())
        retire(at);
}

std::optional<Lanes::Item> Lanes::pop() {
    if (turns_.empty())
        return std::nullopt;
    for (;;) {
        const auto at = lanes_.find(turns_.front());
        Lane& lane = at->second;
        if (lane.credit <= 0) { // its turn is over; it comes again behind the others
            lane.credit += quantum;
            turns_.splice(turns_.end(), turns_, lane.turn);
            continue;
        }
        Item item = std::move(lane.items.front());
        lane.items.pop_front();
        lane.credit -= static_cast<std::int64_t>(item.frame.size());
        lane.bytes -= item.frame.size();
        bytes_ -= item.frame.size();
        if (lane.items.empty())
            retire(at);
        return item;
    }
}

void Lanes::clear() {
    lanes_.clear();
    turns_.clear();
    bytes_ = 0;
}

std::size_t Lanes::bytes_of(HoldTag hold) const {
    const auto at = lanes_.find(hold);
    return at == lanes_.end() ? 0 : at->second.bytes;
}

} // namespace holdfast::rpc
