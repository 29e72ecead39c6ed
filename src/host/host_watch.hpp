// Whether whoever wants our work is still there, as something to poll while we wait for something else.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <chrono>

namespace holdfast::host {

class HostWatch {
public:
    // `host`: a pidfd whose end counts, `input`: a descriptor whose hang-up counts; -1 for neither. Both stay
    // the caller's, and open. What was written before a hang-up and nobody has read yet keeps the work wanted
    // for `patience`: it may be all there ever was to say (`echo job | …`).
    static Result<HostWatch> of(int host, int input, std::chrono::milliseconds patience);

    // Readable when gone() may have a new answer.
    [[nodiscard]] int fd() const noexcept { return events_.get(); }
    // Whether the host has ended, or its patience after closing the input is over. Takes no time.
    [[nodiscard]] bool gone();

private:
    HostWatch(sys::Fd events, int input, std::chrono::milliseconds patience) noexcept
        : events_(std::move(events))
        , input_(input)
        , patience_(patience) {}
    bool input_closed();

    sys::Fd events_; // epoll
    sys::Fd timer_;
    int input_;
    std::chrono::milliseconds patience_;
    bool gone_ = false;
};

} // namespace holdfast::host
