#include "memory/contract/local_call.hpp"

#include "json/json_fields.hpp"

namespace holdfast::memory {

namespace {

// A client that asks once. What is sent to it besides is for nobody.
class LocalClient final : public Peer {
public:
    explicit LocalClient(std::string agent)
        : agent_(std::move(agent)) {}

    void send(std::string_view /*message*/) override {}
    [[nodiscard]] std::string_view agent() const override { return agent_; }

private:
    std::string agent_;
};

LocalAnswer answer_of(rpc::Reply reply) {
    LocalAnswer answer;
    const bool failed = reply.failed;
    auto body = std::move(reply).value();
    if (!failed) {
        answer.result = std::move(body);
        return answer;
    }
    const auto* error = body.if_object();
    const auto* data = error != nullptr ? json::object_field(*error, "data") : nullptr;
    answer.code = data != nullptr ? json::text_field(*data, "code") : "internal";
    answer.message = error != nullptr ? json::text_field(*error, "message") : "there was no answer";
    return answer;
}

} // namespace

void call_local(Contract& contract, std::string_view method, json::object params, std::string agent,
                OnLocalAnswer done) {
    contract.call(std::make_shared<LocalClient>(std::move(agent)), method, std::move(params),
                  [done = std::move(done)](rpc::Reply reply) mutable { done(answer_of(std::move(reply))); });
}

} // namespace holdfast::memory
