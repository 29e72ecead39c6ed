// What a tree uses, by watching: the fallback where no cgroup counts it.
#pragma once

#include "keep/tree.hpp"

#include <cstdint>

namespace holdfast::keep {

struct Usage {
    std::uint64_t rss_bytes = 0;
    std::uint64_t io_bytes = 0; // read and written through any descriptor, pipes included
};
Usage measure_usage(const Tree& tree);

} // namespace holdfast::keep
