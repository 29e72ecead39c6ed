// The life of an owner as it tells it: starting, ready, draining.
#pragma once

#include "holdfast/values.hpp"

#include <optional>
#include <string_view>

namespace holdfast::base {

std::optional<Phase> phase_named(std::string_view name) noexcept;

} // namespace holdfast::base
