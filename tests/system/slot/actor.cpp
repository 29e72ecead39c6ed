#include "slot/actor.hpp"

#include "sys/proc.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

namespace holdfast::slot_test {

bool Actor::reaches_state(char state) {
    return harness::eventually(soon(), [&] {
        auto stat = sys::read_stat(pid());
        return stat && stat->state == state;
    });
}

SlotInfo SlotTest::look() const {
    auto info = query(slot());
    EXPECT_TRUE(info) << info.error().message;
    return info ? *info : SlotInfo{};
}

std::string listing(const std::string& directory) {
    std::vector<std::string> lines;
    auto add = [&lines](const std::string& path) {
        struct stat file{};
        if (::lstat(path.c_str(), &file) != 0)
            return;
        lines.push_back(path + " " + std::to_string(file.st_ino) + " " + std::to_string(file.st_size) + " " +
                        std::to_string(file.st_mode) + " " + std::to_string(file.st_nlink) + " " +
                        std::to_string(file.st_mtim.tv_sec) + "." + std::to_string(file.st_mtim.tv_nsec) +
                        " " + std::to_string(file.st_ctim.tv_sec) + "." +
                        std::to_string(file.st_ctim.tv_nsec) + "\n");
    };
    add(directory);
    for (const auto& entry : std::filesystem::directory_iterator(directory))
        add(entry.path().string());
    std::sort(lines.begin(), lines.end());
    std::string out;
    for (const std::string& line : lines)
        out += line;
    return out;
}

} // namespace holdfast::slot_test
