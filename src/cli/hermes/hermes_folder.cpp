#include "cli/hermes/hermes_folder.hpp"

#include "base/text.hpp"
#include "config_edit/yaml_key.hpp"
#include "sys/directories.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/own_program.hpp"
#include "sys/proc.hpp"
#include "sys/whole_file.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

namespace holdfast::cli {

using base::cat;

namespace {

constexpr std::string_view needed[] = {"__init__.py", "plugin.yaml", "provider.py",
                                       "lib/holdfast/__init__.py", "lib/holdfast/libholdfast.so.1"};
constexpr std::string_view programs[] = {"lib/holdfast/holdfast-keep", "lib/holdfast/holdfast-memory"};

std::unexpected<Error> failed(std::string_view what, const std::string& path, int error = errno) {
    Errc code = error == EACCES || error == EPERM    ? Errc::not_permitted
                : error == ENOSPC || error == EDQUOT ? Errc::no_space
                                                     : Errc::io;
    return fail(code, cat(path, " cannot be ", what, ": ", sys::describe_errno(error)), error);
}

bool exists(const std::string& path) {
    struct stat info{};
    return ::lstat(path.c_str(), &info) == 0;
}

Result<std::string> read_all(const std::string& path) {
    sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
        return failed("read", path);
    std::string text;
    if (const int error = sys::read_to_end(file.get(), text))
        return failed("read", path, error);
    return text;
}

// `like`: whose it is to be, as far as we may say so (root installs into a user's home).
Result<void> write_new(const std::string& path, std::string_view text, mode_t mode, const struct stat* like) {
    sys::Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (!file)
        return failed("written", path);
    if (const int error = sys::write_all(file.get(), text))
        return failed("written", path, error);
    if (like)
        (void)!::fchown(file.get(), like->st_uid, like->st_gid);
    if (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0)
        return failed("written", path);
    return {};
}

struct Entry {
    std::string name;
    struct stat info{};
};

Result<std::vector<Entry>> entries_of(const std::string& folder) {
    std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(folder.c_str()), ::closedir);
    if (!open)
        return failed("read", folder);
    std::vector<Entry> out;
    while (const dirent* one = ::readdir(open.get())) {
        std::string name = one->d_name;
        if (name == "." || name == "..")
            continue;
        Entry entry{.name = std::move(name)};
        if (::fstatat(::dirfd(open.get()), entry.name.c_str(), &entry.info, AT_SYMLINK_NOFOLLOW) != 0)
            return failed("read", cat(folder, '/', entry.name));
        out.push_back(std::move(entry));
    }
    return out;
}

Result<void> remove_tree(const std::string& folder) {
    auto entries = entries_of(folder);
    if (!entries)
        return std::unexpected(entries.error());
    for (const Entry& entry : *entries) {
        std::string path = cat(folder, '/', entry.name);
        if (S_ISDIR(entry.info.st_mode)) {
            if (auto gone = remove_tree(path); !gone)
                return gone;
        } else if (::unlink(path.c_str()) != 0) {
            return failed("removed", path);
        }
    }
    if (::rmdir(folder.c_str()) != 0)
        return failed("removed", folder);
    return {};
}

Result<void> copy_tree(const std::string& from, const std::string& to, const struct stat& like) {
    if (::mkdir(to.c_str(), 0755) != 0)
        return failed("made", to);
    // A umask that takes rights from the owner would leave a folder that nothing can be put into.
    if (struct stat made{}; ::stat(to.c_str(), &made) == 0 && (made.st_mode & S_IRWXU) != S_IRWXU)
        (void)::chmod(to.c_str(), made.st_mode | S_IRWXU);
    (void)!::chown(to.c_str(), like.st_uid, like.st_gid);
    auto entries = entries_of(from);
    if (!entries)
        return std::unexpected(entries.error());
    for (const Entry& entry : *entries) {
        std::string source = cat(from, '/', entry.name);
        std::string target = cat(to, '/', entry.name);
        if (S_ISDIR(entry.info.st_mode)) {
            if (entry.name == "__pycache__")
                continue; // made where it runs
            if (auto copied = copy_tree(source, target, like); !copied)
                return copied;
            continue;
        }
        auto text = read_all(source);
        if (!text)
            return std::unexpected(text.error());
        if (auto written = write_new(target, *text, entry.info.st_mode & 0100 ? 0755 : 0644, &like); !written)
            return written;
    }
    return {};
}

std::string own_folder() {
    const auto self = sys::own_program_path();
    return self.substr(0, self.rfind('/'));
}

std::string beside(const std::string& target, std::string_view what) {
    std::size_t slash = target.rfind('/');
    return cat(target.substr(0, slash), "/.", target.substr(slash + 1), '.', what, '-', ::getpid());
}

// What an installation that was killed left there: folders as beside() names them, of processes that are no
// more.
void sweep(const std::string& target) {
    const std::size_t slash = target.rfind('/');
    const std::string parent = target.substr(0, slash);
    const auto entries = entries_of(parent);
    if (!entries)
        return;
    for (const Entry& entry : *entries) {
        const std::size_t dash = entry.name.rfind('-');
        const auto number = dash == std::string::npos ? std::string() : entry.name.substr(dash + 1);
        const auto stem = entry.name.substr(0, dash);
        const auto name = cat('.', target.substr(slash + 1));
        const bool ours = stem == name + ".new" || stem == name + ".old";
        pid_t pid = 0;
        const auto* const end = number.data() + number.size();
        if (ours && std::from_chars(number.data(), end, pid).ptr == end && pid > 0 &&
            S_ISDIR(entry.info.st_mode) && !sys::read_stat(pid))
            (void)remove_tree(cat(parent, '/', entry.name));
    }
}

} // namespace

std::string missing_in_plugin(const std::string& folder) {
    for (std::string_view name : needed)
        if (!exists(cat(folder, '/', name)))
            return cat(name, " is missing");
    for (std::string_view name : programs)
        if (!exists(cat(folder, '/', name)))
            return cat(name, " is missing");
        else if (::access(cat(folder, '/', name).c_str(), X_OK) != 0)
            return cat(name, " may not be run");
    return "";
}

bool is_our_plugin(const std::string& folder) {
    auto text = read_all(folder + "/plugin.yaml");
    return text &&
           (text->starts_with("name: holdfast\n") || text->find("\nname: holdfast\n") != std::string::npos);
}

std::string plugin_version(const std::string& folder) {
    auto text = read_all(folder + "/plugin.yaml");
    std::size_t at = text ? text->find("\nversion: ") : std::string::npos;
    if (at == std::string::npos)
        return "";
    at += 10;
    return text->substr(at, text->find_first_of("\r\n", at) - at);
}

Result<std::string> find_plugin_source(const std::optional<std::string>& given) {
    std::string folder = given.value_or(own_folder() + "/../share/holdfast/hermes");
    char* full = ::realpath(folder.c_str(), nullptr);
    if (full) {
        folder = full;
        std::free(full);
    }
    if (std::string missing = missing_in_plugin(folder); !missing.empty())
        return fail(Errc::not_found, cat("the plugin to install is not complete: ", folder, '/', missing,
                                         "; build it with ./scripts/build, or name its folder with --from"));
    return folder;
}

Result<void> install_plugin(const std::string& source, const std::string& target) {
    if (exists(target) && !is_our_plugin(target))
        return fail(Errc::held, cat(target, " is there and is not this plugin; move it away first"));
    std::string parent = target.substr(0, target.rfind('/'));
    struct stat like{};
    if (::stat(parent.c_str(), &like) != 0) { // to be made: whose, the home above it says
        const bool known = ::stat(parent.substr(0, parent.rfind('/')).c_str(), &like) == 0;
        if (auto made = sys::make_directories(parent, true); !made)
            return made;
        if (known)
            (void)!::chown(parent.c_str(), like.st_uid, like.st_gid);
    }
    sweep(target);
    std::string fresh = beside(target, "new");
    std::string old = beside(target, "old");
    if (auto copied = copy_tree(source, fresh, like); !copied) {
        (void)remove_tree(fresh);
        return copied;
    }
    bool replaced = ::rename(target.c_str(), old.c_str()) == 0;
    if (::rename(fresh.c_str(), target.c_str()) != 0) {
        auto why = failed("put in place", target);
        if (replaced)
            (void)::rename(old.c_str(), target.c_str());
        (void)remove_tree(fresh);
        return why;
    }
    return replaced ? remove_tree(old) : Result<void>{};
}

Result<bool> remove_plugin(const std::string& target) {
    sweep(target);
    if (!exists(target))
        return false;
    if (!is_our_plugin(target))
        return fail(Errc::held, cat(target, " is not this plugin; it is left alone"));
    std::string old = beside(target, "old");
    if (::rename(target.c_str(), old.c_str()) != 0)
        return failed("removed", target);
    if (auto gone = remove_tree(old); !gone)
        return std::unexpected(gone.error());
    return true;
}

Result<FileText> read_file_of_others(const std::string& path) {
    if (::access(path.c_str(), F_OK) != 0 && errno == ENOENT) {
        if (exists(path))
            return fail(Errc::not_found,
                        cat(path, " is a link to nothing; make what it points to, or remove it"));
        return FileText{};
    }
    auto text = read_all(path);
    if (!text)
        return std::unexpected(text.error());
    return FileText{.there = true, .text = std::move(*text)};
}

Result<void> write_file_of_others(const std::string& path, std::string_view text) {
    std::string real = path;
    if (char* full = ::realpath(path.c_str(), nullptr)) {
        real = full;
        std::free(full);
    }
    struct stat info{};
    const bool there = ::stat(real.c_str(), &info) == 0;
    const mode_t mode = there ? info.st_mode & 07777 : 0600;
    const bool like = there || ::stat(real.substr(0, real.rfind('/')).c_str(), &info) == 0;
    std::string fresh = cat(real, ".holdfast-", ::getpid());
    if (auto written = write_new(fresh, text, mode, like ? &info : nullptr); !written) {
        ::unlink(fresh.c_str());
        return written;
    }
    if (::rename(fresh.c_str(), real.c_str()) != 0) {
        auto why = failed("written", real);
        ::unlink(fresh.c_str());
        return why;
    }
    return {};
}

} // namespace holdfast::cli
