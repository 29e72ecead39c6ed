#include "sys/free_numbers.hpp"

#include "base/text.hpp"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace holdfast::sys {

namespace {
constexpr int lowest = 10; // below are those that shells and scripts use
}

Result<int> free_numbers(int wished, int count) {
    rlimit limit{};
    int end = INT_MAX; // the first number that cannot be had
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < static_cast<rlim_t>(INT_MAX))
        end = static_cast<int>(limit.rlim_cur);
    int free = 0;
    for (int number = std::min(end, wished + count) - 1; number >= lowest; --number) {
        free = ::fcntl(number, F_GETFD) < 0 ? free + 1 : 0;
        if (free == count)
            return number;
    }
    return fail(Errc::cannot_start,
                base::cat("the limit of open files (ulimit -n) is ", end, ", which leaves no room for the ",
                          count, " that the command is to be given"),
                EMFILE);
}

} // namespace holdfast::sys
