// The books of one client's two pipes, kept so that they survive the process that keeps them.
//
// The owner of a home reads and writes the pipes of clients whose own processes live elsewhere. When the
// owner is killed, even by SIGKILL between any two instructions, the next one must go on in the middle of
// both streams: no byte of a half-read request may be lost, no half-written answer may be torn or repeated,
// and every request that was read and not answered must be known, so that its client hears of it. So all of
// that lives in two memory files that the client's own process makes and keeps:
//
//   state   what was read and is not used up, and the ids of requests that are being worked on. The books are
//   moved
//           from one sound state to the next by single stores: a process may die between any two of them.
//   outbox  every answer, appended before it is sent. It goes into the client's pipe by splice(2) from the
//   file's own
//           position, which the kernel moves together with the bytes: so how much was sent is never a guess.
//
// How many bytes a read(2) brought is known even if the reader died before it could note it: the room is
// filled with 0xFF first, a byte that no UTF-8 text contains.
//
// One process at a time has a Ledger of a client open. Not thread-safe but for what it says.
#pragma once

#include "holdfast/result.hpp"
#include "rpc/framing.hpp"
#include "sys/fd.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

namespace holdfast::memory {

// The two files of a client, by descriptor; whoever has them can open the ledger.
struct LedgerFiles {
    sys::Fd state;
    sys::Fd outbox;
    static Result<LedgerFiles> make();
    [[nodiscard]] Result<LedgerFiles> duplicate() const;
    // Nobody can cut off what is mapped of it.
    [[nodiscard]] bool sealed() const;
};

class Ledger {
public:
    static constexpr std::size_t default_line = rpc::default_max_message;
    static constexpr std::size_t least_line = std::size_t{4} << 10;
    static constexpr std::size_t most_line = std::size_t{31} << 20; // what the books have room for
    static constexpr std::uint32_t max_in_flight = 32 * 1024;
    static constexpr std::size_t max_id = 4096;
    static constexpr std::size_t max_note = std::size_t{32} << 10;

    // Opens the books as the last process left them. Error protocol: these are no books of ours.
    static Result<Ledger> open(LedgerFiles files);
    Ledger(Ledger&& other) noexcept;
    Ledger& operator=(Ledger&&) = delete;
    Ledger(const Ledger&) = delete;
    Ledger& operator=(const Ledger&) = delete;
    ~Ledger();

    // What somebody sees who has the state file mapped for reading while another process keeps the books:
    // true at some moment, perhaps not any more.
    struct Seen {
        bool in_flight = false;   // a request was read and is not answered
        std::uint64_t staged = 0; // the end of the answers in the outbox
    };
    static Seen look_into(const void* mapped) noexcept;

    // --- input
    // The longest line that is handed out, from least_line to most_line; longer ones are oversize.
    void limit_lines(std::size_t bytes) noexcept;
    [[nodiscard]] std::size_t line_limit() const noexcept { return line_limit_; }
    // One read(2): what it returned, with errno.
    ssize_t fill(int in);
    struct Line {
        enum class Kind : std::uint8_t { none, message, oversize };
        Kind kind = Kind::none;
        std::string_view text; // valid until the next fill()
    };
    // The next line. With `at_end` the rest without a newline is one too. It counts as read only when begin()
    // or used() was called; otherwise the next owner reads it again.
    Line next(bool at_end);
    void used();

    // --- requests in flight
    // Notes the id of the line in hand and that the line was read, in one step. 0: it is longer than max_id,
    // or there is no room for it.
    std::uint32_t begin(std::string_view raw_id);
    // A further request can be noted, whatever its id. When not, lines have to wait until answers were
    // staged: all that is in flight may have to be answered first.
    [[nodiscard]] bool has_room() const noexcept;
    [[nodiscard]] std::uint32_t in_flight() const noexcept { return in_flight_; }
    // Requests that the last process had begun and not answered. Call once, after open.
    struct Lost {
        std::uint32_t ticket;
        std::string raw_id;
    };
    std::vector<Lost> lost() const;

    // --- what the protocol wants to be remembered of the client. Replaced as a whole, by one store.
    bool remember(std::string_view note);
    [[nodiscard]] std::string remembered() const;

    // --- output
    // Appends a line and notes in one step that the ticket (0: none) was answered. False: no memory for it.
    bool stage(std::uint32_t ticket, std::string_view message);
    // Ends a ticket without an answer: its client is gone.
    void drop(std::uint32_t ticket);
    enum class Sent : std::uint8_t { all, blocked, gone };
    // Hands what is staged to `out`, as much as it takes now.
    Sent pump(int out);
    [[nodiscard]] std::uint64_t unsent() const noexcept;

private:
    struct Shared;
    struct Slot;
    Ledger(LedgerFiles files, void* mapped) noexcept;
    [[nodiscard]] char* buffer() const noexcept;
    [[nodiscard]] Slot* slot(std::uint32_t index) const noexcept;
    Result<void> recover();
    void make_room();
    void clear_slots(std::uint32_t at);
    void free_slot(std::uint32_t ticket);
    void give_back_sent(int out);
    ssize_t pump_other(int out, std::size_t amount);

    LedgerFiles files_;
    void* mapped_ = nullptr;
    Shared* shared_ = nullptr;
    std::uint32_t clean_to_ = 0;   // the buffer is 0xFF from the tail up to here
    std::uint32_t scanned_ = 0;    // no newline within so many bytes from the head
    std::uint64_t after_line_ = 0; // the input word once the line in hand is used up
    bool line_in_hand_ = false;
    std::size_t line_limit_ = default_line;
    std::uint32_t in_flight_ = 0;
    std::vector<std::uint32_t> free_; // single slots
    std::uint64_t sent_ = 0;          // the outbox's position
    std::uint64_t given_back_ = 0;    // its pages below this were freed
    bool not_a_pipe_ = false;
};

} // namespace holdfast::memory
