// Words out: stdout for what was asked for, stderr for everything else. No streams.
#pragma once

#include "holdfast/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace holdfast::cli {

// Text of any origin, for people: nothing in it steers the reader's terminal (base/printable). JSON goes
// through base::printable_json first, so that nothing is lost. False, with errno, when the reader of our
// output has gone (a closed pipe): then it is time to stop.
bool print(std::string_view text);
// Bytes as they are: what we wrote ourselves for a terminal, and what goes into a pipe.
bool print_bytes(std::string_view bytes);
// Prints what a command was asked for, as its last deed: `code`, or a complaint and 73 when it could not be
// written. A reader that has gone had all it wanted.
int answer(std::string_view text, int code = 0);
int answer_json(std::string_view json, int code = 0); // and a line end
int answer_bytes(std::string_view bytes, int code = 0);
// Text of any origin on one line; a line end in it becomes a blank.
std::string in_one_line(std::string text);
// "holdfast: text" on stderr, on one line: no foreign text in it can pass for a line of ours.
void complain(std::string_view text);
int fail_with(const Error& error); // complains, and gives the exit code

bool stdout_is_terminal();

// Columns as wide as their widest cell; the last one is cut to the terminal's width.
class Table {
public:
    explicit Table(std::vector<std::string> header) { rows_.push_back(std::move(header)); }
    void add(std::vector<std::string> row); // cells of any origin: what would steer a terminal is masked
    [[nodiscard]] bool empty() const { return rows_.size() == 1; }
    [[nodiscard]] std::string text() const;

private:
    std::vector<std::vector<std::string>> rows_;
};

} // namespace holdfast::cli
