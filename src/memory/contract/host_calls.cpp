#include "memory/contract/host_calls.hpp"

#include "base/text.hpp"
#include "memory/ids/ids.hpp"
#include "rpc/message.hpp"
#include "json/json_write.hpp"

#include <utility>
#include <vector>

namespace holdfast::memory {

using base::cat;

namespace {

std::unexpected<Error> late(std::int64_t timeout_ms) {
    return fail(Errc::timed_out, cat("no answer within ", timeout_ms, " ms"));
}

Result<json::object> outcome_of(const json::object& answer) {
    if (const auto* result = answer.if_contains("result"); result != nullptr && result->is_object())
        return result->get_object();
    const auto* error = answer.if_contains("error");
    const auto* told = error != nullptr ? error->if_object() : nullptr;
    if (told == nullptr)
        return fail(Errc::protocol, "the host's answer has no result");
    const auto* code = told->if_contains("code");
    if (code != nullptr && code->is_int64() && code->get_int64() == rpc::method_not_found)
        return fail(Errc::unsupported, "the host does not offer this");
    const auto* message = told->if_contains("message");
    return fail(Errc::protocol,
                message != nullptr && message->is_string()
                    ? cat("the host says: ", std::string_view(message->get_string()).substr(0, 500))
                    : "the host gave an error");
}

} // namespace

// Numbers begin anew with each owner, at another place: an answer that a client owes to a dead owner must not
// be taken for one to us.
HostCalls::HostCalls()
    : next_(now_ms() % 1'000'000'000'000 * 1000) {}

std::vector<HostCalls::Asked> HostCalls::pick(const std::function<bool(const Asked&)>& match) {
    std::vector<Asked> picked;
    const std::lock_guard lock(mutex_);
    for (auto asked = asked_.begin(); asked != asked_.end();) {
        if (!match(asked->second)) {
            ++asked;
            continue;
        }
        picked.push_back(std::move(asked->second));
        asked = asked_.erase(asked);
    }
    return picked;
}

void HostCalls::drop_late() {
    const auto now = monotonic_ms();
    for (auto& asked : pick([now](const Asked& one) { return one.deadline_ms <= now; }))
        asked.done(late(asked.timeout_ms));
}

void HostCalls::forget(const Peer* peer) {
    for (auto& asked : pick([peer](const Asked& one) { return one.peer == peer; }))
        asked.done(fail(Errc::closed, "the host is gone"));
}

void HostCalls::ask(const std::shared_ptr<Peer>& peer, std::string_view method, json::object params,
                    std::int64_t timeout_ms, Done done) {
    drop_late();
    std::string id;
    {
        const std::lock_guard lock(mutex_);
        if (asked_.size() < most_asked) {
            id = cat("srv-", ++next_);
            asked_.emplace(
                id, Asked{peer.get(), monotonic_ms() + timeout_ms, timeout_ms, std::exchange(done, {})});
        }
    }
    if (done)
        return done(fail(Errc::overflow, cat(most_asked, " requests to hosts are unanswered")));
    peer->send(rpc::write_request(cat('"', id, '"'), method, json::to_text(params)));
}

bool HostCalls::take(const rpc::Connection* peer, const json::object& answer) {
    const auto* id = answer.if_contains("id");
    if (id == nullptr || !id->is_string())
        return false;
    AskedById::node_type found;
    {
        const std::lock_guard lock(mutex_);
        const auto asked = asked_.find(std::string_view(id->get_string()));
        if (asked == asked_.end() || asked->second.peer != peer)
            return false;
        found = asked_.extract(asked);
    }
    auto& asked = found.mapped();
    if (asked.deadline_ms <= monotonic_ms())
        asked.done(late(asked.timeout_ms));
    else
        asked.done(outcome_of(answer));
    return true;
}

} // namespace holdfast::memory
