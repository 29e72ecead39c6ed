#include "memory/serve/look.hpp"

#include "base/text.hpp"
#include "holdfast/slot.hpp"
#include "memory/contract/contract.hpp"
#include "memory/serve/home_slot.hpp"
#include "memory/serve/run.hpp"
#include "memory/service/service.hpp"
#include "memory/store/aside.hpp"
#include "memory/store/glance.hpp"
#include "sys/clock.hpp"
#include "json/json_fields.hpp"
#include "json/json_parse.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <optional>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::chrono::milliseconds patience{5000};
constexpr int most_looks = 3;

// Nothing: the owner went away, or did not answer in time.
std::optional<json::object> ask_owner(const std::string& home) {
    const auto deadline = sys::Deadline::in(patience);
    auto link = attach_client(home, "rpc", patience);
    if (!link)
        return std::nullopt;
    constexpr std::string_view question = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"core.health\"}\n";
    if (::write(link->to_owner.get(), question.data(), question.size()) !=
        static_cast<ssize_t>(question.size()))
        return std::nullopt;
    std::string text;
    while (!text.ends_with('\n')) {
        pollfd ready[2] = {{link->from_owner.get(), POLLIN, 0}, {link->link.get(), POLLRDHUP, 0}};
        const int n = ::poll(ready, 2, deadline.poll_timeout());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0 || ready[0].revents == 0)
            return std::nullopt;
        std::array<char, 4096> chunk;
        const auto got = ::read(link->from_owner.get(), chunk.data(), chunk.size());
        if (got <= 0)
            return std::nullopt;
        text.append(chunk.data(), static_cast<std::size_t>(got));
    }
    const auto message = json::parse_object(text);
    const auto* health = message ? json::object_field(*message, "result") : nullptr;
    return health != nullptr ? std::optional(*health) : std::nullopt;
}

json::object from_files(const std::string& home, std::string_view phase) {
    const auto paths = paths_of(home);
    json::object health{
        {"ok", true}, {"version", HOLDFAST_VERSION}, {"paths", places_of(paths)}, {"phase", phase}};
    const auto glance = glance_at_store(paths.database);
    if (glance) {
        health["counts"] = counts_of(glance->totals);
        health["epoch"] = glance->epoch;
        health["dbBytes"] = glance->bytes;
        health["walBytes"] = glance->log_bytes;
    } else if (glance.error().code != Errc::not_found) {
        health["ok"] = false;
        health["error"] = glance.error().message;
    }
    auto warnings = log_loss_warnings(log_losses(paths.database));
    if (const auto aside = kept_aside(paths.database); !aside.empty())
        warnings.push_back(set_aside_warning(aside));
    if (!warnings.empty())
        health["warnings"] = std::move(warnings);
    return health;
}

} // namespace

bool is_memory_home(const std::string& home) {
    return ::access(cat(home, "/memory.lock").c_str(), F_OK) == 0 ||
           ::access(paths_of(home).database.c_str(), F_OK) == 0;
}

Result<json::object> look_at_home(const std::string& home) {
    if (!is_memory_home(home))
        return fail(Errc::not_found, cat("there is no memory at ", home));
    const SlotLocation location{home, home_slot_name};
    json::object seen;
    for (int look = 0; look < most_looks; ++look) {
        const auto before = query(location);
        if (!before)
            return std::unexpected(before.error());
        const bool owned = before->state == SlotState::owned;
        if (owned && !before->owner_stopped)
            if (auto health = ask_owner(home))
                return std::move(*health);
        const auto now = query(location);
        if (!now)
            return std::unexpected(now.error());
        seen = from_files(home, now->state != SlotState::owned ? "closed"
                                : now->owner_stopped           ? "stopped"
                                                               : "silent");
        // Read without a lock: it counts when nobody came in between.
        const auto after = query(location);
        if (after && after->epoch == now->epoch && after->state == now->state &&
            after->owner_stopped == now->owner_stopped)
            return seen;
    }
    return seen;
}

} // namespace holdfast::memory
