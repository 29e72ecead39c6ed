// A database that is corrupt, kept beside the one that was begun in its place: `<path>.corrupt-<time>`.
#pragma once

#include "holdfast/result.hpp"

#include <string>

namespace holdfast::memory {

// Renames it, with its log. Where it is now.
Result<std::string> put_aside(const std::string& path);

// The newest of those that lie there; empty: none. As long as it is there, somebody may still want to know.
std::string kept_aside(const std::string& path);

} // namespace holdfast::memory
