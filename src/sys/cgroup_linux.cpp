#include "sys/cgroup.hpp"

#include "core/text.hpp"
#include "sys/errors.hpp"
#include "sys/proc.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <memory>

namespace holdfast::sys {

namespace {

// Where cgroup v2 is mounted (alone or beside v1), plus our own place in it.
std::optional<std::string> own_cgroup() {
    auto mounts = read_small_file("/proc/self/mountinfo", std::size_t{1} << 22);
    auto own = read_small_file("/proc/self/cgroup", 65536);
    if (!mounts || !own)
        return std::nullopt;
    std::string mount;
    std::string_view rest = *mounts;
    while (!rest.empty()) {
        std::size_t end = rest.find('\n');
        std::string_view line = rest.substr(0, end);
        if (line.find(" - cgroup2 ") != std::string_view::npos) {
            // 36 35 98:0 /root /mount/point options - type …
            std::size_t at = 0;
            for (int field = 0; field < 4; ++field)
                at = line.find(' ', at) + 1;
            mount = line.substr(at, line.find(' ', at) - at);
            break;
        }
        if (end == std::string_view::npos)
            break;
        rest.remove_prefix(end + 1);
    }
    std::size_t at = own->starts_with("0::") ? 0 : own->find("\n0::");
    if (mount.empty() || at == std::string::npos)
        return std::nullopt;
    at = own->find("::", at) + 2;
    std::string place = own->substr(at, own->find('\n', at) - at);
    return place == "/" ? mount : mount + place;
}

Result<void> write_to(const std::string& path, std::string_view text) {
    Fd fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return fail_sys(core::cat("write ", path));
    return {};
}

bool populated_at(const std::string& path) {
    auto events = read_small_file(path + "/cgroup.events", 4096);
    return events && events->find("populated 1") != std::string::npos;
}

// With the cgroups that nested keepers made inside and were killed before they could remove. False when some
// are busy.
bool remove_tree(const std::string& path) {
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT)
        return true;
    std::unique_ptr<DIR, int (*)(DIR*)> inside(::opendir(path.c_str()), &::closedir);
    while (const dirent* entry = inside ? ::readdir(inside.get()) : nullptr)
        if (entry->d_type == DT_DIR && std::string_view(entry->d_name).starts_with("holdfast-"))
            (void)remove_tree(core::cat(path, '/', std::string_view(entry->d_name)));
    return ::rmdir(path.c_str()) == 0;
}

// Removes it, waiting at most `tries` times 20 ms for what is just leaving. The kernel tells when the last
// has gone; reading is what arms the next telling.
void remove_patiently(const std::string& path, int tries) {
    if (remove_tree(path))
        return;
    Fd events(::open((path + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
    for (; events && tries > 0 && !remove_tree(path); --tries) {
        std::array<char, 256> text;
        (void)!::pread(events.get(), text.data(), text.size(), 0);
        pollfd one{.fd = events.get(), .events = POLLPRI, .revents = 0};
        ::poll(&one, 1, 20);
    }
}

} // namespace

Result<Cgroup> Cgroup::create(const std::string& id) {
    auto own = own_cgroup();
    if (!own)
        return fail(Errc::unsupported, "cgroup v2 is not mounted here");
    std::string path = core::cat(*own, "/holdfast-", id);
    if (::mkdir(path.c_str(), 0755) != 0)
        return fail(Errc::unsupported,
                    core::cat("no cgroup can be made at ", path, ": ", describe_errno(errno)), errno);
    Fd procs(::open((path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    if (!procs || ::access((path + "/cgroup.kill").c_str(), W_OK) != 0) {
        int error = errno;
        ::rmdir(path.c_str());
        return fail(Errc::unsupported,
                    core::cat("the cgroup ", path, " cannot be used: ", describe_errno(error)), error);
    }
    Fd directory(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return Cgroup(std::move(path), std::move(procs), std::move(directory));
}

Cgroup::~Cgroup() {
    // Who was reaped a moment ago may still be counted.
    if (!path_.empty())
        remove_patiently(path_, 100);
}

Result<void> Cgroup::kill() {
    directory_.reset();
    return write_to(path_ + "/cgroup.kill", "1");
}
bool Cgroup::populated() const {
    return populated_at(path_);
}
bool Cgroup::limit_memory(unsigned long long bytes) {
    return write_to(path_ + "/memory.max", std::to_string(bytes)).has_value();
}

void Cgroup::clear_left_behind(const std::string& id, bool end) {
    auto own = own_cgroup();
    if (!own)
        return;
    std::string path = core::cat(*own, "/holdfast-", id);
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0)
        return;
    if (!end) {
        (void)remove_tree(path);
        return;
    }
    (void)write_to(path + "/cgroup.kill", "1");
    remove_patiently(path, 100);
}

} // namespace holdfast::sys
