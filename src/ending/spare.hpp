// Daemons that a helper may leave behind on purpose (gpg-agent, adb): named by the user, never guessed.
#pragma once

#include "holdfast/result.hpp"

#include <regex.h>

#include <memory>
#include <string>
#include <vector>

namespace holdfast::ending {

class SpareList {
public:
    // Extended regular expressions, matched against the whole command line.
    static Result<SpareList> compile(const std::vector<std::string>& patterns);
    [[nodiscard]] bool matches(const std::string& command_line) const;
    [[nodiscard]] bool empty() const noexcept { return compiled_.empty(); }

private:
    struct Free {
        void operator()(regex_t* expression) const;
    };
    std::vector<std::unique_ptr<regex_t, Free>> compiled_;
};

} // namespace holdfast::ending
