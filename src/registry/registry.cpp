#include "base/names.hpp"
#include "base/text.hpp"
#include "places/user_places.hpp"
#include "registry/listing.hpp"
#include "registry/registry_impl.hpp"
#include "sys/clock.hpp"
#include "sys/directories.hpp"
#include "sys/errors.hpp"
#include "sys/proc.hpp"

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdlib>

namespace holdfast {

namespace {

std::optional<std::string> from_environment(const char* name) {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
}

std::unexpected<Error> in_a_fork() {
    return fail(Errc::closed,
                "this registry belongs to the process that opened it; this one is a fork of it");
}

} // namespace

Result<Registry> Registry::open(const RegistryOptions& options) {
    if (auto ok = base::check_slot_name(options.host); !ok)
        return fail(Errc::invalid_argument,
                    base::cat("the host name \"", options.host,
                              "\" must be 1 to 100 letters, digits, '.', '-' or '_'"));
    if (options.max_entries == 0 || options.ttl < Millis{0})
        return fail(Errc::invalid_argument, "max_entries must be at least 1, and ttl must not be negative");
    std::string directory = options.directory;
    std::string events = options.events_directory;
    if (directory.empty()) {
        std::string profile = options.profile;
        if (profile.empty())
            profile = from_environment("HOLDFAST_PROFILE").value_or("");
        auto places = places::places_of_user(profile.empty() ? "default" : profile);
        if (!places)
            return std::unexpected(places.error());
        directory = places->helpers;
        if (events.empty())
            events = places->events;
    }
    if (auto made = sys::make_directories(directory); !made)
        return std::unexpected(made.error());
    if (auto ok = sys::check_private_directory(directory); !ok)
        return std::unexpected(ok.error());

    auto impl = std::make_unique<Impl>(options, std::move(directory), std::move(events));
    impl->epoll = sys::own_fd(::epoll_create1(EPOLL_CLOEXEC));
    impl->bell = sys::own_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    epoll_event ring{.events = EPOLLIN, .data = {.u64 = 0}};
    if (!impl->epoll || !impl->bell ||
        ::epoll_ctl(impl->epoll.get(), EPOLL_CTL_ADD, impl->bell.get(), &ring) != 0)
        return sys::fail_sys("make the registry's descriptors");
    return Registry(std::move(impl));
}

Registry::Registry(std::unique_ptr<Impl> impl) noexcept
    : impl_(std::move(impl)) {}
Registry::Registry(Registry&&) noexcept = default;
Registry& Registry::operator=(Registry&& other) noexcept {
    if (this != &other) {
        let_go();
        impl_ = std::move(other.impl_);
    }
    return *this;
}
Registry::~Registry() {
    let_go();
}

bool Registry::mine() const noexcept {
    return impl_ && impl_->home == ::getpid();
}

void Registry::let_go() noexcept {
    if (!impl_)
        return;
    if (!mine()) {
        // Another thread of the parent may have been in the middle of anything when it forked: nothing here
        // can be relied upon, not even to be destroyed. The locks were closed in this copy by the fork
        // itself.
        (void)impl_.release();
        return;
    }
    {
        std::lock_guard guard(impl_->mutex);
        impl_->refresh();
        for (auto& [order, held] : impl_->held)
            if (!held.ended())
                held.entry.leave_behind();
    }
    impl_.reset();
}

Result<Registered> Registry::register_process(int pid, const ProcessNotes& notes) {
    if (!mine())
        return in_a_fork();
    auto process = sys::PidFd::open(pid);
    if (!process)
        return std::unexpected(process.error());
    std::lock_guard guard(impl_->mutex);
    return impl_->add(std::move(*process), notes);
}

Result<Registered> Registry::register_pidfd(int pidfd, const ProcessNotes& notes) {
    if (!mine())
        return in_a_fork();
    auto process = sys::PidFd::of(pidfd);
    if (!process)
        return std::unexpected(process.error());
    std::lock_guard guard(impl_->mutex);
    return impl_->add(std::move(*process), notes);
}

std::vector<Registered> Registry::all() {
    if (!mine())
        return {};
    std::lock_guard guard(impl_->mutex);
    impl_->refresh();
    return impl_->matching([](const Impl::Held&) { return true; });
}

std::vector<Registered> Registry::find(std::string_view session) {
    if (!mine() || session.empty())
        return {};
    std::lock_guard guard(impl_->mutex);
    impl_->refresh();
    return impl_->matching([&](const Impl::Held& held) { return held.entry.record().session == session; });
}

std::vector<Registered> Registry::find_task(std::string_view task) {
    if (!mine() || task.empty())
        return {};
    std::lock_guard guard(impl_->mutex);
    impl_->refresh();
    return impl_->matching([&](const Impl::Held& held) { return held.entry.facts().task == task; });
}

std::optional<Registered> Registry::get(std::string_view id) {
    if (!mine())
        return std::nullopt;
    std::lock_guard guard(impl_->mutex);
    impl_->refresh();
    auto found = impl_->matching([&](const Impl::Held& held) { return held.entry.id() == id; });
    return found.empty() ? std::nullopt : std::optional<Registered>(std::move(found.front()));
}

bool Registry::has_active(std::string_view session) {
    for (const Registered& one : find(session))
        if (one.alive)
            return true;
    return false;
}

Result<std::vector<Registered>> Registry::survey() const {
    if (!mine())
        return in_a_fork();
    auto helpers = registry::list_helpers(impl_->directory, {.measure = false, .with_history = true});
    if (!helpers)
        return std::unexpected(helpers.error());
    std::vector<Registered> out;
    for (const registry::Helper& helper : *helpers)
        if (helper.facts.registered)
            out.push_back(registry::describe(helper));
    return out;
}

bool Registry::forget(std::string_view id) {
    if (!mine())
        return false;
    std::lock_guard guard(impl_->mutex);
    for (auto at = impl_->held.begin(); at != impl_->held.end(); ++at) {
        if (at->second.entry.id() != id)
            continue;
        impl_->drop(at);
        return true;
    }
    return false;
}

int Registry::poll_fd() const noexcept {
    return mine() ? impl_->epoll.get() : -1;
}

std::vector<Registered> Registry::collect() {
    if (!mine())
        return {};
    std::lock_guard guard(impl_->mutex);
    impl_->refresh();
    std::uint64_t rings = 0;
    (void)!::read(impl_->bell.get(), &rings, sizeof rings);
    std::vector<Registered> out;
    for (const std::string& id : impl_->news)
        for (Registered& one : impl_->matching([&](const Impl::Held& held) { return held.entry.id() == id; }))
            out.push_back(std::move(one));
    impl_->news.clear();
    return out;
}

std::size_t Registry::expire(std::int64_t now) {
    if (!mine())
        return 0;
    std::lock_guard guard(impl_->mutex);
    impl_->refresh();
    return impl_->expire(now);
}

std::int64_t Registry::clock_ms() noexcept {
    return sys::boottime_ms();
}

} // namespace holdfast
