#include "registry/entry.hpp"

#include "slot/ownership.hpp"
#include "slot/paths.hpp"
#include "sys/directories.hpp"
#include "sys/proc.hpp"

#include <unistd.h>

namespace holdfast::registry {

Result<Entry> Entry::create(const std::string& directory, std::vector<std::string> argv, std::string session,
                            core::HelperFacts facts) {
    if (auto made = sys::make_directories(directory); !made)
        return std::unexpected(made.error());
    for (;;) {
        SlotLocation location{.directory = directory, .name = sys::random_token().substr(0, 12)};
        auto acquired = acquire(location, {.argv = argv, .session = session});
        if (!acquired && acquired.error().code == Errc::held)
            continue; // somebody threw the same dice
        if (!acquired)
            return std::unexpected(acquired.error());
        Entry entry(std::move(*acquired->ownership));
        entry.ownership_.state()->record.helper = std::move(facts);
        if (auto written = entry.ownership_.state()->write_record(); !written)
            return std::unexpected(written.error());
        return entry;
    }
}

Entry::~Entry() {
    if (!ownership_.state() || ownership_.state()->lock.fd() < 0 || leave_behind_)
        return; // moved from, released, or in the child of a fork
    ::unlink(slot::record_path(ownership_.location()).c_str());
    ::unlink(slot::lock_path(ownership_.location()).c_str());
}

Result<void> Entry::update(const std::function<void(core::HelperFacts&)>& change) {
    change(*ownership_.state()->record.helper);
    return ownership_.state()->write_record();
}

const core::HelperFacts& Entry::facts() const { return *ownership_.state()->record.helper; }

} // namespace holdfast::registry
