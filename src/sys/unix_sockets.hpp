// All unix sockets of our network namespace, as the kernel's sock_diag lists them: who is connected to whom,
// by inode.
#pragma once

#include "holdfast/result.hpp"

#include <cstdint>
#include <unordered_map>

namespace holdfast::sys {

struct UnixSocket {
    bool stream = false; // or seqpacket: closing one side is seen by the other
    bool listening = false;
    bool named = false;
    std::uint64_t peer = 0; // inode of the other side; 0 for none, or when the other side was closed
    bool shut = false;      // nothing can come in and nothing can go out any more
    bool unread = false;

    // The other side of this connection is closed, by all who had it.
    [[nodiscard]] bool peer_gone() const { return stream && !listening && shut && peer == 0; }
};

using UnixSockets = std::unordered_map<std::uint64_t, UnixSocket>; // by inode

// Works for every user. Error unsupported or not_permitted where the kernel or a sandbox does not answer.
Result<UnixSockets> list_unix_sockets();

} // namespace holdfast::sys
