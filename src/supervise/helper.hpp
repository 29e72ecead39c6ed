// One helper of a supervisor: the supervision machine, the conversation with the present generation, its
// process, and everybody who waits for something. The effects of core/supervision.hpp are carried out here.
//
// One lock guards it all. Everything that is said to the outside (answers, callbacks, destructors of the
// user's objects) is collected under it and done after it, by Turn. Processes are started and torn down on
// the loop's thread alone.
#pragma once

#include "core/supervision.hpp"
#include "holdfast/supervisor.hpp"
#include "rpc/peer.hpp"
#include "supervise/call_state.hpp"
#include "supervise/engine.hpp"
#include "supervise/lane.hpp"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace holdfast::supervise {

class Helper : public std::enable_shared_from_this<Helper>, private rpc::PeerEvents {
public:
    Helper(std::string key, HelperSpec spec, std::shared_ptr<Engine> engine);
    ~Helper() override;

    // For holds, from any thread.
    Result<rpc::HoldTag> hold(const HelperSpec& spec);
    void release(rpc::HoldTag hold);
    void submit(const std::shared_ptr<CallState>& call);
    void cancel(const std::shared_ptr<CallState>& call);
    // Waits for the answer, reading the helper's output itself where it can: the answer then comes to the
    // thread that wants it, without a change of threads. False when it is not there by `due`.
    bool await(CallState& call, base::Moment due);
    // Both in one: nothing else is woken when the answer comes at once.
    bool submit_and_await(const std::shared_ptr<CallState>& call, base::Moment due);
    Result<void> notify(rpc::HoldTag hold, std::string_view method, std::string_view params);
    Result<rpc::RegistrationId> subscribe(rpc::HoldTag hold, std::string_view method, Notified notified);
    Result<rpc::RegistrationId> serve(rpc::HoldTag hold, std::string_view method, Served served);
    void unregister(rpc::RegistrationId id);
    Result<void> reply(Generation generation, rpc::HoldTag hold, rpc::RequestId request,
                       std::string_view result);
    Result<void> reply_error(Generation generation, rpc::HoldTag hold, rpc::RequestId request, int code,
                             std::string_view message, std::string_view data);
    Result<Generation> wait_ready(rpc::HoldTag hold, Generation newer_than, base::Moment due);
    Result<Generation> replace(rpc::HoldTag hold, Generation seen, base::Moment due);
    Result<void> retry(rpc::HoldTag hold);
    [[nodiscard]] HelperStatus status() const;
    [[nodiscard]] HelperStatus status(rpc::HoldTag hold) const; // closed, when it was released
    [[nodiscard]] bool holds(rpc::HoldTag hold) const;
    [[nodiscard]] bool reaches(Generation generation) const; // it is the present one, and lives
    [[nodiscard]] bool is_fork() const noexcept { return depth_ != sys::fork_depth(); }

    // For the supervisor.
    void shutdown();
    void drop_lanes(); // callbacks that were not begun, except answers
    [[nodiscard]] bool is_closed() const;
    [[nodiscard]] bool
    is_forgettable() const; // nothing runs, nobody holds it, and there is no failure to remember
    [[nodiscard]] std::string survivors() const;
    [[nodiscard]] std::string still_ending() const; // what is there yet, for people; empty when nothing is
    [[nodiscard]] const std::string& key() const noexcept { return key_; }
    // On the loop's thread: what is due is done; returns when to come again.
    base::Moment tick(base::Moment now);

private:
    class Turn;
    friend class Turn;
    struct Listener {
        rpc::HoldTag hold = 0;
        std::shared_ptr<Notified> notified;
        std::shared_ptr<Served> served;
    };

    // PeerEvents: called under the lock, within a turn.
    void on_answer(rpc::CallId call, std::uint64_t token, const rpc::Answer& answer) override;
    void on_notification(rpc::RegistrationId listener, rpc::HoldTag hold, std::string_view method,
                         std::string_view params) override;
    void on_request(rpc::RegistrationId server, rpc::HoldTag hold, rpc::RequestId request,
                    std::string_view method, std::string_view params) override;
    void on_request_gone(rpc::HoldTag hold, rpc::RequestId request) override;
    void on_noise(std::string_view why, std::string_view excerpt) override;

    // The machine (helper.cpp). All below: under the lock.
    void apply(const core::Event& event);
    void carry_out(const core::Effect& effect);
    [[nodiscard]] bool usable() const; // requests can be sent now, as far as we were told
    // ... and the kernel says that it lives. A crash that anybody else can have seen is seen here, so the
    // next request after it goes to the replacement.
    [[nodiscard]] bool reachable() const;
    [[nodiscard]] Error gave_up_error() const;
    [[nodiscard]] Result<void> check_hold(rpc::HoldTag hold) const;
    void set_policy(const HelperSpec& spec);
    [[nodiscard]] base::Moment next_due();

    // Calls (helper_calls.cpp).
    void send_or_wait(const std::shared_ptr<CallState>& call);
    void end_call(const std::shared_ptr<CallState>& call, Result<Reply> result);
    void send_waiting();
    void end_waiting_if_hopeless();
    void end_waiting_of(rpc::HoldTag hold);
    void end_waiting_superseded();
    [[nodiscard]] std::string superseded_words(Generation only) const;
    void expire_waiting(base::Moment now);
    void flush();
    void forget_written();

    // The process (helper_process.cpp), on the loop's thread.
    void start_process(Generation generation);
    void watch_process();
    void watch_output();
    void on_control(std::uint32_t events);
    void hear(const keep::Message& message);
    void on_output(std::uint32_t events);
    void on_writable(std::uint32_t events);
    void on_notify(std::uint32_t events);
    bool read_output(bool to_the_end); // false: the output has ended
    bool read_pieces(bool to_the_end);
    void output_ended();
    void input_ended();
    void keeper_is_gone();
    void tree_is_swept(Generation generation, bool spawned, std::vector<sys::PidFd> left);
    void tear_down();
    void continue_drain();
    void tell_keeper(std::string_view reason); // to end the tree
    void look_after_keeper(base::Moment now);
    void log_event(const char* type, std::optional<int> status = {});

    // What it wrote (helper_health.cpp).
    void receive(std::string_view bytes);
    // Health (helper_health.cpp).
    void ask_health(base::Moment now);
    void hear_health(const rpc::Answer& answer);
    void be_patient_with_who_waits_for_us(base::Moment now);

    // The thread that reads for itself (helper_await.cpp).
    [[nodiscard]] bool may_lead() const;
    void evict_leader(std::unique_lock<std::mutex>& lock);
    void wake_leader() const;
    void make_leader_wake();
    int begin_to_lead(const CallState& call); // the descriptor to read
    void end_to_lead(int output);
    void lead(CallState& call, int output, base::Moment due); // without the lock

    const std::string key_;
    const std::string label_;
    HelperSpec spec_;
    const std::shared_ptr<Engine> engine_;
    const std::uint64_t depth_ = sys::fork_depth();

    mutable std::mutex mutex_;
    std::condition_variable changed_; // phase or generation
    Turn* turn_ = nullptr;            // of whoever has the lock
    core::Supervision machine_;
    core::SupervisionPolicy policy_;
    std::uint64_t dice_state_;

    std::unordered_set<rpc::HoldTag> holds_;
    rpc::HoldTag last_hold_ = 0;
    rpc::Registrations registrations_;
    std::unordered_map<rpc::RegistrationId, Listener> listeners_;

    std::unique_ptr<rpc::Peer> peer_; // of machine_.generation, from `spawned` until the next start
    std::map<std::uint64_t, std::shared_ptr<CallState>> waiting_;
    std::vector<std::shared_ptr<CallState>> unwritten_; // sent, but not yet all the way into the pipe
    rpc::Deadlines waiting_deadlines_;
    std::uint64_t last_waiting_ = 0;

    std::unique_ptr<KeptProcess> kept_; // changed on the loop's thread only, under the lock
    bool output_open_ = false;
    bool helper_spawned_ = false;
    bool watching_writable_ = false;
    bool input_broken_ = false; // the helper no longer reads
    bool draining_ = false;
    base::Moment drain_due_ = base::never;
    base::Moment keeper_due_ = base::never; // it was told to end the tree: by then it has, if it can
    std::string start_error_;               // why the last start failed, in words
    std::vector<sys::PidFd> survivors_;     // what the keeper could not end
    std::uint64_t starts_ = 0;

    rpc::CallId health_call_ = 0;
    base::Moment health_due_ = base::never;
    std::uint64_t patience_words_ = 0;
    std::string progress_words_; // of this start

    std::unordered_map<rpc::HoldTag, Lane> note_lanes_; // of holds that subscribed
    Lane serve_lane_;
    std::uint64_t notes_dropped_ = 0;
    std::uint64_t noise_before_ = 0; // of earlier generations

    const CallState* leader_ = nullptr; // whose thread reads the output now
    bool evict_ = false;
    bool loop_reads_ = false; // ... or the loop does
    sys::Fd leader_wake_;
    sys::ForkShield leader_shield_;
};

// Holds the lock, and afterwards does what must not be done under it.
class Helper::Turn {
public:
    explicit Turn(Helper& helper);
    Turn(const Turn&) = delete;
    Turn& operator=(const Turn&) = delete;
    ~Turn();
    std::unique_lock<std::mutex>& lock() noexcept { return lock_; }

private:
    friend class Helper;
    Helper& helper_;
    std::shared_ptr<Helper> alive_;
    std::unique_lock<std::mutex> lock_;
    std::vector<std::pair<std::shared_ptr<CallState>, Result<Reply>>> ended_;
    std::vector<std::function<void(Helper&)>> posted_; // to the loop
    std::vector<std::shared_ptr<void>> trash_;         // the user's objects
    bool by_leader_ = false;                           // the leader's own thread has this turn
};

} // namespace holdfast::supervise
