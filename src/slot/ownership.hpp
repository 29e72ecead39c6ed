// What stands behind an Ownership: the lock file with its bytes, and the record as last written.
#pragma once

#include "base/record.hpp"
#include "holdfast/slot.hpp"
#include "sys/file_watch.hpp"
#include "sys/lock_file.hpp"

#include <optional>

namespace holdfast {

class Ownership::State {
public:
    State(SlotLocation location, sys::LockFile lock, base::Record record);
    State(const State&) = delete;
    State& operator=(const State&) = delete;
    ~State();

    // `lost` when the path shows another lock file: the record there is not ours to write.
    Result<void> write_record();
    [[nodiscard]] std::unexpected<Error> lost() const;

    SlotLocation location;
    sys::LockFile lock;
    base::Record record;
    bool life_given = false;             // life_fd() was asked for: others may share the open file now
    std::optional<sys::FileWatch> watch; // made when first asked for
};

} // namespace holdfast
