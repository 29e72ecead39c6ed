// The methods of a server, as a table: a row is a name, what the dispatcher has to know, and whatever the
// server adds (its handler).
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>

namespace holdfast::rpc {

struct Method {
    std::string_view name;
    bool cancellable = false;            // by the client, where the dialect has a way to say so
    std::chrono::milliseconds within{0}; // after that it is answered with an error; 0: never
};

// Rows are sorted by name, which is checked when the program is compiled.
template <class Row, std::size_t Count>
class MethodTable {
public:
    consteval MethodTable(const std::array<Row, Count>& rows) // NOLINT(google-explicit-constructor)
        : rows_(rows) {
        for (std::size_t at = 1; at < Count; ++at)
            if (!(rows[at - 1].name < rows[at].name))
                throw "the rows of a method table are sorted by name, and no name stands twice";
    }
    [[nodiscard]] const Row* find(std::string_view name) const noexcept {
        const auto found = std::ranges::lower_bound(rows_, name, {}, &Row::name);
        return found != rows_.end() && found->name == name ? &*found : nullptr;
    }
    [[nodiscard]] const std::array<Row, Count>& rows() const noexcept { return rows_; }

private:
    std::array<Row, Count> rows_;
};

} // namespace holdfast::rpc
