#include "registry/entry.hpp"

#include "base/text.hpp"
#include "records/paths.hpp"
#include "slot/contender.hpp"
#include "slot/entry_files.hpp"
#include "slot/ownership.hpp"
#include "sys/directories.hpp"
#include "sys/proc.hpp"
#include "sys/random.hpp"

#include <cerrno>

namespace holdfast::registry {

Result<Entry> Entry::create(const std::string& directory, std::vector<std::string> argv, std::string session,
                            base::HelperFacts facts) {
    if (auto made = sys::make_directories(directory); !made)
        return std::unexpected(made.error());
    for (;;) {
        SlotLocation location{.directory = directory, .name = sys::random_token().substr(0, 12)};
        slot::Contender contender(location, {.argv = argv, .session = session}, {.helper = facts});
        auto acquired = contender.run();
        if (!acquired && acquired.error().code == Errc::held)
            continue; // somebody threw the same dice
        if (!acquired) {
            slot::remove_entry_files(location); // of a fresh id: nobody else's
            return std::unexpected(acquired.error());
        }
        return Entry(std::move(*acquired->ownership));
    }
}

Entry Entry::unlisted(const std::string& directory, std::vector<std::string> argv, std::string session,
                      base::HelperFacts facts) {
    SlotLocation location{.directory = directory, .name = sys::random_token().substr(0, 12)};
    base::Record record{.name = location.name, .argv = std::move(argv), .session = std::move(session)};
    record.helper = std::move(facts);
    auto no_file = sys::LockFile::none(records::lock_path(location));
    return Entry(Ownership(
        std::make_unique<Ownership::State>(std::move(location), std::move(no_file), std::move(record))));
}

bool Entry::can_do_without(const Error& error) noexcept {
    switch (error.sys) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
    case EROFS:
    case EACCES:
    case EPERM:
    case ENOENT:
    case ENOTDIR:
    case EIO:
    case ESTALE:
        return true;
    default:
        return false;
    }
}

Result<Entry> Entry::take_over(const std::string& directory, const std::string& id) {
    slot::Contender contender({.directory = directory, .name = id},
                              {.if_held = IfHeld::refuse, .wait = Millis{0}}, {.inherit_record = true});
    auto acquired = contender.run();
    if (!acquired)
        return std::unexpected(acquired.error());
    Entry entry(std::move(*acquired->ownership));
    if (!entry.ownership_.state()->record.helper) // nothing to lose: the entry goes as it goes out of scope
        return fail(Errc::not_found, base::cat("the entry ", id, " says nothing of a process"));
    return entry;
}

Entry::~Entry() {
    if (!ownership_.state() || ownership_.state()->lock.fd() < 0 || leave_behind_)
        return; // moved from, released, or in the child of a fork
    slot::remove_entry_files(ownership_.location());
}

Result<void> Entry::update(const std::function<void(base::HelperFacts&)>& change) {
    change(*ownership_.state()->record.helper);
    return ownership_.state()->write_record();
}

const base::HelperFacts& Entry::facts() const {
    return *ownership_.state()->record.helper;
}

const base::Record& Entry::record() const {
    return ownership_.state()->record;
}

} // namespace holdfast::registry
