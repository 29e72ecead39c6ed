// The way to a home's owner: a socket inside the home over which a process hands its stdio to the owner.
//
// Packets, both ways, each one message:
//   process -> owner   {"attach":2,"release":…,"protocol":"rpc","agent":…,"viewer":bool,"stay":bool,
//                      "maxLine":n,"pid":n}, with four descriptors: stdin, stdout, and the two files of its
//                      ledger. "go", after the owner's "ok": from now on the owner reads stdin. (Until then
//                      it does not: a process may have lost patience with a paused owner.) Later "stop": it
//                      was asked to end.
//   owner -> process   "ok", or "no REASON", or "no version REASON". "state PHASE DONE TOTAL DETAIL" while
//   the
//                      store is being opened. "done CODE": the client's input ended and everything is
//                      answered.
//
// Versions. "attach" is the version of all of this and of the ledger's files. It goes up when one side would
// misread the other: a packet that must be understood, another layout of the ledger. Unknown members are
// ignored and missing ones have a default, so what may be ignored does not raise it. Equal numbers are
// served, whatever release of Holdfast the two processes are. Unequal ones are refused with "no version
// REASON", which names both and what to do; a refused process says so, and then ends (a command) or waits for
// the owner's end (a helper of a host). The words "no", "version" and the member "attach" stay in every
// version.
//
// The end of the connection, on either side, is the end of that process: the owner drops the client, the
// process looks for the next owner. The socket's file lies in the home, so it is reached by the same right as
// the data.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memory {

inline constexpr const char* attach_socket_name = "memory.sock";
// 2: room for longer lines in the books of a client, and its own limit of them.
inline constexpr int attach_version = 2;
inline constexpr std::string_view version_refusal = "no version ";

// Only for the one that owns the home's slot: replaces whatever lies there under that name.
Result<sys::Fd> listen_in(const std::string& home);
// not_found: nobody listens there now.
Result<sys::Fd> connect_to(const std::string& home);
// The next connection of a process of our own user; nothing when there is none.
sys::Fd accept_own(int listener);

// False: the other side is gone, or (with descriptors or not) does not take it now.
bool send_packet(int connection, std::string_view text, const std::vector<int>& descriptors = {});

struct Packet {
    std::string text;
    std::vector<sys::Fd> descriptors;
    bool descriptors_lost = false; // some that came along: this process may not have more
};
// Without waiting. Nothing: the other side is gone (`gone` set), or has said nothing.
std::optional<Packet> receive_packet(int connection, bool& gone);

struct AttachRequest {
    std::string protocol = "rpc";
    std::string agent;
    bool viewer = false; // wants the viewer's pages as long as it is attached
    bool stay = false; // stays when its input ends, until it is stopped or core.shutdown is asked (a daemon)
    std::size_t max_line = 0; // the longest line that its client may send; 0: as the owner has it by default
    std::uint16_t port = 0;   // where it would like the pages; 0: anywhere. The first who wants them is heard
};
std::string to_text(const AttachRequest& request);
// Errors: unsupported (another version; the message is the reason of the refusal), protocol (no request).
// `home` is for the reason.
Result<AttachRequest> parse_attach(std::string_view text, const std::string& home);

} // namespace holdfast::memory
