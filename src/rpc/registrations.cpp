#include "rpc/registrations.hpp"

#include <algorithm>

namespace holdfast::rpc {

RegistrationId Registrations::add(Table& table, HoldTag hold, std::string_view method) {
    auto at = table.find(method);
    if (at == table.end())
        at = table.emplace(std::string(method), std::vector<Subscriber>{}).first;
    at->second.push_back({++last_, hold});
    return last_;
}

template <class Match>
void Registrations::remove_if(Table& table, Match match) {
    for (auto at = table.begin(); at != table.end();) {
        std::erase_if(at->second, match);
        at = at->second.empty() ? table.erase(at) : std::next(at);
    }
}

RegistrationId Registrations::subscribe(HoldTag hold, std::string_view method) {
    return add(subscribers_, hold, method);
}

RegistrationId Registrations::serve(HoldTag hold, std::string_view method) {
    return add(servers_, hold, method);
}

void Registrations::remove(RegistrationId id) {
    const auto match = [id](const Subscriber& one) { return one.id == id; };
    remove_if(subscribers_, match);
    remove_if(servers_, match);
}

void Registrations::remove_all_of(HoldTag hold) {
    const auto match = [hold](const Subscriber& one) { return one.hold == hold; };
    remove_if(subscribers_, match);
    remove_if(servers_, match);
}

std::vector<Registrations::Subscriber> Registrations::subscribers(std::string_view method) const {
    std::vector<Subscriber> found;
    const auto take = [&](std::string_view name) {
        if (const auto at = subscribers_.find(name); at != subscribers_.end())
            found.insert(found.end(), at->second.begin(), at->second.end());
    };
    take(method);
    if (method != "*") // a helper may call a method so, and must not tell anybody twice
        take("*");
    return found;
}

std::optional<Registrations::Subscriber> Registrations::server_of(std::string_view method) const {
    for (const std::string_view name : {method, std::string_view("*")})
        if (const auto at = servers_.find(name); at != servers_.end())
            return at->second.back();
    return std::nullopt;
}

bool Registrations::contains(RegistrationId id) const {
    const auto has = [id](const auto& entry) {
        return std::ranges::any_of(entry.second, [id](const Subscriber& one) { return one.id == id; });
    };
    return std::ranges::any_of(subscribers_, has) || std::ranges::any_of(servers_, has);
}

} // namespace holdfast::rpc
