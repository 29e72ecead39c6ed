// Random numbers from the kernel: what nobody can guess, and nobody had before.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace holdfast::sys {

void fill_random(std::span<std::byte> out) noexcept;
std::string random_token(); // 32 hex digits

} // namespace holdfast::sys
