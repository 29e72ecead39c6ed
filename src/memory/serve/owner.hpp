// The process that owns a home, serving: its own client, those that are attached, and what it runs beside
// them.
//
// One thread waits for everything (poll) and reads; the store, recall and the pool answer from their own
// threads. The owner's process ends with its own client. When others are attached, everything that was read
// is finished and answered first, then the slot is let go, and one of them goes on: their streams are in
// their ledgers, so they notice nothing but a pause.
#pragma once

#include "memory/serve/attach_socket.hpp"
#include "memory/serve/home_slot.hpp"
#include "memory/serve/run.hpp"
#include "memory/serve/start_report.hpp"
#include "memory/serve/stream.hpp"

#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <set>

namespace holdfast::memory {

class Owner {
public:
    // `slot` owns the home already, or waits for it while the store is "opening". `files`: the books of our
    // own client. `cancel_fd`: an eventfd that ends the wait for the slot.
    Owner(const RunOptions& options, HomeSlot& slot, StartReport& report, LedgerFiles files, int cancel_fd);
    ~Owner();
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

    // Returns when this process should end. Unless `at_once`, the store is closed and the slot released.
    RunEnd run();

private:
    enum class Stage {
        serving,
        draining, // its input ended: finishing what was read
        flushing, // all is answered: the client may still read
        resting,  // done, and stays (a daemon)
    };
    struct Client {
        AttachRequest request;
        std::shared_ptr<Stream> stream;
        Protocol* protocol = nullptr;
        sys::Fd connection; // not valid: our own
        bool own = false;
        bool gone = false;
        bool left = false; // to the next owner, as it is
        Stage stage = Stage::serving;
        std::shared_ptr<std::atomic<bool>> committed; // what it wrote without asking for an answer
        std::int64_t flush_until_ms = 0;
    };
    // A process that has offered its stdio and has not said "go" yet.
    struct Guest {
        sys::Fd connection;
        std::optional<AttachRequest> request;
        std::vector<sys::Fd> descriptors;
        bool gone = false;
        std::int64_t until_ms = 0; // it says what it wants by then, or is sent away: others wait behind it
    };

    Result<void> start();
    bool turn(); // one round; false when it is time to end
    void wait();
    void housekeeping();
    void check_ownership();
    void listen();
    void accept_guests();
    [[nodiscard]] bool door_is_open() const;
    void hear(Guest& guest);
    void hear(Client& client);
    void admit(Guest& guest);
    void step(Client& client);
    void finish(Client& client);
    void begin_leaving(std::int64_t at_most_ms, std::string reason);
    [[nodiscard]] bool all_settled() const;
    [[nodiscard]] bool somebody_is_ending() const;
    [[nodiscard]] bool wanted() const;
    [[nodiscard]] int next_timeout() const;
    void tell_attached();
    void tell_viewer(const Client& client) const;
    RunEnd close();
    Protocol* protocol_named(const std::string& name);
    std::shared_ptr<std::atomic<bool>> barrier();
    void wake() const;

    const RunOptions& options_;
    HomeSlot& slot_;
    StartReport& report_;
    LedgerFiles own_files_;
    int cancel_fd_;
    sys::Fd wake_;
    HostCalls host_calls_; // before the service, whose threads use it
    std::shared_ptr<HostEmbeddings> host_embeddings_ = std::make_shared<HostEmbeddings>(host_calls_);
    std::unique_ptr<Service> service_;
    std::unique_ptr<Contract> contract_;
    std::unique_ptr<OwnerDesk> desk_;
    std::map<std::string, std::unique_ptr<Protocol>> protocols_;
    std::unique_ptr<Companion> companion_;
    std::string viewer_address_; // empty: there is none
    sys::Fd listener_;
    std::int64_t listen_at_ms_ = 0;                // not before; what was in the way may go away
    bool listening_failed_ = false;                // and that was said
    std::int64_t accept_at_ms_ = 0;                // not before: there were no descriptors left
    static constexpr std::size_t most_guests = 64; // offered and not yet taken
    std::list<Guest> guests_;
    std::list<Client> clients_;
    bool own_done_ = false;
    bool leaving_ = false;
    bool lost_ = false;
    bool stopped_ = false;
    std::int64_t leave_until_ms_ = 0;
    std::shared_ptr<std::atomic<bool>> leave_committed_;
    static constexpr std::int64_t check_every_ms = 2000;
    std::int64_t check_at_ms_ = 0;
    std::int64_t last_seen_ms_ = 0; // when somebody was last here
    std::string leave_reason_;
    bool shutdown_asked_ = false;

    std::mutex news_mutex_; // what other threads have to say
    std::set<const Peer*> shutdowns_;
    std::atomic<bool> fenced_ = false;
    bool state_changed_ = false;
};

} // namespace holdfast::memory
