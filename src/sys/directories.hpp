// Directories that only we can write to, on this machine.
#pragma once

#include "holdfast/result.hpp"

#include <sys/types.h>

#include <optional>
#include <string>

namespace holdfast::sys {

// Creates the directory and its missing parents (0700, whatever the umask). Error unsafe_directory: they
// would lie in a directory that another user has made in /tmp or the like, and `for_another` does not say
// that this is meant.
Result<void> make_directories(const std::string& path, bool for_another = false);

// Refuses a directory that belongs to somebody else or that others can write to: a lock there proves nothing.
// And one of ours that we may not use, as earlier programs made them under a umask such as 0777.
// `root_may`: for who makes nothing there; root may look after another user's, if that one alone writes to
// it.
Result<void> check_private_directory(const std::string& path, bool root_may = false);

// The user whose directory it is; nothing when there is none.
std::optional<uid_t> owner_of_directory(const std::string& path);

// The name of a file system on which locks and PIDs of several machines meet (NFS, CIFS, …), or nothing.
std::optional<std::string> shared_file_system(const std::string& path);

} // namespace holdfast::sys
