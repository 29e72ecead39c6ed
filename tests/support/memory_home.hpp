// A directory of a test's own, removed with everything in it at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace holdfast::test {

class TempHome {
public:
    TempHome() {
        std::string pattern = (std::filesystem::temp_directory_path() / "hf-memory-XXXXXX").string();
        path_ = ::mkdtemp(pattern.data());
    }
    TempHome(const TempHome&) = delete;
    TempHome& operator=(const TempHome&) = delete;
    ~TempHome() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }

    [[nodiscard]] std::string path() const { return path_.string(); }
    [[nodiscard]] std::string file(const std::string& name) const { return (path_ / name).string(); }
    [[nodiscard]] bool exists(const std::string& name) const { return std::filesystem::exists(path_ / name); }
    [[nodiscard]] std::uint64_t size(const std::string& name) const {
        return exists(name) ? std::filesystem::file_size(path_ / name) : 0;
    }
    void copy(const std::string& from, const std::string& to) const {
        std::filesystem::copy_file(path_ / from, path_ / to);
    }
    void write(const std::string& name, const std::string& content) const {
        std::ofstream(path_ / name, std::ios::binary | std::ios::trunc) << content;
    }
    static std::string read_path(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }

private:
    std::filesystem::path path_;
};

} // namespace holdfast::test
