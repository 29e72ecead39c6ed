// The TCP connections of our network namespace in which nothing is on its way.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_set>

namespace holdfast::sys {

// By inode. Connected or closed by the other side, not listening, with empty queues. Empty where the kernel
// does not tell.
std::unordered_set<std::uint64_t> quiet_tcp_connections();

// Adds those in the text of /proc/net/tcp or tcp6.
void add_quiet_tcp(std::string_view text, std::unordered_set<std::uint64_t>& inodes);

} // namespace holdfast::sys
