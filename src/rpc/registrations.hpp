// Who wants which notifications, and who serves which requests of the helper. It belongs to the helper's key
// and outlives its generations: a new process finds the same listeners.
#pragma once

#include "rpc/lanes.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::rpc {

using RegistrationId = std::uint64_t;

class Registrations {
public:
    struct Subscriber {
        RegistrationId id = 0;
        HoldTag hold = 0;
    };

    // Notifications of one method, or of all with "*".
    RegistrationId subscribe(HoldTag hold, std::string_view method);
    // Requests of one method, or with "*" of all that nobody serves by name. The newest serves.
    RegistrationId serve(HoldTag hold, std::string_view method);
    void remove(RegistrationId id);
    // Everything of a hold that is gone.
    void remove_all_of(HoldTag hold);

    // A copy, because who is told may subscribe or leave.
    [[nodiscard]] std::vector<Subscriber> subscribers(std::string_view method) const;
    [[nodiscard]] std::optional<Subscriber> server_of(std::string_view method) const;
    [[nodiscard]] bool contains(RegistrationId id) const;

private:
    using Table = std::map<std::string, std::vector<Subscriber>, std::less<>>;
    RegistrationId add(Table& table, HoldTag hold, std::string_view method);
    template <class Match>
    static void remove_if(Table& table, Match match);

    Table subscribers_;
    Table servers_; // the newest is last
    RegistrationId last_ = 0;
};

} // namespace holdfast::rpc
