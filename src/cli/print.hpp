// Words out: stdout for what was asked for, stderr for everything else. No streams.
#pragma once

#include "holdfast/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// False when the reader of our output has gone (a closed pipe): then it is time to stop.
bool print(std::string_view text);
void complain(std::string_view text); // "holdfast: text" on stderr
int fail_with(const Error& error);    // complains, and gives the exit code

bool stdout_is_terminal();

// Columns as wide as their widest cell; the last one is cut to the terminal's width.
class Table {
public:
    explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
    void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
    [[nodiscard]] bool empty() const { return rows_.size() == 1; }
    [[nodiscard]] std::string text() const;

private:
    std::vector<std::vector<std::string>> rows_;
};

// Characters a terminal shows, for UTF-8 text without combining marks.
std::size_t shown_width(std::string_view text);

} // namespace holdfast::cli
