// The supervisor behind the public face: the helpers by their keys.
#pragma once

#include "supervise/engine.hpp"
#include "supervise/helper.hpp"

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
    explicit Core(std::shared_ptr<Engine> engine);
    Core(const Core&) = delete;
    Core& operator=(const Core&) = delete;
    ~Core();

    Result<Hold> hold(const HelperSpec& spec);
    Result<void> shutdown(std::optional<Millis> at_most);
    [[nodiscard]] std::vector<std::pair<std::string, HelperStatus>> status() const;
    [[nodiscard]] bool is_fork() const noexcept { return depth_ != sys::fork_depth(); }

private:
    base::Moment tick(base::Moment now);
    void forget_some(); // under the lock
    [[nodiscard]] bool at_rest() const;

    std::shared_ptr<Engine> engine_;
    std::uint64_t depth_ = sys::fork_depth();
    mutable std::mutex mutex_;
    std::map<std::string, std::shared_ptr<Helper>, std::less<>> helpers_;
    bool shut_ = false;
};

} // namespace holdfast::supervise
