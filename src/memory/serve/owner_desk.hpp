// What the owner of a home offers to the things it runs beside its stdio clients: the viewer's pages, and
// whatever comes later.
#pragma once

#include "memory/contract/contract.hpp"
#include "memory/service/service.hpp"

#include <atomic>
#include <functional>
#include <memory>
#include <string>

namespace holdfast::memory {

class OwnerDesk;

// Somebody wants the home's memory. As long as one of these lives, the owner stays even when its own client
// has gone. Move-only; from any thread.
class Hold {
public:
    Hold() = default;
    Hold(Hold&& other) noexcept
        : desk_(std::exchange(other.desk_, nullptr)) {}
    Hold& operator=(Hold&& other) noexcept {
        std::swap(desk_, other.desk_);
        return *this;
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold();

private:
    friend class OwnerDesk;
    explicit Hold(OwnerDesk& desk) noexcept
        : desk_(&desk) {}
    OwnerDesk* desk_ = nullptr;
};

class OwnerDesk {
public:
    OwnerDesk(Service& service, Contract& contract, int wake_fd)
        : service_(service)
        , contract_(contract)
        , wake_fd_(wake_fd) {}
    OwnerDesk(const OwnerDesk&) = delete;
    OwnerDesk& operator=(const OwnerDesk&) = delete;

    [[nodiscard]] Service& service() const noexcept { return service_; }
    [[nodiscard]] Contract& contract() const noexcept { return contract_; }

    [[nodiscard]] Hold hold();
    [[nodiscard]] std::size_t holds() const noexcept { return holds_; }
    // Somebody did something: an idle time that is configured starts anew.
    void touch() noexcept;
    [[nodiscard]] std::int64_t last_touch_ms() const noexcept { return touched_ms_; }
    // Where the companion can be reached, for the slot's record.
    void set_address(std::string address);
    // For the owner: what was set since the last call, if anything.
    [[nodiscard]] bool take_address(std::string& address);

private:
    friend class Hold;
    void let_go() noexcept;
    void wake() const noexcept;

    Service& service_;
    Contract& contract_;
    int wake_fd_;
    std::atomic<std::size_t> holds_ = 0;
    std::atomic<std::int64_t> touched_ms_ = 0;
    std::mutex address_mutex_;
    std::string address_;
    bool address_changed_ = false;
};

// Runs in the owner while somebody asks for it. Made and ended on the serving thread; ended before the
// service closes.
class Companion {
public:
    Companion() = default;
    Companion(const Companion&) = delete;
    Companion& operator=(const Companion&) = delete;
    virtual ~Companion() = default;
};
// The port is a wish of whoever asked for it first.
using MakeCompanion = std::function<std::unique_ptr<Companion>(OwnerDesk&, std::uint16_t port)>;

// A further protocol that stdio clients of this home may speak.
struct NamedProtocol {
    std::string name;
    std::function<std::unique_ptr<Protocol>(Service&, Contract&)> make;
    std::string (*lost)(std::string_view raw_id); // as Protocol::lost, where there is no owner to make one
};

} // namespace holdfast::memory
