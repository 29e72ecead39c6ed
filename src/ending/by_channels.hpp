// Finds processes that inherited a channel (a pipe or a socket) as stdin or stdout.
#pragma once

#include "ending/finder.hpp"

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::ending {

// The kernel's names for the stdin and stdout of this process ("pipe:[123]"). Only channels are returned.
std::vector<std::string> stdio_channels(pid_t pid);

// Finds the processes of our user that started after this finder was made and have one of these dead channels
// as stdin or stdout: a member of a tree started them while it was ending, and left them to another parent.
class ChannelHeirs : public Finder {
public:
    explicit ChannelHeirs(std::vector<std::string> channels);
    // Each process is a root of its own: Found::of is its PID.
    void find(const Meet& meet) override;

private:
    std::vector<std::string> channels_;
    std::uint64_t since_; // in the unit of start ticks
};

} // namespace holdfast::ending
