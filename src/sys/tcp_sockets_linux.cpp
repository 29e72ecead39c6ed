#include "sys/tcp_sockets.hpp"

#include "sys/proc.hpp"

#include <array>
#include <charconv>
#include <cstddef>

namespace holdfast::sys {

namespace {

constexpr std::size_t most_text = std::size_t{64} << 20;

// The columns of a line: number, local address, remote address, state, queues, timer, retransmits, uid,
// timeouts, inode.
constexpr std::size_t state_column = 3;
constexpr std::size_t queues_column = 4;
constexpr std::size_t inode_column = 9;

std::array<std::string_view, inode_column + 1> columns_of(std::string_view line) {
    std::array<std::string_view, inode_column + 1> out;
    for (auto& column : out) {
        line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
        column = line.substr(0, line.find(' '));
        line.remove_prefix(column.size());
    }
    return out;
}

} // namespace

void add_quiet_tcp(std::string_view text, std::unordered_set<std::uint64_t>& inodes) {
    while (!text.empty()) {
        const auto end = std::min(text.find('\n'), text.size());
        const auto columns = columns_of(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
        const bool connected =
            columns[state_column] == "01" || columns[state_column] == "08"; // or CLOSE_WAIT
        if (!connected || columns[queues_column] != "00000000:00000000")
            continue;
        std::uint64_t inode = 0;
        const auto number = columns[inode_column];
        std::from_chars(number.data(), number.data() + number.size(), inode);
        if (inode != 0)
            inodes.insert(inode);
    }
}

std::unordered_set<std::uint64_t> quiet_tcp_connections() {
    std::unordered_set<std::uint64_t> out;
    for (const char* file : {"/proc/self/net/tcp", "/proc/self/net/tcp6"})
        if (const auto text = read_small_file(file, most_text))
            add_quiet_tcp(*text, out);
    return out;
}

} // namespace holdfast::sys
