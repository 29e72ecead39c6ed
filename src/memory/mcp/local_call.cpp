#include "memory/mcp/local_call.hpp"

#include "json/json_fields.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

namespace holdfast::memory {

namespace {

// A client that asks once. What is sent to it besides is for nobody.
class Caller final : public Peer {
public:
    Caller(std::string agent, OnLocalAnswer done)
        : agent_(std::move(agent))
        , done_(std::move(done)) {}

    void send(std::string_view message) override {
        if (!done_)
            return;
        auto done = std::move(done_);
        done_ = nullptr;
        LocalAnswer answer;
        auto object = json::parse_object(message, {.depth = 250});
        if (auto* result = object ? object->if_contains("result") : nullptr) {
            answer.result = std::move(*result);
        } else {
            const auto* error = object ? json::object_field(*object, "error") : nullptr;
            const auto* data = error != nullptr ? json::object_field(*error, "data") : nullptr;
            answer.code = data != nullptr ? json::text_field(*data, "code") : "internal";
            answer.message = error != nullptr ? json::text_field(*error, "message") : "there was no answer";
        }
        done(std::move(answer));
    }
    [[nodiscard]] std::string_view agent() const override { return agent_; }

private:
    std::string agent_;
    OnLocalAnswer done_;
};

} // namespace

void call_local(Contract& contract, std::string_view method, json::object params, std::string agent,
                OnLocalAnswer done) {
    contract.handle(std::make_shared<Caller>(std::move(agent), std::move(done)),
                    json::to_text(json::object{
                        {"jsonrpc", "2.0"}, {"id", 1}, {"method", method}, {"params", std::move(params)}}));
}

} // namespace holdfast::memory
