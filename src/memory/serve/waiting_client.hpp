// What the process of an attached client can see of it without touching anything: whether it waits for the
// owner.
#pragma once

#include "holdfast/result.hpp"
#include "memory/serve/ledger.hpp"

namespace holdfast::memory {

class WaitingClient {
public:
    // The descriptors and the files stay the caller's, and are there as long as this is. Where the books
    // cannot be looked into, the client counts as waiting.
    WaitingClient(int in, int out, const LedgerFiles& files);
    ~WaitingClient();
    WaitingClient(const WaitingClient&) = delete;
    WaitingClient& operator=(const WaitingClient&) = delete;

    // It has written something (or gone away) that nobody has read, has asked something that is not answered,
    // or could take an answer that is not sent. True for an instant in ordinary service, too.
    [[nodiscard]] bool waits() const;

private:
    int in_;
    int out_;
    int outbox_;
    const void* books_ = nullptr; // mapped for reading
};

} // namespace holdfast::memory
