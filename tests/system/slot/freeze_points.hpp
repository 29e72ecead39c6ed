// Points at which a process stops itself (SIGSTOP), once each when armed. They sit in the calls the
// library makes to libc, so that a test can hold a process at an exact place of the protocol and let others
// run meanwhile.
#pragma once

#include <atomic>

namespace holdfast::slot_child {

struct FreezePoints {
    std::atomic<bool> epoch_write{false};   // before the epoch is written (pwrite)
    std::atomic<int> pidfd_open{0};         // before the n-th pidfd from now is opened; 0: never
    std::atomic<bool> pidfd_signal{false};  // before a signal is sent through a pidfd
    std::atomic<bool> lock_close{false};    // before the lock file is closed
    std::atomic<bool> record_rename{false}; // before the record is put in place
};
extern FreezePoints freeze;

} // namespace holdfast::slot_child
