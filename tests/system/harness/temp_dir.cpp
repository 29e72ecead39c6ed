#include "harness/temp_dir.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace holdfast::harness {

TempDir::TempDir() {
    const char* base = std::getenv("TMPDIR");
    std::string pattern = base::cat(base && *base ? base : "/tmp", "/hf-test-XXXXXX");
    if (::mkdtemp(pattern.data()) == nullptr)
        throw std::system_error(errno, std::generic_category(), pattern);
    path_ = pattern;
}

TempDir::~TempDir() {
    remove();
}

TempDir::TempDir(TempDir&& other) noexcept
    : path_(std::exchange(other.path_, {})) {}

TempDir& TempDir::operator=(TempDir&& other) noexcept {
    if (this != &other) {
        remove();
        path_ = std::exchange(other.path_, {});
    }
    return *this;
}

void TempDir::remove() noexcept {
    if (path_.empty())
        return;
    std::error_code ignored;
    // A test may have taken its own write permission away (read-only directory cases).
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all, ignored);
    std::filesystem::remove_all(path_, ignored);
}

Result<std::string> read_file(const std::string& path) {
    const sys::Fd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd)
        return sys::fail_sys(base::cat("open ", path));
    std::string content;
    char buffer[4096];
    for (;;) {
        const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sys::fail_sys(base::cat("read ", path));
        if (n == 0)
            return content;
        content.append(buffer, static_cast<std::size_t>(n));
    }
}

Result<void> write_file(const std::string& path, std::string_view content) {
    const sys::Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!fd)
        return sys::fail_sys(base::cat("open ", path));
    while (!content.empty()) {
        const ssize_t n = ::write(fd.get(), content.data(), content.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sys::fail_sys(base::cat("write ", path));
        content.remove_prefix(static_cast<std::size_t>(n));
    }
    return {};
}

} // namespace holdfast::harness
