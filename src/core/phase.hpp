// The life of an owner as it tells it: starting, ready, draining.
#pragma once

#include "holdfast/slot.hpp"

#include <optional>
#include <string_view>

namespace holdfast::core {

std::optional<Phase> phase_named(std::string_view name) noexcept;

} // namespace holdfast::core
