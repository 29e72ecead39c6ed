// One helper in the registry: a locked record under a fresh id. The lock says whether it is true, so nothing
// here is ever stale; an entry whose lock is free is history and is cleared away by the next writer.
#pragma once

#include "base/record.hpp"
#include "holdfast/slot.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace holdfast::registry {

class Entry {
public:
    // `directory` is made when missing. The id is 12 hex digits, never used before.
    static Result<Entry> create(const std::string& directory, std::vector<std::string> argv,
                                std::string session, base::HelperFacts facts);
    // One of this process alone, for when create() has failed: it has an id and facts, but no file and no
    // lock. Nobody lists the helper, and nobody finds what it leaves when both its guards are killed.
    static Entry unlisted(const std::string& directory, std::vector<std::string> argv, std::string session,
                          base::HelperFacts facts);
    // Whether that is the answer to this failure: the place is full, read-only or not to be used, which says
    // nothing about the helper.
    static bool can_do_without(const Error& error) noexcept;
    // Takes over an entry whose host is dead, with all that its record says. Errors: held (its host lives, or
    // another took it first), orphaned or timed_out (a process of the dead host still holds its life),
    // not_found (it says nothing of a process).
    static Result<Entry> take_over(const std::string& directory, const std::string& id);
    Entry(Entry&&) noexcept = default;
    Entry& operator=(Entry&&) noexcept = default;
    Entry(const Entry&) = delete;
    Entry& operator=(const Entry&) = delete;
    ~Entry(); // removes both files, and then releases the lock

    [[nodiscard]] const std::string& id() const noexcept { return ownership_.location().name; }
    [[nodiscard]] Ownership& ownership() noexcept { return ownership_; }
    [[nodiscard]] const base::Record& record() const;
    // Changes the facts and writes the record.
    Result<void> update(const std::function<void(base::HelperFacts&)>& change);
    [[nodiscard]] const base::HelperFacts& facts() const;
    // Leaves the files where they are: the processes named in it are not gone yet.
    void leave_behind() noexcept { leave_behind_ = true; }

private:
    explicit Entry(Ownership ownership) noexcept
        : ownership_(std::move(ownership)) {}
    Ownership ownership_;
    bool leave_behind_ = false;
};

} // namespace holdfast::registry
