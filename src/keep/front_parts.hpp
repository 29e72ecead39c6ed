// The front as one object, which front.cpp drives in one loop. front_start.cpp starts the keeper,
// front_keeper.cpp talks with it, front_notify.cpp hears the helper, front_signals.cpp whoever signals us,
// front_stdio.cpp looks after stdin and a terminal.
#pragma once

#include "ending/ender.hpp"
#include "ending/tree.hpp"
#include "keep/control.hpp"
#include "keep/front.hpp"
#include "sys/clock.hpp"
#include "sys/fork.hpp"

#include <unistd.h>

#include <deque>
#include <string>
#include <vector>

namespace holdfast::keep {

using ending::Tree;

class Front {
public:
    Front(const FrontOptions& options, FrontResources with, Tree tree, sys::SignalQueue signals)
        : options_(options)
        , entry_(with.entry)
        , slot_(with.slot)
        , events_(with.events)
        , host_(std::move(with.host))
        , pid_file_(with.pid_file ? std::move(with.pid_file->path) : "")
        , log_file_(std::move(with.log))
        , tree_(std::move(tree))
        , signals_(std::move(signals))
        , ending_(ending::subreaper_plan(options_.keep.plan))
        , watch_input_(options.watch_input)
        , shares_group_(!options.pty && ::isatty(STDIN_FILENO) == 1) {
        ending_.find_by(tree_);
        ending_.between_walks(
            [this] { tree_.reap([this](const Tree::Ended& ended) { note_reaped(ended); }); });
    }

    FrontResult run();

private:
    Result<void> start_keeper();
    [[nodiscard]] KeeperOptions options_for_keeper(const Control& its_end, sys::ForkSpec& spec,
                                                   int number) const;
    [[nodiscard]] std::vector<std::string> environment_for_keeper() const;
    void hear_control();
    void hear(const Message& message);
    void hear_signals();
    void hear_signal(const sys::SignalQueue::Arrived& arrived, bool undone);
    void forward(const sys::SignalQueue::Arrived& arrived);
    void forward(int signal);
    void tell_keeper(std::string word);
    void tell_keeper(); // what it could not be told yet
    [[nodiscard]] bool helper_went_its_way() const;
    void hear_notifications();
    void hear_input();
    void hear_terminal();
    void finish_output();
    void keeper_is_gone();
    void note_reaped(const Tree::Ended& ended);
    void tell_stop(core::StopReason reason);
    void look_after_keeper();
    void set_phase(Phase phase);
    void check_slot();
    void log(std::string type, std::string reason = {}, std::optional<int> status = {});
    [[nodiscard]] sys::Deadline next_wake() const;
    template <class F>
    void on_ownerships(F&& change) {
        (void)change(entry_.ownership());
        if (slot_)
            (void)change(*slot_);
    }

    const FrontOptions& options_;
    registry::Entry& entry_;
    Ownership* slot_;
    const registry::EventLog& events_;
    std::optional<sys::PidFd> host_;
    std::string pid_file_; // its path, or empty
    std::string log_file_;
    Tree tree_;
    sys::SignalQueue signals_;
    ending::Ender ending_; // only after the keeper's death
    std::optional<Control> control_;
    std::optional<sys::PidFd> keeper_;
    std::optional<sys::NotifySocket> notify_;
    std::optional<Pty> pty_;

    FrontResult result_;
    bool watch_input_;  // until it has ended
    bool shares_group_; // an interactive job: the helper is in our process group
    pid_t helper_ = 0;
    bool said_ready_ = false;
    bool speaks_of_start_ = false; // and so says itself when it is over
    bool keeper_done_ = false;
    bool keeper_dead_ = false;
    bool stop_told_ = false;
    bool host_gone_told_ = false;
    bool asked_ = false;                     // by TERM or "at once": the stop plan continues what is stopped
    std::deque<std::string> unsent_;         // words for a keeper that reads slower than signals arrive
    std::optional<std::int64_t> keeper_due_; // told to end the tree: by then it has, if it can
    bool output_gone_told_ = false;
    std::optional<std::int64_t> input_closed_since_; // and since when what is unread stands still
    int unread_ = 0;
    std::int64_t born_ = sys::boottime_ms();
    std::int64_t next_slot_check_ = 0;
};

} // namespace holdfast::keep
