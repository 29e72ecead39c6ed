// A client of the memory helper: starts holdfast-memory on a home and talks the contract with it over pipes.
// The helper attaches to the home's owner when there is one, or opens the store itself; to this side both
// look the same.
#pragma once

#include "cli/shared/options.hpp"
#include "holdfast/result.hpp"
#include "rpc/caller.hpp"
#include "sys/clock.hpp"
#include "sys/fd.hpp"
#include "sys/pidfd.hpp"

#include "json/json.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::cli {

class MemoryClient {
public:
    // The arguments are asked for --timeout.
    static Result<MemoryClient> start(const std::string& home, const Arguments& arguments,
                                      const std::string& agent = "person");
    MemoryClient(MemoryClient&&) = default;
    MemoryClient& operator=(MemoryClient&&) = default;
    ~MemoryClient();

    // Waits for the answer for as long as the owner shows that it gets on with it, and says what it waits
    // for; on a terminal it shows how far that is. Errc::timed_out: the owner said nothing, or got no
    // further, for too long. An owner that ends in between is asked again (all calls made here may be
    // repeated). The contract's errors come back as ours.
    Result<json::value> call(std::string_view method, json::object params);

    // Waits until everything that is stored now can be found, and shows how far it is; timed_out as above.
    Result<void> wait_indexed();

    // Before the owner is asked the same again: as long as that, or until our helper says something or ends.
    void pause(std::chrono::milliseconds at_most) const;

    // Nothing was found: a database that was set aside may be why.
    void say_what_lies_aside();

private:
    MemoryClient() = default;
    Result<rpc::Caller::Answer> once(std::string_view method, const json::object& params);
    Result<rpc::CallId> ask(std::string_view method, const json::object& params);
    Result<bool> read(sys::Deadline until); // false: nothing came in time
    // What it waited for, and what to do.
    [[nodiscard]] Error no_sign(std::chrono::milliseconds waited, const std::string& phase) const;
    Result<void> send();
    [[nodiscard]] Error gone() const; // the helper ended: what that means
    void say_what_is_waited_for(const std::string& phase);

    std::string home_;
    std::chrono::milliseconds silence_{};  // how long the owner may say nothing
    std::chrono::milliseconds standing_{}; // how long it may get no further
    bool said_ = false;                    // what is being waited for, where there is no bar
    std::unique_ptr<sys::PidFd> process_;  // none in one that was moved from
    sys::Fd in_;
    sys::Fd out_;
    std::unique_ptr<rpc::Caller> caller_;
};

} // namespace holdfast::cli
