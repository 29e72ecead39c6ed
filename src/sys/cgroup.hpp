// A cgroup of its own for a helper, where the user has a delegated subtree: one write ends everything inside,
// whatever it forks meanwhile.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <optional>
#include <string>

namespace holdfast::sys {

class Cgroup {
public:
    // Makes <own cgroup>/holdfast-<id>. Error unsupported where cgroup v2 is absent or not ours to write.
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
    [[nodiscard]] bool populated() const;
    // True when the memory controller took the limit.
    bool limit_memory(unsigned long long bytes);
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

    // Removes what an earlier keeper of this id left; with `end`, ends everything inside first.
    static void clear_left_behind(const std::string& id, bool end);

private:
    Cgroup(std::string path, Fd procs, Fd directory)
        : path_(std::move(path))
        , procs_(std::move(procs))
        , directory_(std::move(directory)) {}
    std::string path_;
    Fd procs_;
    Fd directory_;
};

} // namespace holdfast::sys
