#include "sys/memory_trim.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

// Set by the linker: where the program begins, and where its code ends.
extern "C" {
extern const char __executable_start; // NOLINT(bugprone-reserved-identifier)
extern const char etext;
}

namespace holdfast::sys {

void drop_code_pages() {
    auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    auto begin = reinterpret_cast<std::uintptr_t>(&__executable_start);
    auto end = reinterpret_cast<std::uintptr_t>(&etext) & ~(page - 1);
    // Clean file pages only: nothing is lost. A failure costs memory, nothing else.
    ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

} // namespace holdfast::sys
