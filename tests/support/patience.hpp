// How long a test waits for what must come. A busy machine is not a failure, so a test must not depend on
// speed: it states the time that is ample on a quiet machine, and the wait lasts ten times as long, under a
// sanitizer forty times. A wait ends as soon as the event comes; only a failing test takes the whole time.
// Waits for what must *not* come, and times that are the subject of a test, stay as they are stated.
#pragma once

#include <chrono>

namespace holdfast::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int stretch = 40;
#else
inline constexpr int stretch = 10;
#endif

// For waits that a test hands to the product or to the standard library: call->wait(patient(5s)).
template <class Rep, class Period>
constexpr std::chrono::duration<Rep, Period> patient(std::chrono::duration<Rep, Period> ample) {
    return ample * stretch;
}

} // namespace holdfast::test
