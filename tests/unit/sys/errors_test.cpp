#include "sys/errors.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace holdfast::sys {
namespace {

TEST(ErrnoCodes, SayWhatACallerCanDo) {
    const std::pair<int, Errc> cases[] = {{EACCES, Errc::not_permitted},
                                          {EPERM, Errc::not_permitted},
                                          {EROFS, Errc::not_permitted},
                                          {ENOSPC, Errc::no_space},
                                          {EDQUOT, Errc::no_space},
                                          {EMFILE, Errc::no_space},
                                          {ENFILE, Errc::no_space},
                                          {ENOMEM, Errc::no_space},
                                          {ENOENT, Errc::not_found},
                                          {EINVAL, Errc::invalid_argument},
                                          {ENAMETOOLONG, Errc::invalid_argument},
                                          {ENOSYS, Errc::unsupported},
                                          {EIO, Errc::io},
                                          {ENOLCK, Errc::io}};
    for (auto [number, code] : cases)
        EXPECT_EQ(code_of_errno(number), code) << number;
}

TEST(ErrnoCodes, TheMessageNamesTheThing) {
    auto error = fail_sys("open /x/y.lock", EACCES);
    EXPECT_EQ(error.error().message, "open /x/y.lock: Permission denied");
    EXPECT_EQ(error.error().sys, EACCES);
}

} // namespace
} // namespace holdfast::sys
