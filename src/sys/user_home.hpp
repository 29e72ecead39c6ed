// The user's home directory as /etc/passwd has it. Read by us: a static program has no name service.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace holdfast::sys {

// Of the first entry with this user id: an absolute path. Nothing when there is no such entry, or the file
// cannot be read. Lines longer than 4096 bytes are passed over, and so is what lies beyond 16 MiB.
std::optional<std::string> home_of_user(uid_t uid, const std::string& passwd = "/etc/passwd");

} // namespace holdfast::sys
