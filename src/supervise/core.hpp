// The supervisor behind the public face: the helpers by their keys.
#pragma once

#include "supervise/conversation.hpp"
#include "supervise/loop.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace holdfast::supervise {

// What is equal for the same helper, and only for it.
std::string key_of(const HelperSpec& spec);
// Everything that can be wrong about a spec before anything is started.
Result<void> check(const HelperSpec& spec);

class Core {
public:
    static Result<std::shared_ptr<Core>> create(const SupervisorOptions& options);
    Core(std::shared_ptr<Loop> loop, std::shared_ptr<Engine> engine);
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;
    ~Core();

    Result<Hold> hold(const HelperSpec& spec);
    Result<void> shutdown(std::optional<Millis> at_most);
    [[nodiscard]] std::vector<std::pair<std::string, HelperStatus>> status() const;
    [[nodiscard]] bool is_fork() const noexcept { return depth_ != sys::fork_depth(); }

private:
    void forget_some(); // under the lock
    [[nodiscard]] bool at_rest() const;

    std::shared_ptr<Loop> loop_;
    std::shared_ptr<Engine> engine_;
    std::shared_ptr<Callbacks> callbacks_ = std::make_shared<Callbacks>();
    std::uint64_t depth_ = sys::fork_depth();
    mutable std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Conversation>, std::less<>> helpers_;
    bool shut_ = false;
};

} // namespace holdfast::supervise
