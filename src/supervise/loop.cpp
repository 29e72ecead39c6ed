#include "supervise/loop.hpp"

#include "sys/errors.hpp"
#include "sys/signal_mask.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::supervise {

// One timer: its tick stands in the loop's list as long as it lives.
class Loop::Alarm final : public EventLoop::Timer {
public:
    Alarm(std::shared_ptr<Loop> loop, std::shared_ptr<Tick> tick)
        : loop_(std::move(loop))
        , tick_(std::move(tick)) {
        const std::scoped_lock lock(loop_->ticks_mutex_);
        auto more = std::make_shared<Ticks>(*loop_->ticks_);
        more->push_back(tick_);
        loop_->ticks_ = std::move(more);
    }
    Alarm(const Alarm&) = delete;
    Alarm& operator=(const Alarm&) = delete;
    ~Alarm() override {
        const std::scoped_lock lock(loop_->ticks_mutex_);
        auto fewer = std::make_shared<Ticks>(*loop_->ticks_);
        std::erase(*fewer, tick_);
        loop_->ticks_ = std::move(fewer);
    }
    void by(base::Moment due) override { loop_->wake_by(due); }

private:
    const std::shared_ptr<Loop> loop_;
    const std::shared_ptr<Tick> tick_;
};

Result<std::shared_ptr<Loop>> Loop::start() {
    std::shared_ptr<Loop> loop(new Loop);
    {
        const sys::ForkShield::NoFork no_fork;
        loop->epoll_ = sys::own_fd(::epoll_create1(EPOLL_CLOEXEC));
        loop->event_ = sys::own_fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
        if (!loop->epoll_ || !loop->event_)
            return sys::fail_sys("create an event loop");
        loop->shield_.add(loop->epoll_.get(), no_fork);
        loop->shield_.add(loop->event_.get(), no_fork);
    }
    epoll_event event{.events = EPOLLIN, .data = {.fd = loop->event_.get()}};
    if (::epoll_ctl(loop->epoll_.get(), EPOLL_CTL_ADD, loop->event_.get(), &event) != 0)
        return sys::fail_sys("create an event loop");
    auto thread = sys::start_thread([self = loop]() mutable {
        ::pthread_setname_np(::pthread_self(), "holdfast");
        self->own_id_ = std::this_thread::get_id();
        self->run();
        self.reset(); // here, and not when the thread's own storage goes: it may be the last one
    });
    if (!thread)
        return std::unexpected(thread.error());
    loop->thread_ = std::move(*thread);
    return loop;
}

Loop::~Loop() {
    if (thread_.joinable())
        thread_.detach(); // stopped from a callback of its own: the thread ends right after this
}

void Loop::stop() {
    stopping_ = true;
    if (on_own_thread())
        return;
    interrupt();
    if (thread_.joinable())
        thread_.join();
}

void Loop::interrupt() const {
    const std::uint64_t one = 1;
    static_cast<void>(!::write(event_.get(), &one, sizeof one)); // full means that it is awake already
}

void Loop::post(Task task) {
    bool first = false;
    {
        const std::scoped_lock lock(tasks_mutex_);
        if (stopping_)
            return;
        first = tasks_.empty();
        tasks_.push_back(std::move(task));
    }
    if (first && !on_own_thread())
        interrupt();
}

std::unique_ptr<EventLoop::Timer> Loop::timer(Tick tick) {
    return std::make_unique<Alarm>(shared_from_this(), std::make_shared<Tick>(std::move(tick)));
}

base::Moment Loop::tick_all(base::Moment now) {
    std::shared_ptr<const Ticks> ticks;
    {
        const std::scoped_lock lock(ticks_mutex_);
        ticks = ticks_;
    }
    base::Moment due = base::never;
    for (const auto& tick : *ticks)
        due = std::min(due, (*tick)(now));
    return due;
}

void Loop::wake_by(base::Moment due) {
    std::int64_t known = wakes_at_.load();
    while (due.count() < known)
        if (wakes_at_.compare_exchange_weak(known, due.count())) {
            if (!on_own_thread())
                interrupt();
            return;
        }
}

void Loop::watch(int fd, std::uint32_t events, Ready ready) {
    watched_[fd] = std::make_shared<Ready>(std::move(ready));
    epoll_event event{.events = events, .data = {.fd = fd}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Loop::unwatch(int fd) {
    if (watched_.erase(fd) != 0)
        ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

void Loop::change(int fd, std::uint32_t events) {
    epoll_event event{.events = events, .data = {.fd = fd}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

void Loop::run_tasks() {
    std::vector<Task> tasks;
    {
        const std::scoped_lock lock(tasks_mutex_);
        tasks.swap(tasks_);
    }
    for (Task& task : tasks) {
        if (stopping_)
            return;
        task();
    }
}

void Loop::run() {
    std::array<epoll_event, 32> events;
    while (!stopping_) {
        run_tasks();
        // From here on whoever has something earlier than what is known lowers wakes_at_; what the tick finds
        // is merged into it, so nothing that came in between is lost. A time that was asked for and has not
        // come yet stays, although nothing may be due then any more: an answered request takes its deadline
        // with it, and the next one would have to wake this thread just to set the alarm again.
        const base::Moment now = now_moment();
        if (wakes_at_.load() <= now.count())
            wakes_at_ = base::never.count();
        std::int64_t due = tick_all(now).count();
        std::int64_t known = wakes_at_.load();
        while (due < known && !wakes_at_.compare_exchange_weak(known, due)) {
        }
        due = std::min(due, known);
        bool more = false;
        {
            const std::scoped_lock lock(tasks_mutex_);
            more = !tasks_.empty();
        }
        std::int64_t wait_ms = -1;
        if (due != base::never.count()) {
            const std::int64_t left = due - now_moment().count();
            wait_ms = left <= 0 ? 0 : std::min<std::int64_t>((left + 999'999) / 1'000'000, 3'600'000);
        }
        const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()),
                                       more ? 0 : static_cast<int>(wait_ms));
        for (int i = 0; i < count && !stopping_; ++i) {
            const int fd = events[static_cast<std::size_t>(i)].data.fd;
            if (fd == event_.get()) {
                std::uint64_t ignored = 0;
                static_cast<void>(!::read(fd, &ignored, sizeof ignored));
                continue;
            }
            const auto at = watched_.find(fd);
            if (at == watched_.end())
                continue; // unwatched by an earlier callback of this round
            const std::shared_ptr<Ready> ready = at->second;
            (*ready)(events[static_cast<std::size_t>(i)].events);
        }
    }
    const std::scoped_lock lock(tasks_mutex_);
    tasks_.clear();
}

} // namespace holdfast::supervise
