#include "rpc/params.hpp"

#include "base/text.hpp"

#include <algorithm>
#include <utility>

namespace holdfast::rpc {

using base::cat;

void Params::complain(std::string what) {
    if (complaint_.empty())
        complaint_ = std::move(what);
}

const json::value* Params::find(std::string_view name) const {
    const auto* value = values_.if_contains(name);
    return value != nullptr && !value->is_null() ? value : nullptr;
}

json::value* Params::find(std::string_view name) {
    return const_cast<json::value*>(std::as_const(*this).find(name));
}

std::string Params::text(std::string_view name, bool required) {
    const auto* value = find(name);
    if (value != nullptr && value->is_string())
        return std::string(value->get_string());
    if (value != nullptr)
        complain(cat(name, " must be a string"));
    else if (required)
        complain(cat(name, " is required"));
    return "";
}

std::string Params::word(std::string_view name, bool required) {
    auto value = text(name, required);
    if (required && value.empty())
        complain(cat(name, " must not be empty"));
    return value;
}

std::optional<std::int64_t> Params::integer(std::string_view name, bool required, std::int64_t least,
                                            std::int64_t most) {
    const auto* value = find(name);
    if (value == nullptr) {
        if (required)
            complain(cat(name, " is required"));
        return std::nullopt;
    }
    std::int64_t whole = 0;
    if (value->is_int64())
        whole = value->get_int64();
    else if (value->is_double() && value->get_double() >= -9e15 && value->get_double() <= 9e15)
        whole = static_cast<std::int64_t>(value->get_double()); // clients write milliseconds as 1.7e12, too
    else if (value->is_uint64() && std::in_range<std::int64_t>(value->get_uint64()))
        whole = static_cast<std::int64_t>(value->get_uint64()); // from inside the process: a count
    else {
        complain(cat(name, " must be a number"));
        return std::nullopt;
    }
    if (whole < least || whole > most) {
        complain(cat(name, " must be from ", least, " to ", most));
        return std::nullopt;
    }
    return whole;
}

std::optional<double> Params::number(std::string_view name, double least, double most) {
    const auto* value = find(name);
    if (value == nullptr)
        return std::nullopt;
    if (!value->is_number()) {
        complain(cat(name, " must be a number"));
        return std::nullopt;
    }
    const auto real = value->to_number<double>();
    if (!(real >= least && real <= most)) {
        complain(cat(name, " is out of range"));
        return std::nullopt;
    }
    return real;
}

bool Params::flag(std::string_view name) {
    const auto* value = find(name);
    if (value != nullptr && !value->is_bool())
        complain(cat(name, " must be true or false"));
    return value != nullptr && value->is_bool() && value->get_bool();
}

std::string Params::one_of(std::string_view name, std::initializer_list<std::string_view> words) {
    auto value = word(name, true);
    if (std::ranges::find(words, value) == words.end()) {
        std::string all;
        for (const auto allowed : words)
            all += cat(all.empty() ? "" : ", ", allowed);
        complain(cat(name, " must be one of ", all));
    }
    return value;
}

bool Params::list(std::string_view name, bool required) {
    const auto* value = find(name);
    if (value != nullptr && !value->is_array())
        complain(cat(name, " must be a list"));
    else if (value == nullptr && required)
        complain(cat(name, " is required"));
    return value != nullptr && value->is_array();
}

} // namespace holdfast::rpc
