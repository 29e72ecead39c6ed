// Starts the keeper: the descriptors it is given, its environment, and its options.
#include "keep/front_parts.hpp"

#include "base/text.hpp"
#include "holdfast/parent_watch.hpp"
#include "keep/keeper.hpp"
#include "slot/ownership.hpp"
#include "sys/free_numbers.hpp"

#include <unistd.h>

extern char** environ; // NOLINT(readability-redundant-declaration)

namespace holdfast::keep {

// One value, and in `spec` the descriptors that it names, at `number` and the numbers after it.
KeeperOptions Front::options_for_keeper(const Control& its_end, sys::ForkSpec& spec, int number) const {
    const auto give = [&](int fd) {
        spec.fds.emplace_back(fd, number);
        return number++;
    };
    KeeperOptions out{options_.keep};
    out.id = entry_.id();
    out.events = events_.directory();
    out.label = entry_.facts().label;
    if (const int life = entry_.ownership().life_fd(); life >= 0) // an entry that is listed
        out.life_fds.push_back(give(life));
    if (slot_) { // a daemon that is spared must not keep the slot shut
        const int life = give(slot_->life_fd());
        if (out.spare.empty())
            out.life_fds.push_back(life);
        else
            out.own_life_fd = life;
    }
    out.control_fd = give(its_end.fd());
    if (host_)
        out.host_fd = give(host_->fd());
    if (pty_)
        out.terminal_fd = give(pty_->slave());
    if (shares_group_)
        out.join_group = ::getpgrp();
    out.log = log_file_;
    if (!pid_file_.empty()) {
        out.pid_file = pid_file_;
        out.front = ::getpid();
    }
    out.is_fork = true;
    return out;
}

std::vector<std::string> Front::environment_for_keeper() const {
    std::vector<std::string> out;
    for (char** variable = environ; *variable; ++variable)
        // The second is of our host, and was for us: the helper's parent is the keeper.
        if (!std::string_view(*variable).starts_with("NOTIFY_SOCKET=") &&
            !std::string_view(*variable).starts_with(base::cat(parent_variable, '=')))
            out.emplace_back(*variable);
    out.push_back("NOTIFY_SOCKET=" + notify_->address());
    out.push_back("HOLDFAST_ID=" + entry_.id());
    return out;
}

Result<void> Front::start_keeper() {
    auto pair = Control::make_pair();
    if (!pair)
        return std::unexpected(pair.error());
    auto notify = sys::NotifySocket::open();
    if (!notify)
        return std::unexpected(notify.error());
    notify_ = std::move(*notify);
    if (options_.pty) {
        auto pty = Pty::open();
        if (!pty)
            return std::unexpected(pty.error());
        pty_.emplace(std::move(*pty));
    }
    // Numbers that the keeper and the tree find their descriptors at.
    auto number = sys::free_numbers(first_life_number, most_given_descriptors);
    if (!number)
        return std::unexpected(number.error());
    sys::ForkSpec spec;
    const KeeperOptions keeper = options_for_keeper(pair->second, spec, *number);
    spec.env = environment_for_keeper();
    // A fork of this program, and no exec of it: that would cost the helper a third of its time to start.
    auto started = sys::fork_worker(spec, [&keeper] { return run_keeper(keeper); });
    if (!started)
        return std::unexpected(started.error());
    keeper_ = std::move(*started);
    control_ = std::move(pair->first);
    tree_.leave_out(keeper_->pid());
    if (pty_)
        pty_->close_slave();
    return {};
}

} // namespace holdfast::keep
