// How far the start is, told to those who wait for it: the service manager above us, and a person at a
// terminal.
#pragma once

#include "memory/writer/store.hpp"

#include <mutex>
#include <string>

namespace holdfast::memory {

// "recovering the write-ahead log: 12 of 600 MB", "migrating: step 1 of 3 (name)", "ready".
std::string sentence(const Progress& progress);

class StartReport {
public:
    // `notify_address`: NOTIFY_SOCKET, or empty. `person`: stderr is a terminal that can rewrite a line.
    StartReport(std::string notify_address, bool person);
    // Takes a bar away that nobody has ended: a process may leave before its start is over.
    ~StartReport();
    StartReport(const StartReport&) = delete;
    StartReport& operator=(const StartReport&) = delete;
    // From any thread. A phase is told at once, its numbers a few times a second. False: not told this time.
    bool tell(const Progress& progress);
    // Where the viewer can be reached, for the record of whoever guards us (HOLDFAST_ADDRESS).
    void tell_address(const std::string& address) const;

private:
    void tell_manager(const Progress& progress) const;
    void tell_person(const Progress& progress);

    std::string notify_address_;
    bool person_;
    std::mutex mutex_;
    bool told_any_ = false;
    bool ready_told_ = false;
    bool bar_stands_ = false;
    Phase last_phase_ = Phase::opening;
    std::string last_detail_;
    std::int64_t last_ms_ = 0;
};

} // namespace holdfast::memory
