#include "slot_storm/hung_round.hpp"

#include <sys/stat.h>

#include <fstream>
#include <sstream>

namespace holdfast::storm {

namespace {

std::string whole(const std::string& path) {
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::string first_line(const std::string& path) {
    const auto text = whole(path);
    return text.substr(0, text.find('\n'));
}

std::string process(const std::string& pid) {
    const std::string proc = "/proc/" + pid;
    const auto stat = whole(proc + "/stat");
    const auto state = stat.rfind(')');
    auto stack = whole(proc + "/stack");
    for (auto at = stack.find('\n'); at != stack.npos; at = stack.find('\n', at))
        stack.replace(at, 1, " ");
    return pid + " " + (state == stat.npos ? "gone" : stat.substr(state + 2, 1)) + ", call " +
           first_line(proc + "/syscall") + ", " + stack;
}

} // namespace

std::string describe_hung_round(const Arena& arena, const std::string& directory) {
    std::ostringstream text;
    text << "parties " << arena.parties.load() << ", arrived " << arena.arrived.load() << ", decided "
         << arena.decided.load() << ", finished " << arena.finished.load() << ", owners now "
         << arena.in_owner.load() << ", the owner stays: " << arena.hold_until_all_decided.load() << "\n";
    for (std::uint32_t i = 0; i < arena.parties.load(); ++i) {
        const Worker& worker = arena.workers[i];
        const auto pid = std::to_string(worker.pid);
        text << "  policy " << static_cast<int>(worker.policy) << ", outcome "
             << static_cast<int>(worker.outcome) << ": " << process(pid) << "\n";
        std::istringstream children(whole("/proc/" + pid + "/task/" + pid + "/children"));
        for (std::string child; children >> child;)
            text << "    waiter " << process(child) << "\n";
    }
    struct stat file{};
    const auto lock = directory + "/storm.lock";
    if (::stat(lock.c_str(), &file) != 0)
        return text.str() + "the lock file is not there\n";
    text << "lock file: inode " << file.st_ino << ", " << first_line(lock) << "\n";
    std::istringstream locks(whole("/proc/locks"));
    const auto inode = ":" + std::to_string(file.st_ino) + " ";
    for (std::string line; std::getline(locks, line);)
        if (line.find(inode) != line.npos)
            text << "  " << line << "\n";
    return text.str();
}

} // namespace holdfast::storm
