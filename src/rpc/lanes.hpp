// Frames that wait to be written, one queue (lane) per hold, taken in turns so that a hold with a hundred
// thousand requests does not stand in front of one with a single one. Turns are counted in bytes: a lane that
// sent a large frame waits until the others have had as much.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

namespace holdfast::rpc {

using HoldTag = std::uint64_t; // a hold, as the engine knows it; 0 is nobody's

class Lanes {
public:
    struct Item {
        std::uint64_t call = 0; // 0: a notification
        std::string frame;
    };
    using Handle = std::list<Item>::iterator;

    Handle push(HoldTag hold, std::uint64_t call, std::string frame);
    void remove(HoldTag hold, Handle handle);
    // The frame whose turn it is.
    std::optional<Item> pop();
    void clear();

    [[nodiscard]] bool empty() const noexcept { return lanes_.empty(); }
    [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
    [[nodiscard]] std::size_t bytes_of(HoldTag hold) const;

private:
    struct Lane {
        std::list<Item> items;
        std::list<HoldTag>::iterator turn;
        std::size_t bytes = 0;
        std::int64_t credit = 0;
    };
    void retire(std::unordered_map<HoldTag, Lane>::iterator lane);

    std::unordered_map<HoldTag, Lane> lanes_; // only those with something to send
    std::list<HoldTag> turns_;                // the front is next
    std::size_t bytes_ = 0;
};

} // namespace holdfast::rpc
