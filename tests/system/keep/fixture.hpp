// What the tests of `holdfast run` share: a home, a scene in it, and the registry's answers as text.
#pragma once

#include "keep/scene.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace holdfast::harness {

using Words = std::vector<std::string>;

inline Words operator+(Words left, const Words& right) {
    left.insert(left.end(), right.begin(), right.end());
    return left;
}

// A stop plan that is soon over.
inline const Words quickly{"--stop", "eof:50ms,term:50ms,kill"};
// The same for a helper that ends at TERM, where the test looks at that: a busy machine may not get so far in
// 50 ms.
inline const Words by_term{"--stop", "eof:50ms,term:1h,kill"};

class Keep : public testing::Test {
protected:
    // `holdfast words...` to its end; a failure to do so is the test's.
    Finished holdfast(Words words, std::chrono::seconds limit = patience) const {
        auto finished = home.run(std::move(words), Deadline::in(limit));
        EXPECT_TRUE(finished) << finished.error().message;
        return finished ? std::move(*finished) : Finished{};
    }
    // A script for /bin/sh, as the words after `--`. Its $1, $2, … are `arguments`.
    static Words sh(const std::string& script, const Words& arguments = {}) {
        return Words{"/bin/sh", "-c", script, "sh"} + arguments;
    }
    std::string ps() const { return holdfast({"ps", "--json"}).out; }
    std::string events() const { return holdfast({"events", "--json"}).out; }
    bool eventually_in_ps(const std::string& text) const {
        return eventually(Deadline::in(patience), [&] { return ps().find(text) != std::string::npos; });
    }
    void expect_nothing_left() const {
        const auto left = scene.survivors();
        EXPECT_TRUE(left.empty()) << to_string(left);
    }
    // The next line of the helper, whose stdout is the host's.
    std::string next_line() {
        const auto line = scene.host().out().read_line(Deadline::in(patience));
        EXPECT_TRUE(line) << line.error().message;
        return line.value_or("");
    }
    static std::size_t count(const std::string& text, const std::string& part) {
        std::size_t found = 0;
        for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1))
            ++found;
        return found;
    }
    static bool is_alive(pid_t pid) {
        const auto info = inspect(pid);
        return info && !info->dead();
    }

    HoldfastHome home;
    Scene scene{home};
};

} // namespace holdfast::harness
