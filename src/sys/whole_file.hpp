// Files that are read whole, and files that are written whole or not at all.
#pragma once

#include "holdfast/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::sys {

// All of it to an open file, however many writes that takes. 0, or the errno of what was in the way.
int write_all(int fd, std::string_view bytes) noexcept;
Result<void> write_whole_text(int fd, std::string_view text);

// Appends what is left in an open file. 0, or the errno of what was in the way; EFBIG: `out` became longer
// than `limit`. A regular file, or a page of /proc that is a single record, is read to its end when a read
// did not fill its buffer.
enum class ReadEnd : bool { empty_read, short_read };
int read_to_end(int fd, std::string& out, std::size_t limit = std::string::npos,
                ReadEnd end = ReadEnd::empty_read);

// A file in a directory that is not ours alone: written whole under a name that nobody has, then renamed over
// a plain file or nothing. Errors: cannot_create (no such directory; something else than a plain file stands
// there), not_permitted, no_space, io.
Result<void> put_whole(const std::string& path, std::string_view text);
// Whether put_whole has a chance, found out without changing anything.
Result<void> check_place_for(const std::string& path);

// For directories of our own. Writes `text` to path + ".tmp" and puts it in the place of `path` (mode 0600).
// The temporary name is fixed: one writer at a time is the caller's promise (it owns the lock beside it), and
// what a crash leaves is overwritten by the next. No fsync: what such a file says is only true while a lock
// is held, and no lock outlives the machine.
Result<void> write_whole(const std::string& path, std::string_view text);

// The same for a file that is written again and again, several times as fast: the one that was replaced stays
// as path + ".tmp" and is the next to be written, since making a new file takes a file system longer than all
// the rest. To be read with read_rewritten.
Result<void> rewrite_whole(const std::string& path, std::string_view text);

// What such a file said at some moment during the call; nothing when it cannot be read or is larger than
// `limit`. A reader that is overtaken by two writers in the midst of it may still get parts of two texts:
// they must be such that it can tell, and ask again.
std::optional<std::string> read_rewritten(const std::string& path, std::size_t limit);

} // namespace holdfast::sys
