// The secret that opens a home's pages.
#pragma once

#include "holdfast/result.hpp"

#include <string>
#include <string_view>

namespace holdfast::memory {

// What `home`/viewer.token says; made (0600, 160 random bits) when there is none, or when it is not one of
// ours.
Result<std::string> viewer_token(const std::string& home);

// The same for every wrong text of the right length: the time it takes tells nothing.
bool same_secret(std::string_view given, std::string_view secret) noexcept;

// Random letters and digits.
std::string random_word(std::size_t length);

} // namespace holdfast::memory
