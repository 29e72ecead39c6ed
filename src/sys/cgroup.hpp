// A cgroup of its own for a helper, where the user has a delegated subtree: one write ends everything inside,
// whatever it forks meanwhile.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::sys {

class Cgroup {
public:
    // Where create() makes one: the cgroup of this process. Empty where cgroup v2 is absent.
    static std::string own_place();
    // Makes <own place>/holdfast-<id>. Error unsupported where cgroup v2 is absent or not ours to write.
    static Result<Cgroup> create(const std::string& id);
    Cgroup(Cgroup&&) noexcept = default;
    Cgroup& operator=(Cgroup&&) noexcept = default;
    Cgroup(const Cgroup&) = delete;
    Cgroup& operator=(const Cgroup&) = delete;
    ~Cgroup(); // removes it; stays behind only if something is still inside

    // For SpawnSpec::cgroup_procs: the child moves itself in before exec.
    [[nodiscard]] int procs_fd() const noexcept { return procs_.get(); }
    // For SpawnSpec::cgroup_birth: the child is born inside, which is faster. Only as long as nothing was
    // killed there: after a cgroup.kill the kernel kills such a child at birth. -1 from then on.
    [[nodiscard]] int birth_fd() const noexcept { return directory_.get(); }
    Result<void> kill();
    // Moves everybody inside to the cgroup above, so that this one can be removed while they live.
    void let_out() const;
    // Whether anybody is still inside.
    [[nodiscard]] bool populated() const;
    // To poll for POLLPRI after populated() has said yes: the kernel tells when that changes.
    [[nodiscard]] int populated_fd() const noexcept { return events_.get(); }
    // True when the memory controller took the limit. Beyond it the kernel kills everything inside at once.
    bool limit_memory(unsigned long long bytes);
    // Whether it has done so.
    [[nodiscard]] bool ran_out_of_memory() const;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    Cgroup(std::string path, Fd procs, Fd kill, Fd events, Fd directory)
        : path_(std::move(path))
        , procs_(std::move(procs))
        , kill_(std::move(kill))
        , events_(std::move(events))
        , directory_(std::move(directory)) {}
    std::string path_;
    Fd procs_;
    Fd kill_; // this and the next are open from the start: ending must not wait for a path to be walked
    Fd events_;
    Fd directory_;
};

// The cgroup that an earlier keeper of this id made in `place` (its own place, which need not be ours) and
// did not remove.
class LeftCgroup {
public:
    // Nothing when there is none.
    static std::optional<LeftCgroup> find(const std::string& place, const std::string& id);
    [[nodiscard]] std::vector<pid_t> members() const;
    // Asks about one process. Call it after its pidfd was opened.
    [[nodiscard]] bool has(pid_t pid) const;
    // Kills everybody inside. False when the kernel is older than 5.14, or the file is not ours to write.
    [[nodiscard]] bool kill() const;
    // Moves one to the cgroup above.
    void let_out(pid_t pid) const;
    // Waits at most this long for processes that are about to go. True when the cgroup is gone.
    [[nodiscard]] bool remove(std::chrono::milliseconds patience) const;

private:
    LeftCgroup(std::string path, std::string id)
        : path_(std::move(path))
        , id_(std::move(id)) {}
    std::string path_;
    std::string id_;
};

} // namespace holdfast::sys
