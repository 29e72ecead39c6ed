#include "memory/contract/host_model.hpp"

#include "base/utf8.hpp"
#include "memory/ids/ids.hpp"

namespace holdfast::memory {

namespace {

// More than anybody uses of it is not carried any further: other clients wait for the thread that reads it.
constexpr std::size_t most_text = std::size_t{64} << 10;
constexpr std::size_t most_model_name = 200;

} // namespace

HostModel::HostModel(HostCalls& calls, bool on, std::int64_t timeout_ms)
    : calls_(calls)
    , on_(on)
    , timeout_ms_(timeout_ms) {}

void HostModel::ask(const std::shared_ptr<Peer>& peer, json::array messages, std::int64_t max_tokens,
                    Done done) {
    if (!on_)
        return;
    calls_.ask(peer, "host.llm.complete",
               {{"messages", std::move(messages)},
                {"temperature", 0},
                {"maxTokens", max_tokens},
                {"timeoutMs", timeout_ms_}},
               timeout_ms_, [this, done = std::move(done)](Result<json::object> answer) mutable {
                   take(std::move(answer), done);
               });
}

void HostModel::take(Result<json::object> answer, Done& done) {
    const auto* text = answer ? answer->if_contains("text") : nullptr;
    const bool given = text != nullptr && text->is_string() && !text->get_string().empty();
    {
        const std::lock_guard lock(mutex_);
        last_error_ = given ? "" : answer ? "the host gave no text" : std::move(answer.error().message);
        if (given) {
            last_ok_ = now_ms();
            if (const auto* model = answer->if_contains("model"); model != nullptr && model->is_string())
                model_ = base::cut_at_character(std::string_view(model->get_string()), most_model_name);
        }
    }
    if (given)
        done(std::string(base::cut_at_character(std::string_view(text->get_string()), most_text)));
}

json::object HostModel::health() {
    calls_.drop_late();
    const std::lock_guard lock(mutex_);
    return {{"available", on_ && last_ok_ != 0 && last_error_.empty()},
            {"provider", on_ ? "host" : ""},
            {"model", model_},
            {"lastOkAt", last_ok_ != 0 ? json::value(last_ok_) : json::value(nullptr)},
            {"lastError", last_error_.empty() ? json::value(nullptr) : json::value(last_error_)}};
}

} // namespace holdfast::memory
