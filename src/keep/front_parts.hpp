// The front's own parts, one object for all of them: front.cpp leads, front_words.cpp hears the keeper and
// the helper, front_signals.cpp whoever signals us, front_stdio.cpp what becomes of stdin and of a terminal.
#pragma once

#include "ending/ender.hpp"
#include "ending/tree.hpp"
#include "keep/control.hpp"
#include "keep/front.hpp"
#include "sys/clock.hpp"

#include <deque>
#include <string>

namespace holdfast::keep {

using ending::Tree;

class Front {
public:
    Front(FrontOptions options, registry::Entry& entry, Ownership* slot, const registry::EventLog& events,
          Tree tree, sys::SignalQueue signals)
        : options_(std::move(options))
        , entry_(entry)
        , slot_(slot)
        , events_(events)
        , tree_(std::move(tree))
        , signals_(std::move(signals))
        , ending_(ending::subreaper_plan(options_.keeper.plan)) {
        ending_.find_by(tree_);
        ending_.between_walks(
            [this] { tree_.reap([this](const Tree::Ended& ended) { note_reaped(ended); }); });
    }

    FrontResult run();

private:
    Result<void> start_keeper();
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

    FrontOptions options_;
    registry::Entry& entry_;
    Ownership* slot_;
    const registry::EventLog& events_;
    Tree tree_;
    sys::SignalQueue signals_;
    ending::Ender ending_; // only after the keeper's death
    std::optional<Control> control_;
    std::optional<sys::PidFd> keeper_;
    std::optional<sys::NotifySocket> notify_;
    std::optional<Pty> pty_;

    FrontResult result_;
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
