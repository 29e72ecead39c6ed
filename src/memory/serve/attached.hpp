// A process whose client is served by the owner of the home. It only waits: for the end of its client, of the
// owner, or of itself.
#pragma once

#include "memory/serve/attach_socket.hpp"
#include "memory/serve/ledger.hpp"
#include "memory/serve/stopped_owner.hpp"
#include "memory/serve/waiting_client.hpp"
#include "memory/writer/store.hpp"

#include <chrono>
#include <functional>

namespace holdfast::memory {

// Offers the stdio with its books to the owner. The connection, once the owner has it; from then on the owner
// alone reads and writes them. Errors: not_found (nobody listens, or nobody answers in time), unsupported
// (the owner speaks another version: why, and what to do), protocol (refused otherwise: why). `stop_fd`
// readable ends the wait (cancelled). `stopped`: wakes an owner that is stopped; null: who is stopped stays
// so.
Result<sys::Fd> offer(const std::string& home, const AttachRequest& request, int in, int out,
                      const LedgerFiles& files, std::chrono::milliseconds patience, int stop_fd,
                      StoppedOwner* stopped);

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
// What the owner tells meanwhile: how far its start is, and where its viewer can be reached (to who wants
// it).
struct AttachedNews {
    std::function<void(const Progress&)> on_state;
    std::function<void(const std::string& address)> on_viewer;
};
// Meanwhile an owner that is stopped although the client waits for it is woken.
AttachedResult stay_attached(int connection, int stop_fd, std::chrono::milliseconds drain_bound,
                             const AttachedNews& news, const WaitingClient& client, StoppedOwner& stopped);

} // namespace holdfast::memory
