// The facts of a helper as JSON: fields of a record.
#pragma once

#include "base/helper_facts.hpp"
#include "json/json_writer.hpp"

#include "json/json.hpp"

namespace holdfast::records {

void write_fields(json::JsonWriter& out, const base::HelperFacts& facts);
base::HelperFacts helper_facts_from(const boost::json::object& object);

void write_fields(json::JsonWriter& out, const base::Identity& identity);
base::Identity identity_from(const boost::json::object& object);

} // namespace holdfast::records
