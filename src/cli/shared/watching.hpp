// --watch: show, wait for something to change, show again.
#pragma once

#include <functional>
#include <string>

namespace holdfast::cli {

// Draws `frame()` again whenever the directory changes, and at least every `second` where `always` is set,
// until interrupted. On a terminal each frame replaces the last; elsewhere they follow each other. Returns
// the exit code.
int watch(const std::string& directory, bool always, const std::function<std::string()>& frame);

} // namespace holdfast::cli
