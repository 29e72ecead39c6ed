#include "host/host_watch.hpp"

#include "sys/errors.hpp"

#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/timerfd.h>

#include <array>

namespace holdfast::host {

namespace {

enum Source : unsigned { host_source, input_source, timer_source };

bool add(int epoll, int fd, unsigned events, Source source) {
    epoll_event event{.events = events, .data = {.u32 = source}};
    return ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

} // namespace

Result<HostWatch> HostWatch::of(int host, int input, std::chrono::milliseconds patience) {
    sys::Fd events = sys::own_fd(::epoll_create1(EPOLL_CLOEXEC));
    if (!events)
        return sys::fail_sys("create an epoll instance");
    if (host >= 0 && !add(events.get(), host, EPOLLIN, host_source))
        return sys::fail_sys("watch the host");
    // A hang-up, of a socket also half of one; told once, since it never goes away. A file has none (EPERM).
    if (input >= 0 && !add(events.get(), input, EPOLLRDHUP | EPOLLONESHOT, input_source) && errno != EPERM)
        return sys::fail_sys("watch the input");
    return HostWatch(std::move(events), input, patience);
}

// True when nothing is left to wait for.
bool HostWatch::input_closed() {
    int unread = 0;
    if (::ioctl(input_, FIONREAD, &unread) != 0 || unread == 0)
        return true;
    timer_ = sys::own_fd(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
    auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(patience_);
    constexpr long long second = 1'000'000'000;
    itimerspec when{};
    when.it_value.tv_sec = static_cast<time_t>(left.count() / second);
    when.it_value.tv_nsec = static_cast<long>(left.count() % second);
    return left.count() <= 0 || !timer_ || ::timerfd_settime(timer_.get(), 0, &when, nullptr) != 0 ||
           !add(events_.get(), timer_.get(), EPOLLIN, timer_source);
}

bool HostWatch::gone() {
    std::array<epoll_event, 3> events{};
    int n = gone_ ? 0 : ::epoll_wait(events_.get(), events.data(), static_cast<int>(events.size()), 0);
    for (int at = 0; at < n; ++at)
        gone_ = gone_ || events[static_cast<std::size_t>(at)].data.u32 != input_source || input_closed();
    return gone_;
}

} // namespace holdfast::host
