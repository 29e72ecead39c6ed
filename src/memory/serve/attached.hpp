// A process whose client is served by the owner of the home. It only waits: for the end of its client, of the
// owner, or of itself.
#pragma once

#include "memory/serve/attach_socket.hpp"
#include "memory/serve/ledger.hpp"
#include "memory/store/store.hpp"

#include <chrono>
#include <functional>

namespace holdfast::memory {

// Offers the stdio with its books to the owner. The connection, once the owner has it; from then on the owner
// alone reads and writes them. Errors: not_found (nobody listens, or nobody answers in time), protocol
// (refused: why). `stop_fd` readable ends the wait (cancelled).
Result<sys::Fd> offer(const std::string& home, const AttachRequest& request, int in, int out,
                      const LedgerFiles& files, std::chrono::milliseconds patience, int stop_fd);

enum class AttachedEnd {
    done,       // the client's input ended, everything is answered
    owner_gone, // stdio is ours again
    too_late,   // asked to stop, and the owner did not finish in time
};
struct AttachedResult {
    AttachedEnd end = AttachedEnd::done;
    int code = 0;
    bool stopping = false; // a signal had come
};
AttachedResult stay_attached(int connection, int stop_fd, std::chrono::milliseconds drain_bound,
                             const std::function<void(const Progress&)>& on_state);

} // namespace holdfast::memory
