#include "memory/contract/host_embeddings.hpp"

#include "memory/ids/ids.hpp"

#include <algorithm>
#include <condition_variable>
#include <optional>

namespace holdfast::memory {

namespace {

// Where the answer is laid down, for a thread that waits for it and may have left.
struct Desk {
    std::mutex mutex;
    std::condition_variable came;
    std::optional<Result<json::object>> answer;
};

Result<Vectors> vectors_of(const json::object& answer, std::size_t wanted) {
    const auto odd = [] {
        return fail(Errc::protocol, "the host's answer has no vectors as they should be");
    };
    const auto* list = answer.if_contains("vectors");
    if (list == nullptr || !list->is_array() || list->get_array().size() != wanted)
        return odd();
    Vectors vectors;
    for (const auto& one : list->get_array()) {
        if (!one.is_array())
            return odd();
        vectors.push_back(vector_of(one.get_array()));
    }
    if (!alike(vectors))
        return odd();
    return vectors;
}

} // namespace

void HostEmbeddings::met(const std::shared_ptr<Peer>& peer) {
    const std::lock_guard lock(mutex_);
    if (std::ranges::none_of(hosts_, [&](const Host& host) { return host.raw == peer.get(); }))
        hosts_.push_back({peer, peer.get(), false});
}

void HostEmbeddings::forget(const Peer* peer) {
    const std::lock_guard lock(mutex_);
    std::erase_if(hosts_, [&](const Host& host) { return host.raw == peer; });
}

std::shared_ptr<Peer> HostEmbeddings::newest() {
    const std::lock_guard lock(mutex_);
    for (auto host = hosts_.rbegin(); host != hosts_.rend(); ++host)
        if (!host->cannot)
            if (auto peer = host->peer.lock())
                return peer;
    return nullptr;
}

Result<Vectors> HostEmbeddings::embed(const std::vector<std::string>& texts, const std::string& model,
                                      std::int64_t deadline_us, const std::atomic<bool>& give_up) {
    while (const auto peer = newest()) {
        auto vectors = ask(peer, texts, model, deadline_us, give_up);
        if (vectors || vectors.error().code != Errc::unsupported)
            return vectors;
        const std::lock_guard lock(mutex_);
        for (auto& host : hosts_)
            host.cannot |= host.raw == peer.get();
    }
    return fail(Errc::unsupported, "no host is here that can embed");
}

Result<Vectors> HostEmbeddings::ask(const std::shared_ptr<Peer>& peer, const std::vector<std::string>& texts,
                                    const std::string& model, std::int64_t deadline_us,
                                    const std::atomic<bool>& give_up) {
    const auto desk = std::make_shared<Desk>();
    const auto timeout_ms = std::max<std::int64_t>(1, (deadline_us - monotonic_us()) / 1000);
    json::object params{{"texts", json::array(texts.begin(), texts.end())}, {"timeoutMs", timeout_ms}};
    if (!model.empty())
        params["model"] = model;
    calls_.ask(peer, "host.embed", std::move(params), timeout_ms, [desk](Result<json::object> answer) {
        const std::lock_guard lock(desk->mutex);
        desk->answer = std::move(answer);
        desk->came.notify_all();
    });
    std::unique_lock lock(desk->mutex);
    // In short waits: nobody tells that all is to end.
    constexpr std::int64_t look_us = 100'000;
    for (auto now = monotonic_us(); !desk->answer && !give_up && now < deadline_us; now = monotonic_us())
        desk->came.wait_for(lock, std::chrono::microseconds(std::min(look_us, deadline_us - now)));
    if (!desk->answer)
        return fail(give_up ? Errc::cancelled : Errc::timed_out, "the host did not answer in time");
    if (!*desk->answer)
        return std::unexpected(std::move(desk->answer->error()));
    return vectors_of(**desk->answer, texts.size());
}

} // namespace holdfast::memory
