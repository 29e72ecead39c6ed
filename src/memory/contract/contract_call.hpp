// One call of the contract in flight: its parameters, checked as they are read, and its single answer.
#pragma once

#include "memory/contract/contract.hpp"
#include "memory/text/cleaner.hpp"
#include "memory/transfer/values_json.hpp"
#include "rpc/params.hpp"
#include "rpc/responder.hpp"

#include <optional>

namespace holdfast::memory {

inline constexpr std::int64_t latest_time =
    9'000'000'000'000'000; // of what a client may say, in milliseconds

class Contract::Call {
public:
    // Dropped without an answer, it is answered as an internal error.
    Call(Contract& contract, std::shared_ptr<Peer> peer, rpc::Responder responder, json::object params)
        : contract_(contract)
        , peer_(std::move(peer))
        , responder_(std::move(responder))
        , params_(std::move(params)) {}

    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    void answer(json::value result) { responder_.result(std::move(result)); }
    void refuse(json::object error) { responder_.error(std::move(error)); }
    void refuse(const Error& error) { refuse(contract_error(error)); }
    void refuse_argument(std::string_view message);
    void refuse_missing(std::string_view code, std::string_view message); // session_not_found and its like

    // Each reads one parameter. A wrong type, or a required one that is not there, answers the call with
    // invalid_argument and makes bad() true; the value is then empty.
    std::string text(std::string_view name, bool required);
    // Like text, but an empty string counts as missing: for ids and names.
    std::string word(std::string_view name, bool required);
    std::optional<std::int64_t> integer(std::string_view name, bool required, std::int64_t least,
                                        std::int64_t most);
    std::optional<double> number(std::string_view name, double least, double most);
    bool flag(std::string_view name);
    // "namespace" as it is stored and compared: members by name, so that their order does not tell two apart.
    std::string name_space();
    std::string one_of(std::string_view name, std::initializer_list<std::string_view> words);
    [[nodiscard]] const json::object& params() const noexcept { return params_.values(); }
    [[nodiscard]] bool bad() const noexcept { return responder_.over(); }

    [[nodiscard]] Contract& contract() const noexcept { return contract_; }
    [[nodiscard]] Service& service() const noexcept { return contract_.service_; }
    [[nodiscard]] const std::shared_ptr<Peer>& peer() const noexcept { return peer_; }
    // For whom the client speaks where it does not say so.
    [[nodiscard]] std::string agent() const;
    // What is stored of a call goes through this, except ids and names: they must stay what they are.
    [[nodiscard]] Cleaner cleaner() const { return Cleaner(service().config().redact); }
    [[nodiscard]] std::string clean(std::string text) const { return cleaner().text(std::move(text)); }
    // Any JSON as it is stored, without secrets; empty when absent or null. The second one only takes a list.
    std::string clean_json(std::string_view name);
    std::string clean_list(std::string_view name, bool required);

private:
    // Refuses when what was just read is wrong.
    template <class Value>
    Value checked(Value value) {
        if (!params_.complaint().empty() && !bad())
            refuse_argument(params_.complaint());
        return value;
    }

    Contract& contract_;
    std::shared_ptr<Peer> peer_;
    rpc::Responder responder_;
    rpc::Params params_;
};

using CallPointer = std::shared_ptr<Contract::Call>;

// What was recalled, as the contract shows it.
json::object to_json(const Recalled& recalled);

// Asks the host's model for a summary of a closed episode, when the home is configured so. Nothing waits for
// it.
void summarize(const CallPointer& call, const std::string& episode_id);

// The groups of methods, each in a file of its own.
void core_health(const CallPointer& call);
void core_init(const CallPointer& call);
void core_shutdown(const CallPointer& call);
void session_open(const CallPointer& call);
void session_close(const CallPointer& call);
void episode_open(const CallPointer& call);
void episode_close(const CallPointer& call);
void turn_start(const CallPointer& call);
void turn_end(const CallPointer& call);
void subagent_record(const CallPointer& call);
void feedback_submit(const CallPointer& call);
void memory_search(const CallPointer& call);
void memory_get_trace(const CallPointer& call);
void memory_get_policy(const CallPointer& call);
void memory_get_world(const CallPointer& call);
void memory_timeline(const CallPointer& call);
void memory_list_world_models(const CallPointer& call);
void memory_list_policies(const CallPointer& call);
void memory_list_episodes(const CallPointer& call);
void memory_list_traces(const CallPointer& call);
void memory_forget(const CallPointer& call);
void skill_list(const CallPointer& call);
void skill_get(const CallPointer& call);
void object_add(const CallPointer& call, ObjectKind kind);
void object_archive(const CallPointer& call, ObjectKind kind);
void events_subscribe(const CallPointer& call);
void events_unsubscribe(const CallPointer& call);
void logs_tail(const CallPointer& call);
void viewer_link(const CallPointer& call);
void viewer_link_state(const CallPointer& call);

} // namespace holdfast::memory
