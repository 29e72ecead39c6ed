#include "memory/contract/host_model.hpp"

#include "core/text.hpp"
#include "memory/store/ids.hpp"
#include "memory/text/letters.hpp"

namespace holdfast::memory {

using core::cat;
namespace json = boost::json;

namespace {

constexpr std::size_t most_text = std::size_t{64} << 10;
constexpr std::size_t most_model_name = 200;

} // namespace

// Numbers begin anew with each owner, at another place: an answer that a client owes to a dead owner must not
// be taken for one to us.
HostModel::HostModel(bool on, std::int64_t timeout_ms)
    : on_(on)
    , timeout_ms_(timeout_ms)
    , next_(now_ms() % 1'000'000'000'000 * 1000) {}

void HostModel::drop_late(std::int64_t now) {
    for (auto asked = asked_.begin(); asked != asked_.end();) {
        if (asked->second.deadline_ms > now) {
            ++asked;
            continue;
        }
        last_error_ = cat("no answer within ", timeout_ms_, " ms");
        asked = asked_.erase(asked);
    }
}

void HostModel::ask(const std::shared_ptr<Peer>& peer, json::array messages, std::int64_t max_tokens,
                    Done done) {
    if (!on_)
        return;
    std::string id;
    {
        const std::lock_guard lock(mutex_);
        drop_late(monotonic_ms());
        if (asked_.size() >= most_asked)
            return; // a host that never answers is not asked for ever
        id = cat("srv-", ++next_);
        asked_.emplace(id, Asked{peer.get(), monotonic_ms() + timeout_ms_, std::move(done)});
    }
    peer->send(json::serialize(json::object{{"jsonrpc", "2.0"},
                                            {"id", id},
                                            {"method", "host.llm.complete"},
                                            {"params",
                                             {{"messages", std::move(messages)},
                                              {"temperature", 0},
                                              {"maxTokens", max_tokens},
                                              {"timeoutMs", timeout_ms_}}}}));
}

bool HostModel::take(const Peer* peer, const json::object& answer) {
    const auto* id = answer.if_contains("id");
    if (id == nullptr || !id->is_string())
        return false;
    Done done;
    std::string text;
    {
        const std::lock_guard lock(mutex_);
        const auto asked = asked_.find(std::string_view(id->get_string()));
        if (asked == asked_.end() || asked->second.peer != peer)
            return false;
        const bool late = asked->second.deadline_ms <= monotonic_ms();
        done = std::move(asked->second.done);
        asked_.erase(asked);
        const auto* result = answer.if_contains("result");
        const auto* given =
            result != nullptr && result->is_object() ? result->get_object().if_contains("text") : nullptr;
        if (late || given == nullptr || !given->is_string() || given->get_string().empty()) {
            last_error_ = late ? cat("no answer within ", timeout_ms_, " ms") : "the host gave no text";
            return true;
        }
        // More than anybody uses of it is not carried any further: other clients wait for this thread.
        text = cut_at_character(std::string_view(given->get_string()), most_text);
        if (const auto* model = result->get_object().if_contains("model");
            model != nullptr && model->is_string())
            model_ = cut_at_character(std::string_view(model->get_string()), most_model_name);
        last_ok_ = now_ms();
        last_error_.clear();
    }
    done(std::move(text));
    return true;
}

void HostModel::forget(const Peer* peer) {
    const std::lock_guard lock(mutex_);
    std::erase_if(asked_, [&](const auto& asked) { return asked.second.peer == peer; });
}

json::object HostModel::health() {
    const std::lock_guard lock(mutex_);
    drop_late(monotonic_ms());
    return {{"available", on_ && last_ok_ != 0 && last_error_.empty()},
            {"provider", on_ ? "host" : ""},
            {"model", model_},
            {"lastOkAt", last_ok_ != 0 ? json::value(last_ok_) : json::value(nullptr)},
            {"lastError", last_error_.empty() ? json::value(nullptr) : json::value(last_error_)}};
}

} // namespace holdfast::memory
