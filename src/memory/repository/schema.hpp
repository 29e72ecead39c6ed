// The store's shape, as numbered steps. Forward only: a step is never changed once released, a new one is
// added.
#pragma once

#include "memory/repository/connection.hpp"

#include <functional>
#include <span>
#include <string>

namespace holdfast::memory {

// Called before each step with its place: step(1, 3, "tables").
using MigrationProgress = std::function<void(int step, int steps, const char* name)>;
// Called by a step that goes through the rows of a large store, with those done and all there are.
using MigrationRows = std::function<void(std::int64_t done, std::int64_t rows, const char* name)>;

struct Migration {
    int number;       // 1, 2, 3 … without gaps
    const char* name; // for people
    bool breaking;    // rewrites or drops data: a backup is made first
    const char* sql;
    // Run behind `sql` in the same transaction: the work of a step on a large store, which tells how far it
    // is.
    Result<void> (*then)(Database& database, const MigrationRows& tell, const char* name) = nullptr;
};

// All steps of this version, in order.
std::span<const Migration> migrations();

// Whether the database may be used as ours: it is empty, or one of ours, and not of a version newer than
// this. Only reads. Errc::unsupported: it is another program's, or a newer version's.
Result<void> check_whose(Database& database, const std::string& path);

// The full-text index with its triggers, made from the text; to be run where there is none.
std::string full_text_index();

// Brings the database up to the last step. Each step is one transaction together with its number
// (user_version), so a crash leaves either the step before or the step after. Before the first breaking step
// of a run the whole database is copied to `<path>.before-<number>` (and an older copy of that name is kept:
// the new one gets a suffix), and the copy is on the disk before the step begins.
Result<void> migrate(Database& database, const std::string& path, std::span<const Migration> steps,
                     const MigrationProgress& progress, const MigrationRows& rows = {});

} // namespace holdfast::memory
