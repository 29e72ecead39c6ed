// What the store keeps, as plain values (each member initialised, so that a designated initialiser may name a
// few). Ids are the opaque strings of the contract; `row` is the store's own number.
#pragma once

#include <cstdint>
#include <string>

namespace holdfast::memory {

struct Session {
    std::int64_t row = 0;
    std::string id = {};
    std::string agent = {};
    std::string name_space = {}; // JSON text or empty
    std::string meta = {};       // JSON text or empty
    std::int64_t opened_at = 0;
    std::int64_t closed_at = 0; // 0: open
};

struct Episode {
    std::int64_t row = 0;
    std::string id = {};
    std::int64_t session_row = 0;
    std::string session_id = {};
    std::int64_t opened_at = 0;
    std::int64_t closed_at = 0;
    std::string pending_user = {}; // what turn.start said, until its turn.end
    std::string turn_key = {};
    std::int64_t turns = 0;
    std::string meta = {}; // JSON text or empty
};

struct Trace {
    std::int64_t row = 0; // also its number in the ranked index; grows, never reused
    std::string id = {};
    std::int64_t session_row = 0;
    std::int64_t episode_row = 0;
    std::string session_id = {};
    std::string episode_id = {};
    std::int64_t ts = 0;
    std::string kind = {}; // turn, subagent or note
    std::string user_text = {};
    std::string agent_text = {};
    std::string thinking = {};
    std::string reflection = {};
    std::string summary = {};
    std::string tags = {};       // JSON list
    std::string tool_calls = {}; // JSON list
    std::string meta = {};       // JSON object or empty
    std::string turn_id = {};
    double value = 0;    // what feedback says of it, -1..1
    double priority = 0; // 0..1
};

struct Feedback {
    std::string id = {};
    std::string trace_id = {};   // may be empty
    std::string episode_id = {}; // may be empty
    std::string channel = {};    // explicit, implicit
    std::string polarity = {};   // positive, negative, neutral
    double magnitude = 0;
    std::string rationale = {};
    std::string raw = {}; // JSON text or empty
    std::int64_t ts = 0;
};

// Policies, world models and skills: one shape, three tables.
enum class ObjectKind { policy, world_model, skill };

struct StoredObject {
    std::int64_t row = 0;
    std::string id = {};
    ObjectKind kind = ObjectKind::policy;
    std::string title = {};
    std::string body = {};
    std::string status = {}; // candidate, active, archived
    std::string data = {};   // JSON object with whatever else came along, or empty
    std::int64_t created_at = 0;
    std::int64_t updated_at = 0;
    std::int64_t trials = 0;
};

// Totals that health shows. Kept with the data, so reading them never counts rows.
struct Totals {
    std::int64_t sessions = 0;
    std::int64_t episodes = 0;
    std::int64_t traces = 0;
    std::int64_t feedback = 0;
    std::int64_t objects = 0;
};

} // namespace holdfast::memory
