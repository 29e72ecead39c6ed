// What the kernel says about the other ends of pipes and sockets, with our own descriptors for a subject.
#include "sys/fd.hpp"
#include "sys/pipe_ends.hpp"
#include "sys/unix_sockets.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace holdfast::sys {
namespace {

struct Pipe {
    Fd in, out;
    Pipe() {
        int ends[2] = {-1, -1};
        EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
        in = Fd(ends[0]);
        out = Fd(ends[1]);
    }
};

std::uint64_t inode_of(const Fd& fd) {
    struct stat file{};
    EXPECT_EQ(::fstat(fd.get(), &file), 0);
    return file.st_ino;
}

TEST(PipeEnds, WritersAreCountedByTheKernel) {
    Pipe pipe;
    EXPECT_EQ(look_at_pipe_input(::getpid(), pipe.in.get()).writers, PipeEnd::held);
    pipe.out.reset();
    EXPECT_EQ(look_at_pipe_input(::getpid(), pipe.in.get()).writers, PipeEnd::gone);
}

TEST(PipeEnds, ReadersAreCountedByTheKernel) {
    Pipe pipe;
    EXPECT_EQ(look_at_pipe_output(::getpid(), pipe.out.get()), PipeEnd::held);
    pipe.in.reset();
    EXPECT_EQ(look_at_pipe_output(::getpid(), pipe.out.get()), PipeEnd::gone);
}

TEST(PipeEnds, LookingTakesNothingAndSeesWhatWaits) {
    Pipe pipe;
    ASSERT_EQ(::write(pipe.out.get(), "abc", 3), 3);
    pipe.out.reset();
    auto seen = look_at_pipe_input(::getpid(), pipe.in.get());
    EXPECT_EQ(seen.writers, PipeEnd::gone);
    EXPECT_TRUE(seen.unread);
    int waiting = 0;
    ASSERT_EQ(::ioctl(pipe.in.get(), FIONREAD, &waiting), 0);
    EXPECT_EQ(waiting, 3);
}

TEST(PipeEnds, ADescriptorThatIsNoPipeIsUnknown) {
    Fd null(::open("/dev/null", O_RDWR | O_CLOEXEC));
    EXPECT_EQ(look_at_pipe_input(::getpid(), null.get()).writers, PipeEnd::unknown);
    EXPECT_EQ(look_at_pipe_output(::getpid(), null.get()), PipeEnd::unknown);
    EXPECT_EQ(look_at_pipe_output(::getpid(), 9999), PipeEnd::unknown);
}

TEST(UnixSockets, AConnectionKnowsItsPeerAndItsEnd) {
    int both[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
    Fd left(both[0]), right(both[1]);
    auto before = list_unix_sockets();
    ASSERT_TRUE(before) << before.error().message;
    const UnixSocket& connected = before->at(inode_of(left));
    EXPECT_EQ(connected.peer, inode_of(right));
    EXPECT_FALSE(connected.peer_gone());

    ASSERT_EQ(::send(right.get(), "x", 1, 0), 1);
    ASSERT_EQ(::shutdown(right.get(), SHUT_WR), 0);
    auto half = list_unix_sockets();
    ASSERT_TRUE(half);
    EXPECT_FALSE(half->at(inode_of(left)).peer_gone()) << "half closed: the other side still reads";

    right.reset();
    auto after = list_unix_sockets();
    ASSERT_TRUE(after);
    EXPECT_TRUE(after->at(inode_of(left)).peer_gone());
    EXPECT_TRUE(after->at(inode_of(left)).unread);
}

TEST(UnixSockets, OneInFlightIsNotGone) {
    int carrier[2], both[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, carrier), 0);
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, both), 0);
    Fd one(carrier[0]), two(carrier[1]), left(both[0]), right(both[1]);
    char byte = 'x';
    iovec data{.iov_base = &byte, .iov_len = 1};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    msghdr message{};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof(int));
    *reinterpret_cast<int*>(CMSG_DATA(head)) = right.get();
    ASSERT_EQ(::sendmsg(one.get(), &message, 0), 1);
    right.reset(); // nobody has it open now; it waits in the carrier
    auto sockets = list_unix_sockets();
    ASSERT_TRUE(sockets);
    EXPECT_FALSE(sockets->at(inode_of(left)).peer_gone());
}

TEST(UnixSockets, AListenerIsADoor) {
    Fd door(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    ASSERT_EQ(::bind(door.get(), reinterpret_cast<sockaddr*>(&address), sizeof(sa_family_t)), 0);
    ASSERT_EQ(::listen(door.get(), 1), 0);
    auto sockets = list_unix_sockets();
    ASSERT_TRUE(sockets);
    EXPECT_TRUE(sockets->at(inode_of(door)).listening);
    EXPECT_TRUE(sockets->at(inode_of(door)).named);
}

} // namespace
} // namespace holdfast::sys
