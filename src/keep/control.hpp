// The words between front (or host library) and keeper: one packet each on a SOCK_SEQPACKET pair, plain text
// so that a trace can be read. The closing of the socket is a word too: the other side is dead.
//
// The format has one version: it stands for these words and for the command line of the keeper. A library and
// the keeper that it starts may come from different releases, so both look, and both must have the very same
// one; there is nothing to gain from a keeper of another release, which is installed with its library. The
// library names its version in the first word of the command line, before anything starts; the keeper names
// its own in `spawned`. `--protocol=N`, `--control=FD` and `refused` keep their form in all versions. The
// front of `holdfast run` forks its keeper, which is then the same program: nothing to compare there.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace holdfast::keep {

inline constexpr int protocol_version = 1;

// To the keeper:   stop REASON | signal NUMBER [VALUE] | moved (the helper said something: it is not idle)
// From the keeper: spawned PID CONTAINMENT PROTOCOL | refused TEXT | failed ERRNO | exited STATUS SIGNAL
// CPU_MS RSS_KB | restarting COUNT DELAY_MS |
//                  gave-up COUNT | stopping REASON | survivor PID | done
struct Message {
    std::string word;
    std::vector<std::string> values;
    [[nodiscard]] long number(std::size_t index) const; // 0 when absent or not a number
    [[nodiscard]] std::optional<std::uint64_t> value(std::size_t index) const; // of all 64 bits
};

class Control {
public:
    // (front's end, keeper's end), both close-on-exec and non-blocking.
    static Result<std::pair<Control, Control>> make_pair();
    explicit Control(sys::Fd fd) noexcept
        : fd_(std::move(fd)) {}

    [[nodiscard]] int fd() const noexcept { return fd_.get(); }
    enum class Sent { yes, full, gone };
    // `full`: hundreds of words are unread on the other side. The socket is writable when there is room.
    [[nodiscard]] Sent offer(std::string_view text) const;
    // For words that may be lost then: false when the other side is gone or the queue is full.
    bool send(std::string_view text) const { return offer(text) == Sent::yes; }

    enum class State { message, nothing_yet, closed };
    State receive(Message& message) const;

private:
    sys::Fd fd_;
};

// The first word of a keeper's command line, after its name.
std::string protocol_word();
// The number of the control socket in a keeper's command line of any version; -1 when there is none.
int control_fd_in(const std::vector<std::string>& argv);
// In the keeper, before the rest of the command line is read: the version of the library that wrote it, when
// it is another than ours; 0 stands for one before the first. Nothing when it is ours, or when a person has
// typed the command line, who passes no control socket.
std::optional<int> other_protocol_in(const std::vector<std::string>& argv);
// For people: both versions and the way out.
std::string describe_other_protocol(int keeper, int library);

} // namespace holdfast::keep
