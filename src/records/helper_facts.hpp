// The facts of a helper as JSON: fields of a record.
#pragma once

#include "base/helper_facts.hpp"

#include "json/json.hpp"
#include "json/json_write.hpp"

namespace holdfast::records {

void write_fields(json::Writer& out, const base::HelperFacts& facts);
base::HelperFacts helper_facts_from(const json::object& object);

void write_fields(json::Writer& out, const base::Identity& identity);
base::Identity identity_from(const json::object& object);

} // namespace holdfast::records
