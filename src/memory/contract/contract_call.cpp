// One call: its parameters and its answer.
#include "memory/contract/contract_call.hpp"

#include "memory/repository/namespaces.hpp"

namespace holdfast::memory {

void Contract::Call::refuse_argument(std::string_view message) {
    refuse(contract_error(-32602, "invalid_argument", message));
}

void Contract::Call::refuse_missing(std::string_view code, std::string_view message) {
    refuse(contract_error(-32000, code, message));
}

std::string Contract::Call::agent() const {
    return peer_->agent().empty() ? service().options().agent : std::string(peer_->agent());
}

std::string Contract::Call::text(std::string_view name, bool required) {
    return checked(params_.text(name, required));
}

std::string Contract::Call::word(std::string_view name, bool required) {
    return checked(params_.word(name, required));
}

std::optional<std::int64_t> Contract::Call::integer(std::string_view name, bool required, std::int64_t least,
                                                    std::int64_t most) {
    return checked(params_.integer(name, required, least, most));
}

std::optional<double> Contract::Call::number(std::string_view name, double least, double most) {
    return checked(params_.number(name, least, most));
}

bool Contract::Call::flag(std::string_view name) {
    return checked(params_.flag(name));
}

std::string Contract::Call::one_of(std::string_view name, std::initializer_list<std::string_view> words) {
    return checked(params_.one_of(name, words));
}

std::string Contract::Call::name_space() {
    const auto* value = params_.find("namespace");
    return value != nullptr ? namespace_text(*value) : "";
}

std::string Contract::Call::clean_json(std::string_view name) {
    auto* value = params_.find(name);
    // Moved out: a large one is not copied, and nobody reads it a second time.
    return value != nullptr ? cleaner().json(std::move(*value)) : "";
}

std::string Contract::Call::clean_list(std::string_view name, bool required) {
    return checked(params_.list(name, required)) ? clean_json(name) : "";
}

} // namespace holdfast::memory
