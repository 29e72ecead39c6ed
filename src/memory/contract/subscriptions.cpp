// Who hears what: the subscriptions of clients, and what is told to them.
#include "memory/contract/contract.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

#include "memory/ids/ids.hpp"
#include "rpc/message.hpp"

#include <algorithm>

namespace holdfast::memory {

std::string Contract::subscribe(const std::shared_ptr<Peer>& peer, bool logs,
                                std::vector<std::string> types) {
    auto id = make_id("sub_");
    const std::lock_guard lock(subscriptions_mutex_);
    subscriptions_.push_back({id, peer, peer.get(), logs, std::move(types)});
    if (!remember_subscriptions(*peer)) {
        subscriptions_.pop_back(); // or it would end with this process, and its client not know
        return "";
    }
    subscribers_ = subscriptions_.size();
    return id;
}

bool Contract::remember_subscriptions(Peer& peer) {
    json::array all;
    for (const auto& subscription : subscriptions_)
        if (subscription.raw == &peer)
            all.push_back({{"id", subscription.id},
                           {"logs", subscription.logs},
                           {"types", json::array(subscription.types.begin(), subscription.types.end())}});
    return peer.remember(all.empty() ? "" : json::to_text(all));
}

void Contract::resume(const std::shared_ptr<Peer>& peer, std::string_view state) {
    const auto parsed = json::parse(state);
    if (!parsed || !parsed->is_array())
        return;
    const std::lock_guard lock(subscriptions_mutex_);
    for (const auto& each : parsed->get_array()) {
        std::vector<std::string> types;
        for (const auto& type : each.at("types").as_array())
            types.emplace_back(type.as_string());
        subscriptions_.push_back({std::string(each.at("id").as_string()), peer, peer.get(),
                                  each.at("logs").as_bool(), std::move(types)});
    }
    subscribers_ = subscriptions_.size();
}

bool Contract::unsubscribe(const Peer* peer, std::string_view id) {
    const std::lock_guard lock(subscriptions_mutex_);
    const auto found = std::ranges::find_if(
        subscriptions_, [&](const Subscription& one) { return one.raw == peer && one.id == id; });
    if (found == subscriptions_.end())
        return false;
    const auto client = found->peer.lock();
    subscriptions_.erase(found);
    subscribers_ = subscriptions_.size();
    if (client)
        (void)remember_subscriptions(*client); // fewer than before: there is room
    return true;
}

void Contract::forget(const Peer* peer) {
    dispatcher_.forget(peer);
    host_embeddings_.forget(peer);
    host_calls_.forget(peer);
    const std::lock_guard lock(subscriptions_mutex_);
    std::erase_if(subscriptions_, [&](const Subscription& s) { return s.raw == peer; });
    subscribers_ = subscriptions_.size();
}

void Contract::log(std::string_view level, std::string_view channel, std::string_view message) {
    if (subscribers_ == 0)
        return;
    const std::lock_guard lock(subscriptions_mutex_);
    const json::object line{{"ts", now_ms()}, {"level", level}, {"channel", channel}, {"msg", message}};
    const auto text = rpc::write_notification("logs.forward", json::to_text(line));
    for (const auto& subscription : subscriptions_)
        if (subscription.logs)
            if (const auto peer = subscription.peer.lock())
                peer->send(text);
}

void Contract::notify(std::string_view type, json::object payload) {
    if (subscribers_ == 0)
        return;
    const std::lock_guard lock(subscriptions_mutex_);
    if (sequence_ == 0 && service_.is_open())
        sequence_ = static_cast<std::uint64_t>(service_.store().epoch()) << 32U;
    const json::object event{
        {"type", type}, {"ts", now_ms()}, {"seq", ++sequence_}, {"payload", std::move(payload)}};
    const auto message = rpc::write_notification("events.notify", json::to_text(event));
    for (const auto& subscription : subscriptions_)
        if (!subscription.logs && (subscription.types.empty() ||
                                   std::ranges::find(subscription.types, type) != subscription.types.end()))
            if (const auto peer = subscription.peer.lock())
                peer->send(message);
}

} // namespace holdfast::memory
