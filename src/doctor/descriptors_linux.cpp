#include "doctor/descriptors.hpp"

#include "base/text.hpp"
#include "sys/fd.hpp"
#include "sys/pipe_ends.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <memory>
#include <string_view>

namespace holdfast::doctor {

namespace {

using base::Channel;
using base::ChannelKind;
using base::FarEnd;
using base::Link;
using base::LinkKind;
using base::ProcessFacts;

// Beyond this a process is not looked at to the end: it is no forgotten helper, and the look has to stay
// quick.
constexpr std::size_t most_descriptors = 20'000;

struct CloseDir {
    void operator()(DIR* dir) const { ::closedir(dir); }
};

// "pipe:[123]" with prefix "pipe:[" -> 123; 0 when it is something else.
std::uint64_t inode_in(std::string_view target, std::string_view prefix) {
    if (!target.starts_with(prefix) || !target.ends_with(']'))
        return 0;
    target.remove_prefix(prefix.size());
    std::uint64_t inode = 0;
    auto [end, error] = std::from_chars(target.data(), target.data() + target.size(), inode);
    return error == std::errc{} ? inode : 0;
}

ChannelKind kind_of_path(std::string_view target) {
    if (target == "/dev/null")
        return ChannelKind::null_device;
    if (target.starts_with("/dev/pts/") || target.starts_with("/dev/tty") ||
        target.starts_with("/dev/console"))
        return ChannelKind::terminal;
    if (target.starts_with("/dev/") && !target.starts_with("/dev/shm/"))
        return ChannelKind::other;
    return target.starts_with('/') ? ChannelKind::file : ChannelKind::other;
}

FarEnd far_end_of(sys::PipeEnd end) {
    switch (end) {
    case sys::PipeEnd::held:
        return FarEnd::alive;
    case sys::PipeEnd::gone:
        return FarEnd::gone;
    case sys::PipeEnd::unknown:
        break;
    }
    return FarEnd::unknown;
}

class Reader {
public:
    Reader(ProcessFacts& process, const sys::UnixSockets& sockets)
        : process_(process)
        , sockets_(sockets) {}

    void take(int directory, const char* name) {
        int fd = -1;
        std::string_view number(name);
        if (std::from_chars(number.data(), number.data() + number.size(), fd).ec != std::errc{})
            return;
        std::array<char, 256> text; // longer ones are paths of files, cut off without harm
        ssize_t n = ::readlinkat(directory, name, text.data(), text.size());
        if (n <= 0)
            return; // closed meanwhile
        std::string_view target(text.data(), static_cast<std::size_t>(n));
        Channel channel;
        if (std::uint64_t inode = inode_in(target, "pipe:["))
            channel = take_pipe(directory, name, fd, inode);
        else if (std::uint64_t socket = inode_in(target, "socket:["))
            channel = take_socket(fd, socket);
        else
            channel.kind = kind_of_path(target);
        if (fd == 0)
            process_.input = channel;
        if (fd == 1)
            process_.output = channel;
        if (fd <= 2 && channel.kind == ChannelKind::terminal)
            process_.has_terminal = true;
    }

private:
    Channel take_pipe(int directory, const char* name, int fd, std::uint64_t inode) {
        // The permission bits of the link itself say in which direction the descriptor is open.
        struct stat link{};
        if (::fstatat(directory, name, &link, AT_SYMLINK_NOFOLLOW) != 0)
            return {};
        if (link.st_mode & S_IRUSR)
            process_.links.push_back({.fd = fd, .kind = LinkKind::pipe_reader, .inode = inode});
        if (link.st_mode & S_IWUSR)
            process_.links.push_back({.fd = fd, .kind = LinkKind::pipe_writer, .inode = inode});
        return {.kind = ChannelKind::pipe, .inode = inode};
    }

    Channel take_socket(int fd, std::uint64_t inode) {
        auto found = sockets_.find(inode);
        if (found == sockets_.end()) { // of another family, of another network namespace, or new
            process_.links.push_back({.fd = fd, .kind = LinkKind::other_socket, .inode = inode});
            return {.kind = ChannelKind::other, .inode = inode};
        }
        const sys::UnixSocket& socket = found->second;
        FarEnd far_end = socket.peer_gone() ? FarEnd::gone
                         : socket.peer != 0 ? FarEnd::alive
                                            : FarEnd::unknown;
        bool door = socket.listening || (!socket.stream && socket.named);
        process_.links.push_back({.fd = fd,
                                  .kind = LinkKind::unix_socket,
                                  .inode = inode,
                                  .peer = socket.peer,
                                  .door = door,
                                  .far_end = far_end});
        return {
            .kind = ChannelKind::unix_socket, .inode = inode, .far_end = far_end, .unread = socket.unread};
    }

    ProcessFacts& process_;
    const sys::UnixSockets& sockets_;
};

} // namespace

void read_descriptors(ProcessFacts& process, const sys::UnixSockets& sockets) {
    std::unique_ptr<DIR, CloseDir> dir(::opendir(base::cat("/proc/", process.pid(), "/fd").c_str()));
    if (!dir)
        return;
    process.input.kind = process.output.kind = ChannelKind::closed; // until the directory says otherwise
    Reader reader(process, sockets);
    std::size_t count = 0;
    errno = 0;
    while (const dirent* entry = ::readdir(dir.get())) {
        if (entry->d_name[0] == '.')
            continue;
        if (++count > most_descriptors)
            return;
        reader.take(::dirfd(dir.get()), entry->d_name);
        errno = 0; // so that after the last entry it tells an error from the end
    }
    process.descriptors_known = errno == 0;
}

void probe_standard_streams(ProcessFacts& process) {
    if (process.input.kind == ChannelKind::pipe) {
        sys::PipeInput input = sys::look_at_pipe_input(process.pid(), STDIN_FILENO);
        process.input.far_end = far_end_of(input.writers);
        process.input.unread = input.unread;
    }
    if (process.input.far_end == FarEnd::gone && process.output.kind == ChannelKind::pipe)
        process.output.far_end = far_end_of(sys::look_at_pipe_output(process.pid(), STDOUT_FILENO));
}

void probe_links(ProcessFacts& process) {
    for (Link& link : process.links) {
        if (link.kind == LinkKind::pipe_reader)
            link.far_end = far_end_of(sys::look_at_pipe_input(process.pid(), link.fd).writers);
        else if (link.kind == LinkKind::pipe_writer)
            link.far_end = far_end_of(sys::look_at_pipe_output(process.pid(), link.fd));
    }
}

} // namespace holdfast::doctor
