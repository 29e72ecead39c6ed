// What stands behind an Ownership: the lock file with its bytes, and the record as last written.
#pragma once

#include "core/record.hpp"
#include "holdfast/slot.hpp"
#include "sys/file_watch.hpp"
#include "sys/lock_file.hpp"

#include <optional>

namespace holdfast {

class Ownership::State {
public:
    State(SlotLocation location, sys::LockFile lock, core::Record record);

    Result<void> write_record();

    SlotLocation location;
    sys::LockFile lock;
    core::Record record;
    std::optional<sys::FileWatch> watch; // made when first asked for: closing one costs the kernel milliseconds
};

} // namespace holdfast
