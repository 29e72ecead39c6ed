// What a tree uses, by watching: the fallback where no cgroup counts it.
#pragma once

#include "ending/tree.hpp"

#include <cstdint>

namespace holdfast::keep {

struct Usage {
    std::uint64_t rss_bytes = 0;
    // Read and written through any descriptor, pipes included; but not what is sent and received on sockets,
    // which the kernel does not count here.
    std::uint64_t io_bytes = 0;
    std::uint64_t cpu_ns = 0; // only when asked for: it takes a look at every thread
};
Usage measure_usage(const ending::Tree& tree, bool with_cpu);

} // namespace holdfast::keep
