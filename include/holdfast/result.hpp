// Errors as values. Every function that can fail returns Result<T>; nothing in Holdfast throws across a
// border, and nothing outside src/cli ends the process.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <utility>

namespace holdfast {

// What went wrong, in the terms a caller can act on. The numbers are part of the C ABI: append only.
enum class Errc {
    invalid_argument = 1, // the caller's words are off; nothing was changed
    held = 2,             // a healthy owner exists
    timed_out = 3,        // the stated time ran out; nothing was changed
    orphaned = 4,         // the owner is dead, but processes it started still live
    superseded = 5,       // somebody else replaced the owner first: the newer one was left alone
    too_many_takeovers = 6,
    not_permitted = 7,     // the kernel said EPERM or EACCES
    unreachable = 8,       // the owner lives in another PID namespace: it cannot be signalled from here
    lost = 9,              // the lock file was wiped away under its owner
    no_space = 10,         // disk full, quota, or out of descriptors
    io = 11,               // any other error of a system call; see Error::sys
    not_found = 12,        // nothing of that name
    unsafe_directory = 13, // a directory others could write to, or of another user
    survivors = 14,        // processes are left that could not be ended; the message names them
    cannot_start = 15,     // the command could not be executed
    unsupported = 16,      // this kernel or this build cannot do it
    gave_up = 17,          // respawned too often; the message says how to retry
    closed = 18,           // the object was already released or shut down
    overflow = 19,         // a stated bound was reached
    protocol = 20,         // the other side broke its protocol
    cancelled = 21,
    cannot_create = 22, // a file or directory cannot be made: no such parent, a read-only file system
};

// Stable lower-case name of a code, e.g. "held".
std::string_view name_of(Errc code) noexcept;

struct Error {
    Errc code = Errc::io;
    std::string message; // one sentence for a person: names the thing, and the way out where there is one
    int sys = 0;         // errno of the system call behind it, or 0
};

template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(Errc code, std::string message, int sys = 0) {
    return std::unexpected(Error{code, std::move(message), sys});
}

} // namespace holdfast
