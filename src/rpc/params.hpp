// Reading the parameters of a request, with the first complaint kept: a wrong type, or a required one that is
// not there.
#pragma once

#include "json/json.hpp"

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::rpc {

class Params {
public:
    explicit Params(json::object values)
        : values_(std::move(values)) {}

    // The first thing that is wrong, in words for the client; empty: nothing so far.
    [[nodiscard]] const std::string& complaint() const noexcept { return complaint_; }
    void complain(std::string what);

    // Each reads one parameter; null is the same as absence. After a complaint the value is empty.
    std::string text(std::string_view name, bool required);
    // Like text, but an empty string counts as missing: for ids and names.
    std::string word(std::string_view name, bool required);
    std::optional<std::int64_t> integer(std::string_view name, bool required, std::int64_t least,
                                        std::int64_t most);
    std::optional<double> number(std::string_view name, double least, double most);
    bool flag(std::string_view name);
    std::string one_of(std::string_view name, std::initializer_list<std::string_view> words);
    // Whether there is a list of that name.
    bool list(std::string_view name, bool required);

    // Null when it is absent or null.
    [[nodiscard]] const json::value* find(std::string_view name) const;
    [[nodiscard]] json::value* find(std::string_view name);
    [[nodiscard]] const json::object& values() const noexcept { return values_; }

private:
    json::object values_;
    std::string complaint_;
};

} // namespace holdfast::rpc
