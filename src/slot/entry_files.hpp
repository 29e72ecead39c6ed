// Clears registry entries away. A registry entry is a slot under a fresh id.
#pragma once

#include "holdfast/slot.hpp"

#include <optional>
#include <string>
#include <vector>

namespace holdfast::slot {

// The ids of all entries in `directory`; empty when there is no such directory. Errors: not_permitted, io.
Result<std::vector<std::string>> entry_ids(const std::string& directory);

// Owns an entry that nobody owns, in order to clear it away; nothing when somebody does. Makes no files.
std::optional<Ownership> claim_unowned(const std::string& directory, const std::string& id);

// Removes the files of an entry that this process owns, or that was never anybody's.
void remove_entry_files(const SlotLocation& entry);

// Removes the files of an entry that nobody owns. Does nothing when somebody does.
void remove_unowned(const std::string& directory, const std::string& id);

// The note beside an entry of which something could not be ended (slot/sweep.hpp).
std::string stuck_note_path(const SlotLocation& entry);

} // namespace holdfast::slot
