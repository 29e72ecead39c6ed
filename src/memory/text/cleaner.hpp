// Secrets out of everything that is to be stored, text or JSON, when the home is configured so.
#pragma once

#include "json/json.hpp"

#include <string>
#include <string_view>

namespace holdfast::memory {

class Cleaner {
public:
    explicit Cleaner(bool on)
        : on_(on) {}

    [[nodiscard]] std::string text(std::string text) const;
    // The value as JSON text, which it stays whatever is taken out: strings are cleaned one by one, as they
    // are and not as JSON writes them. A string under a name such as "password" is judged by that name. What
    // a name itself gives away goes as well.
    [[nodiscard]] std::string json(json::value value) const;

private:
    bool on_;
};

} // namespace holdfast::memory
