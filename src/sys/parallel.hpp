// Thousands of small files to ask the kernel about: spread over the processors, since each answer takes it
// microseconds that nobody else waits for.
#pragma once

#include <cstddef>
#include <functional>

namespace holdfast::sys {

// Calls part(first, last) for ranges that together are 0..n, at the same time on different threads, and
// returns when all are done. `part` must not throw. Below `worth_it` there is one call, on this thread. The
// threads hear no signals: those stay with the host's own.
void in_parallel(std::size_t n, std::size_t worth_it,
                 const std::function<void(std::size_t first, std::size_t last)>& part);

} // namespace holdfast::sys
