#include "base/identity.hpp"

#include <gtest/gtest.h>

namespace holdfast::base {
namespace {

Identity somebody() {
    return {
        .boot_id = "boot", .pid_ns = 7, .pid = 4711, .start_ticks = 1234, .pidfd_inode = 99, .token = "t"};
}

TEST(SameProcess, TheTokenIsNotCompared) {
    Identity seen = somebody();
    seen.token.clear();
    EXPECT_TRUE(same_process(somebody(), seen));
}

// (pid, start time) collides under reuse: the inode tells the two apart.
TEST(SameProcess, TheInodeDecidesWherePairsCollide) {
    Identity recycled = somebody();
    recycled.pidfd_inode = 100;
    EXPECT_FALSE(same_process(somebody(), recycled));
}

TEST(SameProcess, WithoutAnInodeTheRestMustAgree) {
    Identity old_kernel = somebody();
    old_kernel.pidfd_inode = 0;
    EXPECT_TRUE(same_process(somebody(), old_kernel));
    EXPECT_TRUE(same_process(old_kernel, somebody()));
    for (auto change : {+[](Identity& i) { i.boot_id = "other"; }, +[](Identity& i) { i.pid_ns = 8; },
                        +[](Identity& i) { i.pid = 4712; }, +[](Identity& i) { i.start_ticks = 1235; }}) {
        Identity other = old_kernel;
        change(other);
        EXPECT_FALSE(same_process(somebody(), other));
        EXPECT_FALSE(same_process(old_kernel, other));
        other.pidfd_inode = 99; // an equal inode of another boot or namespace is a coincidence
        EXPECT_FALSE(same_process(somebody(), other));
    }
}

} // namespace
} // namespace holdfast::base
