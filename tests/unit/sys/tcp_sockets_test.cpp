#include "sys/tcp_sockets.hpp"

#include "sys/fd.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

namespace holdfast::sys {

namespace {

TEST(QuietTcp, AreConnectionsWithEmptyQueues) {
    const std::string_view text =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
        "   0: 0100007F:20B9 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 11 1 0\n"
        "   1: 0100007F:9C40 5DB8D822:01BB 01 00000000:00000000 02:0000029C 00000000  1000        0 12 2 0\n"
        "   2: 0100007F:9C41 5DB8D822:01BB 01 00000000:00000005 02:0000029C 00000000  1000        0 13 2 0\n"
        "   3: 0100007F:9C42 5DB8D822:01BB 08 00000000:00000000 00:00000000 00000000  1000        0 14 2 0\n"
        "   4: 0100007F:9C43 5DB8D822:01BB 06 00000000:00000000 03:00000F00 00000000     0        0 0 3 0\n"
        "   5: torn";
    std::unordered_set<std::uint64_t> inodes;
    add_quiet_tcp(text, inodes);
    EXPECT_EQ(inodes, (std::unordered_set<std::uint64_t>{12, 14}));
}

std::uint64_t inode_of(const Fd& socket) {
    struct stat info{};
    EXPECT_EQ(::fstat(socket.get(), &info), 0);
    return info.st_ino;
}

TEST(QuietTcp, AreSeenInTheKernelsList) {
    const Fd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &length), 0);
    const Fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    ASSERT_EQ(::connect(client.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    const Fd server(::accept(listener.get(), nullptr, nullptr));
    auto quiet = quiet_tcp_connections();
    EXPECT_TRUE(quiet.contains(inode_of(client)));
    EXPECT_TRUE(quiet.contains(inode_of(server)));
    EXPECT_FALSE(quiet.contains(inode_of(listener)));
    ASSERT_EQ(::send(client.get(), "x", 1, 0), 1);
    quiet = quiet_tcp_connections();
    EXPECT_FALSE(quiet.contains(inode_of(server))) << "something waits to be read";
}

} // namespace

} // namespace holdfast::sys
