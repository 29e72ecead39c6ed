#include "sys/parallel.hpp"

#include "sys/signal_mask.hpp"

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>

namespace holdfast::sys {

void in_parallel(std::size_t n, std::size_t worth_it,
                 const std::function<void(std::size_t first, std::size_t last)>& part) {
    constexpr std::size_t most = 4; // beyond that they wait for each other inside the kernel
    const std::size_t threads =
        n < worth_it ? 1 : std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, most);
    const std::size_t share = (n + threads - 1) / threads;
    std::size_t given = 0;
    std::vector<std::jthread> others;
    if (threads > 1) {
        others.reserve(threads - 1);
        const SignalsBlocked quiet;
        try {
            for (; others.size() + 1 < threads && given + share < n; given += share)
                others.emplace_back([&part, given, share] { part(given, given + share); });
        } catch (const std::system_error&) {
            // No thread to be had: what is left is done here.
        }
    }
    part(given, n);
}

} // namespace holdfast::sys
