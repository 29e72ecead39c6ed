#include "rpc/responder.hpp"

#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include <utility>

namespace holdfast::rpc {

std::string Reply::text() const {
    const auto* text = std::get_if<std::string>(&body);
    return text != nullptr ? *text : json::to_text(std::get<json::value>(body));
}

json::value Reply::value() && {
    if (auto* value = std::get_if<json::value>(&body))
        return std::move(*value);
    return json::parse(std::get<std::string>(body), {.half_pairs = json::HalfPairs::replaced})
        .value_or(nullptr);
}

std::string write_reply(std::string_view raw_id, const Reply& reply) {
    return reply.failed ? write_failure(raw_id, reply.text()) : write_result(raw_id, reply.text());
}

bool PendingRequest::claim() {
    if (over_.exchange(true))
        return false;
    if (on_over_)
        std::exchange(on_over_, nullptr)();
    return true;
}

bool PendingRequest::answer(Reply reply) {
    if (!claim())
        return false;
    deliver(std::move(reply));
    return true;
}

bool PendingRequest::refuse(Complaint complaint) {
    if (!claim())
        return false;
    deliver({true, dialect_.error(complaint)});
    return true;
}

bool PendingRequest::withdraw() {
    if (!claim())
        return false;
    drop();
    return true;
}

void PendingRequest::on_abandoned(std::move_only_function<void()> tell) {
    {
        const std::lock_guard lock(mutex_);
        if (!abandoned_) {
            on_abandoned_ = std::move(tell);
            return;
        }
    }
    tell();
}

void PendingRequest::abandon(const Complaint* complaint) {
    if (!(complaint != nullptr ? refuse(*complaint) : withdraw()))
        return;
    std::move_only_function<void()> tell;
    {
        const std::lock_guard lock(mutex_);
        abandoned_ = true;
        tell = std::exchange(on_abandoned_, nullptr);
    }
    if (tell)
        tell();
}

Responder& Responder::operator=(Responder&& other) noexcept {
    std::swap(request_, other.request_);
    return *this;
}

Responder::~Responder() {
    if (request_ && !request_->over())
        request_->refuse({Fault::given_up, server_error, "the request was given up"});
}

void Responder::give(Reply reply) {
    if (request_)
        request_->answer(std::move(reply));
}

void Responder::result(json::value value) {
    give({false, std::move(value)});
}

void Responder::result_text(std::string text) {
    give({false, std::move(text)});
}

void Responder::error(json::object error) {
    give({true, json::value(std::move(error))});
}

void Responder::error_text(std::string text) {
    give({true, std::move(text)});
}

void Responder::on_abandoned(std::move_only_function<void()> tell) {
    if (request_)
        request_->on_abandoned(std::move(tell));
}

} // namespace holdfast::rpc
