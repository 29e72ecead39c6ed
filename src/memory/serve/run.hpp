// A memory process from its first instruction to its last: owner of its home, or attached to the owner and
// ready to take over. holdfast-memory and `holdfast memory mcp` are this with different flags.
#pragma once

#include "memory/serve/attach_socket.hpp"
#include "memory/serve/ledger.hpp"
#include "memory/serve/owner_desk.hpp"
#include "sys/fd.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::memory {

struct RunOptions {
    std::string home; // absolute
    std::string agent = "default";
    std::string protocol = "rpc";  // that our own client speaks: "rpc", or the name of one of `protocols`
    bool daemon = false;           // stays when its input ends
    bool viewer = false;           // wants the companion
    std::uint16_t viewer_port = 0; // and where; 0: anywhere
    std::size_t max_line = Ledger::default_line; // the longest line that is taken of our own client
    // Attached, with the viewer wanted: the owner serves it at this address ("http://127.0.0.1:8377/"). Again
    // when it has moved.
    std::function<void(const std::string& address)> on_viewer;
    std::optional<std::chrono::milliseconds>
        idle;                      // a daemon that owns the home leaves after so long without anybody
    std::vector<std::string> argv; // for the slot's record
    int in = 0;
    int out = 1;
    int signal_fd = -1;         // a signalfd of the signals that mean "end": blocked in every thread
    std::string notify_address; // NOTIFY_SOCKET
    bool person = false;        // stderr is a terminal: show progress there
    // The client shows a person what it was answered: why the store could not be opened need not be said on
    // stderr, too.
    bool told_by_client = false;
    std::vector<NamedProtocol> protocols; // that this process can serve besides "rpc"
    MakeCompanion companion;              // the viewer; empty: there is none
};

// What a process with these options asks of an owner for its client.
AttachRequest attach_request(const RunOptions& options);

// Of a home that cannot be used at all; otherwise a failure is 1. They mean the same as holdfast's own
// (docs/exit-codes.md).
inline constexpr int exit_no_space = 73;
inline constexpr int exit_not_writable = 77;

int exit_code_of(const Error& error) noexcept;

struct RunEnd {
    int code = 0;
    // Something could not be finished in time and still runs on threads: leave by _exit, at once.
    bool at_once = false;
    std::string message; // for stderr; empty: nothing to say
};

// The stated bound: from TERM or INT to the end.
inline constexpr std::chrono::milliseconds drain_bound{10'000};

// Serves its stdio until that ends (or, as a daemon, until it is asked to). Never throws.
RunEnd run(const RunOptions& options);

// For a command that wants to ask something: a connection to the living owner of the home, as a pair of
// descriptors to write lines to and to read lines from. The connection ends when `link` is closed. not_found:
// nobody owns the home, or the owner does not answer within the time. unsupported: it speaks another version.
struct ClientLink {
    sys::Fd to_owner;
    sys::Fd from_owner;
    sys::Fd link;
};
Result<ClientLink> attach_client(const std::string& home, const std::string& protocol,
                                 std::chrono::milliseconds at_most = std::chrono::milliseconds(5000));

} // namespace holdfast::memory
