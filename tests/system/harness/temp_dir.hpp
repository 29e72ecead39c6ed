// A private directory that is gone, with everything in it, when the object is.
#pragma once

#include "holdfast/result.hpp"

#include <filesystem>
#include <string>

namespace holdfast::harness {

class TempDir {
public:
    // Makes a directory of mode 0700 under $TMPDIR or /tmp. Throws std::system_error when it cannot:
    // no test can go on without it.
    TempDir();
    ~TempDir();
    TempDir(TempDir&& other) noexcept;
    TempDir& operator=(TempDir&& other) noexcept;
    TempDir(const TempDir&) = delete;
    TempDir& operator=(const TempDir&) = delete;

    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }
    // The path of something inside it, as text.
    [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
    void remove() noexcept;
    std::filesystem::path path_;
};

// Whole content of a file, and a file with that content (created or truncated).
Result<std::string> read_file(const std::string& path);
Result<void> write_file(const std::string& path, std::string_view content);

} // namespace holdfast::harness
