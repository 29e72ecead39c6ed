// JSON-RPC with a process that is kept running (generations.hpp): requests and notifications both ways, what
// is registered for them, and the thread that waits for an answer and reads it by itself.
//
// Threads: all public functions may be called from any thread. They share the lock of the Generations: what
// is said to the outside (answers, callbacks, destructors of the user's objects) is collected under it, and
// done when the turn is over. The output is read by the loop's thread, or by one thread that waits for an
// answer.
#pragma once

#include "holdfast/supervisor.hpp"
#include "rpc/peer.hpp"
#include "supervise/call_state.hpp"
#include "supervise/callbacks.hpp"
#include "supervise/generations.hpp"
#include "supervise/lane.hpp"

#include <condition_variable>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

namespace holdfast::supervise {

class Conversation final : public GenerationEvents, private rpc::PeerEvents {
public:
    Conversation(std::string key, const HelperSpec& spec, std::shared_ptr<Engine> engine,
                 std::shared_ptr<Callbacks> callbacks);
    ~Conversation() override;

    // The process, and whoever wants it. A hold is taken and released here, for what is registered by it.
    [[nodiscard]] Generations& process() noexcept { return process_; }
    [[nodiscard]] const Generations& process() const noexcept { return process_; }
    Result<HoldTag> hold(const HelperSpec& spec);
    void release(HoldTag hold);
    [[nodiscard]] HelperStatus status() const;
    [[nodiscard]] HelperStatus status(HoldTag hold) const; // closed, when it was released
    [[nodiscard]] const std::string& key() const noexcept { return key_; }
    [[nodiscard]] bool is_fork() const noexcept { return process_.is_fork(); }
    void drop_lanes(); // callbacks that were not begun, except answers

    // Requests of ours.
    void submit(const std::shared_ptr<CallState>& call);
    void cancel(const std::shared_ptr<CallState>& call);
    // Waits for the answer, reading the helper's output itself where it can: the answer then comes to the
    // thread that wants it, without a change of threads. False when it is not there by `due`.
    bool await(CallState& call, base::Moment due);
    // Both in one: nothing else is woken when the answer comes at once.
    bool submit_and_await(const std::shared_ptr<CallState>& call, base::Moment due);
    Result<void> notify(HoldTag hold, std::string_view method, std::string_view params);

    // What the helper says by itself.
    Result<rpc::RegistrationId> subscribe(HoldTag hold, std::string_view method, Notified notified);
    Result<rpc::RegistrationId> serve(HoldTag hold, std::string_view method, Served served);
    void unregister(rpc::RegistrationId id);
    Result<void> reply(Generation generation, HoldTag hold, rpc::RequestId request, std::string_view result);
    Result<void> reply_error(Generation generation, HoldTag hold, rpc::RequestId request, int code,
                             std::string_view message, std::string_view data);

private:
    using Lock = Generations::Lock;
    struct Listener {
        HoldTag hold = 0;
        std::shared_ptr<Notified> notified;
        std::shared_ptr<Served> served;
    };
    using Ended = std::vector<std::pair<std::shared_ptr<CallState>, Result<Reply>>>;

    // GenerationEvents.
    void on_start(Turn& turn) override;
    void on_spawned(Turn& turn) override;
    void read_rest() override;
    void on_input_closing(Turn& turn) override;
    void on_closing(Turn& turn) override;
    void on_ready(Turn& turn) override;
    void on_changed(Turn& turn) override;
    void on_lost(Turn& turn, std::string_view why) override;
    void on_drain(Turn& turn) override;
    bool has_unsent(Turn& turn) override;
    bool waits_for_us(Turn& turn) override;
    base::Moment next_due(Turn& turn) override;
    void tick(Turn& turn, base::Moment now) override;
    void begin_of_turn(Turn& turn) override;
    void end_of_turn(Turn& turn) override;

    // rpc::PeerEvents: called within turn_, by what the peer was asked to do.
    void on_answer(rpc::CallId call, std::uint64_t token, const rpc::Answer& answer) override;
    void on_notification(rpc::RegistrationId listener, HoldTag hold, std::string_view method,
                         std::string_view params) override;
    void on_request(rpc::RegistrationId server, HoldTag hold, rpc::RequestId request, std::string_view method,
                    std::string_view params) override;
    void on_request_gone(HoldTag hold, rpc::RequestId request) override;
    void on_noise(std::string_view why, std::string_view excerpt) override;

    [[nodiscard]] std::weak_ptr<Conversation> weak();
    [[nodiscard]] HelperStatus read_status(const Lock& lock) const;

    // Calls (conversation_calls.cpp).
    void send_or_wait(Turn& turn, const std::shared_ptr<CallState>& call);
    void wait_for_start(const std::shared_ptr<CallState>& call);
    void end_call(const std::shared_ptr<CallState>& call, Result<Reply> result);
    void tell_ended(Turn& turn);
    void send_waiting(Turn& turn);
    void end_waiting_if_hopeless(Turn& turn);
    void end_waiting_of(HoldTag hold);
    void end_waiting_superseded(Turn& turn);
    [[nodiscard]] std::string superseded_words(const Lock& lock, Generation only) const;
    void expire_waiting(Turn& turn, base::Moment now);

    // Its stdin and stdout (conversation_output.cpp).
    void on_output();
    void on_writable(std::uint32_t events);
    bool read_output(bool to_the_end); // false: the output has ended
    bool read_pieces(bool to_the_end);
    void output_ended();
    void receive(Turn& turn, std::string_view bytes);
    void flush(Turn& turn);
    void forget_written();

    // Health (conversation_health.cpp).
    void ask_health(Turn& turn, base::Moment now);
    void hear_health(Turn& turn, const rpc::Answer& answer);

    // The thread that reads for itself (conversation_await.cpp).
    [[nodiscard]] bool may_lead(const Lock& lock) const;
    void evict_leader(Lock& lock);
    void wake_leader() const;
    void make_leader_wake();
    int begin_to_lead(const Lock& lock, const CallState& call); // the descriptor to read
    void end_to_lead(int output);
    void lead(CallState& call, int output, base::Moment due); // without the lock

    const std::string key_;
    HelperSpec spec_; // under the lock, as all below
    const std::shared_ptr<Engine> engine_;
    const std::shared_ptr<Callbacks> callbacks_;

    rpc::Registrations registrations_;
    std::unordered_map<rpc::RegistrationId, Listener> listeners_;
    std::unique_ptr<rpc::Peer> peer_; // of the present generation, from `spawned` until the next start
    Turn* turn_ = nullptr;            // of whoever has the lock
    Ended ended_;                     // in this turn
    std::vector<std::shared_ptr<void>> trash_; // the user's objects

    std::map<std::uint64_t, std::shared_ptr<CallState>> waiting_;
    std::vector<std::shared_ptr<CallState>> unwritten_; // sent, but not yet all the way into the pipe
    rpc::Deadlines waiting_deadlines_;
    std::uint64_t last_waiting_ = 0;

    bool watching_writable_ = false;
    bool input_broken_ = false; // the helper no longer reads
    int output_ = -1;           // while there is more to read; changed on the loop's thread only

    rpc::CallId health_call_ = 0;
    base::Moment health_due_ = base::never;

    std::unordered_map<HoldTag, Lane> note_lanes_; // of holds that subscribed
    Lane serve_lane_;
    std::uint64_t notes_dropped_ = 0;
    std::uint64_t noise_before_ = 0; // of earlier generations

    const CallState* leader_ = nullptr; // whose thread reads the output now
    bool leader_acts_ = false;          // its own thread has this turn
    bool evict_ = false;
    bool loop_reads_ = false; // ... or the loop does
    std::condition_variable leader_left_;
    sys::Fd leader_wake_;
    sys::ForkShield leader_shield_;

    Generations process_; // last: its timer goes first
};

} // namespace holdfast::supervise
