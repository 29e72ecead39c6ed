// A client of the memory helper: starts holdfast-memory on a home and talks the contract with it over pipes.
// The helper attaches to the home's owner when there is one, or opens the store itself; to this side both
// look the same.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"
#include "sys/pidfd.hpp"

#include <boost/json.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace holdfast::cli {

class MemoryClient {
public:
    static Result<MemoryClient> start(const std::string& home, const std::string& agent = "person");
    MemoryClient(MemoryClient&&) = default;
    MemoryClient& operator=(MemoryClient&&) = default;
    ~MemoryClient();

    // Waits for the answer, however long the store takes to open; on a terminal it shows how far that is. An
    // owner that ends in between is asked again (all calls made here may be repeated). The contract's errors
    // come back as ours.
    Result<boost::json::value> call(std::string_view method, boost::json::object params);

    // Waits until everything that is stored now can be found, however long that takes, and shows how far it
    // is.
    Result<void> wait_indexed();

private:
    MemoryClient() = default;
    Result<boost::json::object> once(std::string_view method, const boost::json::object& params);
    Result<std::string> read_line(int at_most_ms); // empty: nothing came in time
    Result<void> send(const boost::json::object& message);
    [[nodiscard]] Error gone() const; // the helper ended: what that means
    void say_what_is_waited_for(const std::string& phase);

    std::string home_;
    bool said_ = false;                   // what is being waited for, where there is no bar
    std::unique_ptr<sys::PidFd> process_; // none in one that was moved from
    sys::Fd in_;
    sys::Fd out_;
    std::string buffer_;
    std::int64_t last_id_ = 0;
};

} // namespace holdfast::cli
