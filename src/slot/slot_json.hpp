// A slot as JSON: what `--json` prints, and what the C functions give.
#pragma once

#include "holdfast/values.hpp"
#include "json/json.hpp"

#include <vector>

namespace holdfast::slot {

json::object json_of(const SlotInfo& info);
json::array json_of(const std::vector<Leftover>& leftovers);

} // namespace holdfast::slot
