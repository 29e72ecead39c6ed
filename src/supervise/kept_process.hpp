// One start of a process as the kernel sees it: the keeper in front of it, its stdio, its entry in the
// registry, and what keeper and process say (control socket, sd_notify).
//
// Used by the loop's thread, except for what says otherwise. Destroying it while something runs makes the
// keeper end the tree, because its control socket closes.
#pragma once

#include "base/notify_text.hpp"
#include "holdfast/values.hpp"
#include "keep/control.hpp"
#include "places/places.hpp"
#include "registry/entry.hpp"
#include "supervise/process_spec.hpp"
#include "sys/fd.hpp"
#include "sys/fork_shield.hpp"
#include "sys/notify.hpp"
#include "sys/pidfd.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::supervise {

struct KeeperPlace {
    std::string program; // path of holdfast-keep
    places::Places places;
};

// Where holdfast-keep is: $HOLDFAST_KEEP, beside this library or program, ../bin, ../libexec/holdfast,
// ../../bin, then PATH.
Result<std::string> find_keeper_program(const std::string& given);

class KeptProcess {
public:
    // The keeper runs when this returns; it will say `spawned` or `failed`. The spec says the whole
    // environment: the host's is not looked at here, since its own threads may be changing it.
    static Result<std::unique_ptr<KeptProcess>> start(const ProcessSpec& spec, const KeeperPlace& place,
                                                      std::uint64_t generation);
    KeptProcess(const KeptProcess&) = delete;
    KeptProcess& operator=(const KeptProcess&) = delete;
    ~KeptProcess();

    // The process's stdin, non-blocking; -1 once closed. The same as output_fd() when it has a terminal.
    [[nodiscard]] int input_fd() const noexcept {
        return !terminal_ ? input_.get() : input_ended_ ? -1 : output_.get();
    }
    [[nodiscard]] int output_fd() const noexcept { return output_.get(); }
    [[nodiscard]] int control_fd() const noexcept { return control_.fd(); }
    [[nodiscard]] int notify_fd() const noexcept { return notify_.fd(); }
    [[nodiscard]] const sys::PidFd& keeper() const noexcept { return keeper_; }
    [[nodiscard]] sys::PidFd take_keeper() {
        return std::move(keeper_);
    } // for reaping, after everything else

    // From any thread, under the helper's lock. Also to a keeper that somebody has stopped: it is continued.
    void stop(std::string_view reason) const;
    [[nodiscard]] bool keeper_is_stopped() const;
    void kill_keeper() const;
    void pass_on(int signal) const; // to the process
    // It sees the end of its input: its pipe is closed, or its terminal says so.
    void close_input();

    keep::Control::State hear(keep::Message& message) const { return control_.receive(message); }
    [[nodiscard]] std::optional<base::NotifyWords> hear_notify() const;

    // The helper has this number, says the keeper. Under the helper's lock. Where it cannot be looked at now,
    // it counts as living until it can.
    void see_helper(pid_t pid);
    // ... into the registry's record.
    void note_helper(const std::string& containment);
    [[nodiscard]] pid_t helper_pid() const noexcept { return helper_gone_ ? 0 : told_pid_; }
    // It has ended, whatever was told so far. Under the helper's lock.
    [[nodiscard]] bool helper_ended();
    // It has, or is on its way out and closes what it had open. Under the helper's lock.
    [[nodiscard]] bool helper_is_ending();
    // Into the registry's record, for `holdfast ps`.
    void note_phase(Phase phase);
    void note_progress(std::uint64_t done, std::uint64_t total);

    // The keeper was killed: the helper's processes are nobody's now. Ends the helper itself at once and
    // leaves the entry as that of a dead owner, so that whoever ends the rest finds it by lock and mark:
    // slot::end_left_behind() now, or slot::sweep() of the next start should this process die too.
    void abandon_to_sweep();

    [[nodiscard]] const std::string& id() const noexcept { return id_; }
    [[nodiscard]] std::uint64_t generation() const noexcept { return generation_; }

private:
    struct Stdio {
        sys::Fd input; // empty with a terminal
        sys::Fd output;
        sys::Fd child_input;
        sys::Fd child_output;
        sys::Fd slave; // of a terminal
    };
    static Result<Stdio> make_stdio(const ProcessSpec& spec);
    KeptProcess(registry::Entry entry, keep::Control control, sys::NotifySocket notify);
    void look_at_helper();

    std::optional<registry::Entry> entry_;
    std::string id_;
    std::uint64_t generation_ = 0;
    keep::Control control_;
    sys::NotifySocket notify_;
    sys::PidFd keeper_;
    pid_t told_pid_ = 0; // the helper's, as the keeper said it
    std::optional<sys::PidFd> helper_;
    std::atomic<bool> helper_gone_ = false; // it was before it could be looked at
    bool seen_at_once_ = false;             // so helper_ is not written any more; of the loop's thread
    bool terminal_ = false;
    bool input_ended_ = false; // of a terminal
    sys::Fd input_;
    sys::Fd output_;         // a terminal's master takes the input, too
    sys::ForkShield shield_; // last, so that it goes first
};

} // namespace holdfast::supervise
