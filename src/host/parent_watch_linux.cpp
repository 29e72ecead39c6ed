#include "holdfast/parent_watch.hpp"

#include "base/identity_text.hpp"
#include "base/text.hpp"
#include "sys/death_signal.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/pidfd.hpp"
#include "sys/proc.hpp"
#include "sys/signal_mask.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <future>
#include <thread>

namespace holdfast {

struct ParentWatch::Impl {
    const pid_t home = ::getpid();
    pid_t parent = 0;
    std::atomic<bool> parent_gone = false;
    Millis idle{0}; // 0: none
    sys::Fd epoll;
    sys::Fd gone_bell; // an eventfd that is rung when the parent was found gone without a pidfd to show it
    sys::Fd timer;
    std::optional<sys::PidFd> process;
    std::optional<sys::DeathSignal> signal;

    sys::Fd stop_bell; // only with a thread, like the rest
    std::thread thread;
    std::function<void(WatchFired)> callback;

    Result<void> prepare(const ParentWatchOptions& options);
    Result<void> hold_parent(const ParentWatchOptions& options);
    Result<void> watch(int fd) const;
    void note_parent_gone();
    void touch() const noexcept;
    std::optional<WatchFired> fired();
    void serve();
};

Result<void> ParentWatch::Impl::watch(int fd) const {
    epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
    if (::epoll_ctl(epoll.get(), EPOLL_CTL_ADD, fd, &event) != 0)
        return sys::fail_sys("watch the parent");
    return {};
}

void ParentWatch::Impl::note_parent_gone() {
    parent_gone = true;
    const std::uint64_t one = 1;
    (void)!::write(gone_bell.get(), &one, sizeof one);
}

void ParentWatch::Impl::touch() const noexcept {
    if (!timer)
        return;
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(idle.count() / 1000);
    when.it_value.tv_nsec = static_cast<long>(idle.count() % 1000) * 1'000'000;
    ::timerfd_settime(timer.get(), 0, &when, nullptr); // also takes back an expiry that nobody has seen
}

Result<void> ParentWatch::Impl::prepare(const ParentWatchOptions& options) {
    if (options.idle && *options.idle <= Millis{0})
        return fail(Errc::invalid_argument, "the idle limit must be more than zero");
    epoll = sys::own_fd(::epoll_create1(EPOLL_CLOEXEC));
    gone_bell = sys::own_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!epoll || !gone_bell)
        return sys::fail_sys("make the descriptors of a parent watch");
    if (auto ok = watch(gone_bell.get()); !ok)
        return ok;
    if (options.idle) {
        idle = *options.idle;
        timer = sys::own_fd(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
        if (!timer)
            return sys::fail_sys("create a timer");
        touch();
        if (auto ok = watch(timer.get()); !ok)
            return ok;
    }
    return hold_parent(options);
}

Result<void> ParentWatch::Impl::hold_parent(const ParentWatchOptions& options) {
    std::optional<base::Identity> told;
    if (const char* word = std::getenv(parent_variable); word && *word) {
        told = base::identity_from_word(word);
        if (!told)
            return fail(Errc::invalid_argument,
                        base::cat(parent_variable, " is \"", word,
                                  "\", which is not what ParentWatch::describe_self() gives; unset it"));
    }
    parent = ::getppid();
    // What was told in another PID namespace, or boot, has other numbers there: it cannot be compared here.
    bool comparable = told && told->boot_id == sys::boot_id() && told->pid_ns == sys::pid_namespace_inode();
    if ((comparable && told->pid != parent) || (!told && parent == 1 && !options.init_is_parent)) {
        note_parent_gone();
        return {};
    }
    // A parent in another PID namespace shows as 0: it has no number to open, but its death signal arrives.
    auto opened = parent > 0 ? sys::PidFd::open(parent)
                             : fail(Errc::unreachable, "the parent is in another PID namespace", ENOSYS);
    if (opened || opened.error().code == Errc::not_found) {
        // Pidfd first. Still our parent now? Then it was when the pidfd was opened, and the pidfd is its.
        bool same = opened && ::getppid() == parent;
        if (same && comparable) {
            auto identity = sys::identify(*opened);
            same = identity && base::same_process(*identity, *told);
        }
        if (!same) {
            note_parent_gone();
            return {};
        }
        process = std::move(*opened);
        return watch(process->fd());
    }
    if (opened.error().sys != ENOSYS && opened.error().sys != EPERM && opened.error().sys != EACCES)
        return std::unexpected(opened.error());
    auto armed = sys::DeathSignal::arm(options.fallback_signal ? options.fallback_signal : SIGRTMIN + 6);
    if (!armed)
        return std::unexpected(armed.error());
    signal.emplace(std::move(*armed));
    if (::getppid() != parent) // it died before the signal was armed
        note_parent_gone();
    return watch(signal->fd());
}

std::optional<WatchFired> ParentWatch::Impl::fired() {
    if (!parent_gone && process && process->ended())
        parent_gone = true;
    if (!parent_gone && signal) {
        signal->clear(); // cleared before asking: a signal after the question rings again
        if (::getppid() != parent)
            note_parent_gone();
    }
    if (parent_gone)
        return WatchFired::parent_gone;
    // Asked without reading it: the descriptor stays readable until touch().
    pollfd one{.fd = timer.get(), .events = POLLIN, .revents = 0};
    if (timer && ::poll(&one, 1, 0) > 0)
        return WatchFired::idle;
    return std::nullopt;
}

void ParentWatch::Impl::serve() {
    std::array<pollfd, 2> fds{{{.fd = epoll.get(), .events = POLLIN, .revents = 0},
                               {.fd = stop_bell.get(), .events = POLLIN, .revents = 0}}};
    for (;;) {
        if (::poll(fds.data(), fds.size(), -1) < 0)
            continue; // EINTR: the death signal itself
        if (fds[1].revents)
            return;
        if (auto why = fired()) {
            callback(*why);
            return;
        }
    }
}

Result<ParentWatch> ParentWatch::start(const ParentWatchOptions& options) {
    auto impl = std::make_shared<Impl>();
    if (auto ok = impl->prepare(options); !ok)
        return std::unexpected(ok.error());
    return ParentWatch(std::move(impl));
}

Result<ParentWatch> ParentWatch::with_callback(const ParentWatchOptions& options,
                                               std::function<void(WatchFired)> callback) {
    if (!callback)
        return fail(Errc::invalid_argument, "a parent watch with a callback needs one");
    auto impl = std::make_shared<Impl>();
    impl->callback = std::move(callback);
    impl->stop_bell = sys::own_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!impl->stop_bell)
        return sys::fail_sys("create an eventfd");
    // Prepared inside the thread: a death signal belongs to the thread that sets it, and this one stays. It
    // begins to watch only when this function is about to return: no callback comes for a watch that was
    // never handed out.
    std::promise<Result<void>> prepared;
    std::promise<void> handed_out;
    auto answer = prepared.get_future();
    auto thread = sys::start_thread(
        [impl, &options, prepared = std::move(prepared), go = handed_out.get_future()]() mutable {
            Result<void> ok = impl->prepare(options);
            bool good = ok.has_value();
            prepared.set_value(std::move(ok));
            if (!good)
                return;
            go.wait();
            impl->serve();
        });
    if (!thread)
        return std::unexpected(thread.error());
    impl->thread = std::move(*thread);
    if (auto ok = answer.get(); !ok) {
        impl->thread.join();
        return std::unexpected(ok.error());
    }
    ParentWatch out(std::move(impl));
    handed_out.set_value();
    return out;
}

ParentWatch::ParentWatch(std::shared_ptr<Impl> impl) noexcept
    : impl_(std::move(impl)) {}
ParentWatch::ParentWatch(ParentWatch&&) noexcept = default;
ParentWatch& ParentWatch::operator=(ParentWatch&& other) noexcept {
    if (this != &other) {
        stop();
        impl_ = std::move(other.impl_);
    }
    return *this;
}
ParentWatch::~ParentWatch() {
    stop();
}

bool ParentWatch::mine() const noexcept {
    return impl_ && impl_->home == ::getpid();
}

void ParentWatch::stop() noexcept {
    if (!impl_)
        return;
    if (!mine()) {
        // A fork: there is no such thread here, and the epoll is shared with the parent. Left alone for good.
        new std::shared_ptr<Impl>(std::move(impl_));
        return;
    }
    if (impl_->thread.joinable()) {
        const std::uint64_t one = 1;
        (void)!::write(impl_->stop_bell.get(), &one, sizeof one);
        if (impl_->thread.get_id() == std::this_thread::get_id())
            impl_->thread
                .detach(); // destroyed by its own callback; the thread's copy of Impl goes with the thread
        else
            impl_->thread.join();
    }
    impl_.reset();
}

int ParentWatch::fd() const noexcept {
    return mine() ? impl_->epoll.get() : -1;
}
std::optional<WatchFired> ParentWatch::fired() const {
    return mine() ? impl_->fired() : std::nullopt;
}
void ParentWatch::touch() const noexcept {
    if (mine())
        impl_->touch();
}
ParentWatch::Method ParentWatch::method() const noexcept {
    return impl_ && impl_->signal ? Method::death_signal : Method::pidfd;
}

Result<std::string> ParentWatch::describe_self() {
    auto identity = sys::identify_self({});
    if (!identity)
        return std::unexpected(identity.error());
    return base::to_word(*identity);
}

} // namespace holdfast
