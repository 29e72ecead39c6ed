// One call: its parameters and its answer.
#include "memory/contract/contract_call.hpp"

#include "base/text.hpp"
#include "memory/store/values_json.hpp"
#include "rpc/message.hpp"
#include "json/json_write.hpp"

#include <algorithm>

namespace holdfast::memory {

using base::cat;

Contract::Call::Call(Contract& contract, std::shared_ptr<Peer> peer, std::string_view raw_id,
                     bool wants_answer, json::object params)
    : contract_(contract)
    , peer_(std::move(peer))
    , raw_id_(raw_id)
    , wants_answer_(wants_answer)
    , params_(std::move(params)) {
    if (wants_answer_)
        ticket_ = peer_->begin(raw_id_);
}

Contract::Call::~Call() {
    refuse(contract_error(-32000, "internal", "the request was given up", {{"retryable", true}}));
}

void Contract::Call::answer(json::value result) {
    if (std::exchange(answered_, true) || !wants_answer_)
        return;
    peer_->answer(ticket_, rpc::write_result(raw_id_, json::to_text(result)));
}

void Contract::Call::refuse(json::object error) {
    if (std::exchange(answered_, true) || !wants_answer_)
        return;
    peer_->answer(ticket_, error_text(raw_id_, error));
}

void Contract::Call::refuse_argument(std::string_view message) {
    refuse(contract_error(-32602, "invalid_argument", message));
}

void Contract::Call::refuse_missing(std::string_view code, std::string_view message) {
    refuse(contract_error(-32000, code, message));
}

std::string Contract::Call::agent() const {
    return peer_->agent().empty() ? service().options().agent : std::string(peer_->agent());
}

const json::value* Contract::Call::find(std::string_view name) const {
    const auto* value = params_.if_contains(name);
    return value != nullptr && !value->is_null() ? value : nullptr;
}

std::string Contract::Call::text(std::string_view name, bool required) {
    const auto* value = find(name);
    if (value != nullptr && value->is_string())
        return std::string(value->get_string());
    if (value != nullptr)
        refuse_argument(cat(name, " must be a string"));
    else if (required)
        refuse_argument(cat(name, " is required"));
    return "";
}

std::string Contract::Call::word(std::string_view name, bool required) {
    auto value = text(name, required);
    if (!bad() && required && value.empty())
        refuse_argument(cat(name, " must not be empty"));
    return value;
}

std::optional<std::int64_t> Contract::Call::integer(std::string_view name, bool required, std::int64_t least,
                                                    std::int64_t most) {
    const auto* value = find(name);
    if (value == nullptr) {
        if (required)
            refuse_argument(cat(name, " is required"));
        return std::nullopt;
    }
    std::int64_t whole = 0;
    if (value->is_int64())
        whole = value->get_int64();
    else if (value->is_double() && value->get_double() >= -9e15 && value->get_double() <= 9e15)
        whole = static_cast<std::int64_t>(value->get_double()); // clients write milliseconds as 1.7e12, too
    else {
        refuse_argument(cat(name, " must be a number"));
        return std::nullopt;
    }
    if (whole < least || whole > most) {
        refuse_argument(cat(name, " must be from ", least, " to ", most));
        return std::nullopt;
    }
    return whole;
}

std::optional<double> Contract::Call::number(std::string_view name, double least, double most) {
    const auto* value = find(name);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_number()) {
        refuse_argument(cat(name, " must be a number"));
        return std::nullopt;
    }
    const auto real = value->to_number<double>();
    if (!(real >= least && real <= most)) {
        refuse_argument(cat(name, " is out of range"));
        return std::nullopt;
    }
    return real;
}

bool Contract::Call::flag(std::string_view name) {
    const auto* value = find(name);
    if (value != nullptr && !value->is_bool())
        refuse_argument(cat(name, " must be true or false"));
    return value != nullptr && value->is_bool() && value->get_bool();
}

std::string Contract::Call::name_space() {
    const auto* value = find("namespace");
    return value != nullptr ? namespace_text(*value) : "";
}

std::string Contract::Call::clean_json(std::string_view name) {
    auto* value = params_.if_contains(name);
    // Moved out: a large one is not copied, and nobody reads it a second time.
    return value != nullptr && !value->is_null() ? cleaner().json(std::move(*value)) : "";
}

std::string Contract::Call::clean_list(std::string_view name, bool required) {
    const auto* value = find(name);
    if (value != nullptr && value->is_array())
        return clean_json(name);
    if (value != nullptr)
        refuse_argument(cat(name, " must be a list"));
    else if (required)
        refuse_argument(cat(name, " is required"));
    return "";
}

std::string Contract::Call::one_of(std::string_view name, std::initializer_list<std::string_view> words) {
    auto value = word(name, true);
    if (!bad() && std::ranges::find(words, value) == words.end()) {
        std::string all;
        for (const auto allowed : words)
            all += cat(all.empty() ? "" : ", ", allowed);
        refuse_argument(cat(name, " must be one of ", all));
    }
    return value;
}

} // namespace holdfast::memory
