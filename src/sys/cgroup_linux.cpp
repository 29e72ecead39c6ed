#include "sys/cgroup.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/proc.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <vector>

namespace holdfast::sys {

namespace {

constexpr int most_passes = 100;
constexpr std::chrono::milliseconds one_pass{20};

bool is_cgroup2(const char* path) {
    struct statfs where{};
    return ::statfs(path, &where) == 0 && where.f_type == CGROUP2_SUPER_MAGIC;
}

// Where cgroup v2 is mounted, alone or beside v1.
std::string cgroup2_mount() {
    // Where it nearly always is: to ask there is much faster than to read the list of all mounts.
    for (const char* usual : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
        if (is_cgroup2(usual))
            return usual;
    auto mounts = read_small_file("/proc/self/mountinfo", std::size_t{1} << 22);
    std::string_view rest = mounts ? std::string_view(*mounts) : std::string_view();
    while (!rest.empty()) {
        std::size_t end = rest.find('\n');
        std::string_view line = rest.substr(0, end);
        if (line.find(" - cgroup2 ") != std::string_view::npos) {
            // 36 35 98:0 /root /mount/point options - type …
            std::size_t at = 0;
            for (int field = 0; field < 4; ++field)
                at = line.find(' ', at) + 1;
            return std::string(line.substr(at, line.find(' ', at) - at));
        }
        if (end == std::string_view::npos)
            break;
        rest.remove_prefix(end + 1);
    }
    return {};
}

// A process's place in it, as the kernel names it: "/" or "/user.slice/...".
std::optional<std::string> place_of(std::string_view process) {
    auto own = read_small_file(base::cat("/proc/", process, "/cgroup"), 65536);
    std::size_t at = !own ? std::string::npos : own->starts_with("0::") ? 0 : own->find("\n0::");
    if (at == std::string::npos)
        return std::nullopt;
    at = own->find("::", at) + 2;
    return own->substr(at, own->find('\n', at) - at);
}

std::string path_of(const std::string& place, const std::string& id) {
    return base::cat(place, "/holdfast-", id);
}

bool is_in(pid_t pid, const std::string& id) {
    auto place = place_of(std::to_string(pid));
    return place && place->ends_with("/holdfast-" + id);
}

std::vector<pid_t> members_of(const std::string& path) {
    std::vector<pid_t> out;
    const std::string text = read_small_file(path + "/cgroup.procs", std::size_t{1} << 22).value_or("");
    const char* at = text.data();
    const char* end = at + text.size();
    for (pid_t pid = 0; at < end; ++at) {
        auto [next, error] = std::from_chars(at, end, pid);
        if (error != std::errc{})
            break;
        out.push_back(pid);
        at = next;
    }
    return out;
}

Result<void> write_to(const std::string& path, std::string_view text) {
    Fd fd = own_fd(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (!fd || ::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
        return fail_sys(base::cat("write ", path));
    return {};
}

void move_out(pid_t pid, const std::string& path) {
    (void)write_to(path.substr(0, path.rfind('/')) + "/cgroup.procs", std::to_string(pid));
}

// With the cgroups that nested keepers made inside and were killed before they could remove. False when some
// are busy.
bool remove_tree(const std::string& path) {
    if (::rmdir(path.c_str()) == 0 || errno == ENOENT)
        return true;
    std::unique_ptr<DIR, int (*)(DIR*)> inside(::opendir(path.c_str()), &::closedir);
    while (const dirent* entry = inside ? ::readdir(inside.get()) : nullptr)
        if (entry->d_type == DT_DIR && std::string_view(entry->d_name).starts_with("holdfast-"))
            (void)remove_tree(base::cat(path, '/', std::string_view(entry->d_name)));
    return ::rmdir(path.c_str()) == 0;
}

// Removes it, waiting at most `tries` times 20 ms for what is just leaving. The kernel tells when the last
// has gone; reading is what arms the next telling.
void remove_patiently(const std::string& path, int tries) {
    if (remove_tree(path))
        return;
    Fd events = own_fd(::open((path + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
    for (; events && tries > 0 && !remove_tree(path); --tries) {
        std::array<char, 256> text;
        (void)!::pread(events.get(), text.data(), text.size(), 0);
        pollfd one{.fd = events.get(), .events = POLLPRI, .revents = 0};
        ::poll(&one, 1, static_cast<int>(one_pass.count()));
    }
}

} // namespace

std::string Cgroup::own_place() {
    std::string mount = cgroup2_mount();
    auto place = mount.empty() ? std::nullopt : place_of("self");
    if (!place)
        return {};
    return *place == "/" ? mount : mount + *place;
}

Result<Cgroup> Cgroup::create(const std::string& id) {
    std::string place = own_place();
    if (place.empty())
        return fail(Errc::unsupported, "cgroup v2 is not mounted here");
    std::string path = path_of(place, id);
    if (::mkdir(path.c_str(), 0755) != 0)
        return fail(Errc::unsupported,
                    base::cat("no cgroup can be made at ", path, ": ", describe_errno(errno)), errno);
    Fd procs = own_fd(::open((path + "/cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    Fd kill = own_fd(::open((path + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
    Fd events = own_fd(::open((path + "/cgroup.events").c_str(), O_RDONLY | O_CLOEXEC));
    if (!procs || !kill || !events) {
        int error = errno;
        ::rmdir(path.c_str());
        return fail(Errc::unsupported,
                    base::cat("the cgroup ", path, " cannot be used: ", describe_errno(error)), error);
    }
    Fd directory = own_fd(::open(path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    return Cgroup(std::move(path), std::move(procs), std::move(kill), std::move(events),
                  std::move(directory));
}

Cgroup::~Cgroup() {
    // Who was reaped a moment ago may still be counted.
    if (!path_.empty())
        remove_patiently(path_, most_passes);
}

Result<void> Cgroup::kill() {
    directory_.reset();
    if (::write(kill_.get(), "1", 1) != 1)
        return fail_sys(base::cat("write ", path_, "/cgroup.kill"));
    return {};
}
bool Cgroup::populated() const {
    std::array<char, 256> text;
    ssize_t n = ::pread(events_.get(), text.data(), text.size(), 0);
    return n > 0 && std::string_view(text.data(), static_cast<std::size_t>(n)).find("populated 1") !=
                        std::string_view::npos;
}
bool Cgroup::limit_memory(unsigned long long bytes) {
    if (!write_to(path_ + "/memory.max", std::to_string(bytes)))
        return false;
    // All of it or nothing: a tree that has lost one process at random is no use to anybody. And what is
    // beyond the limit is not to move into swap space instead.
    (void)write_to(path_ + "/memory.oom.group", "1");
    (void)write_to(path_ + "/memory.swap.max", "0");
    return true;
}
bool Cgroup::ran_out_of_memory() const {
    auto events = read_small_file(path_ + "/memory.events", 4096);
    std::size_t at = events ? events->find("\noom_kill ") : std::string::npos;
    return at != std::string::npos && !events->substr(at).starts_with("\noom_kill 0\n");
}

void Cgroup::let_out() const {
    for (int pass = 0; pass < most_passes; ++pass) {
        const std::vector<pid_t> inside = members_of(path_);
        if (inside.empty())
            return;
        for (pid_t pid : inside)
            move_out(pid, path_);
    }
}

std::optional<LeftCgroup> LeftCgroup::find(const std::string& place, const std::string& id) {
    std::string path = path_of(place, id);
    if (place.empty() || !is_cgroup2(path.c_str()))
        return std::nullopt;
    return LeftCgroup(std::move(path), id);
}

std::vector<pid_t> LeftCgroup::members() const {
    return members_of(path_);
}

bool LeftCgroup::has(pid_t pid) const {
    return is_in(pid, id_);
}

bool LeftCgroup::kill() const {
    return write_to(path_ + "/cgroup.kill", "1").has_value();
}

void LeftCgroup::let_out(pid_t pid) const {
    move_out(pid, path_);
}

bool LeftCgroup::remove(std::chrono::milliseconds patience) const {
    remove_patiently(path_, static_cast<int>(patience / one_pass));
    return !is_cgroup2(path_.c_str());
}

} // namespace holdfast::sys
