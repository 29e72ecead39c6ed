// A piece of a test in a process of its own, for what cannot be undone: another user, another namespace, a
// mount, a filter.
#pragma once

#include <functional>
#include <string>

namespace holdfast::slot_test {

struct Forked {
    std::string said; // what the body returned
    int status = 0;   // as waitpid gives it
};

// Runs `body` in a fork. Bounded by a minute, after which the kernel ends it.
Forked in_fork(const std::function<std::string()>& body);
// The same, as user 65534 when we are root.
Forked as_nobody(const std::function<std::string()>& body);
constexpr int nobody = 65534;

} // namespace holdfast::slot_test
