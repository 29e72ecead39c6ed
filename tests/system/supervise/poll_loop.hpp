// An event loop as a small program may have it: one thread, poll(2), and nothing of the library's own loop.
#pragma once

#include "harness/deadline.hpp"
#include "supervise/event_loop.hpp"
#include "supervise/watch_serials.hpp"

#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace holdfast::supervise_test {

static_assert(EPOLLIN == POLLIN && EPOLLOUT == POLLOUT && EPOLLERR == POLLERR && EPOLLHUP == POLLHUP);

class PollLoop final : public supervise::EventLoop, public std::enable_shared_from_this<PollLoop> {
public:
    PollLoop()
        : wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
    ~PollLoop() override { ::close(wake_); }

    // On the thread that made it. True when `holds()` did before the deadline.
    template <class Condition>
    bool run_until(const harness::Deadline& deadline, Condition holds) {
        while (!holds()) {
            if (deadline.passed())
                return false;
            turn(deadline.remaining_ms());
        }
        return true;
    }

    void post(Task task) override {
        {
            const std::scoped_lock lock(mutex_);
            tasks_.push_back(std::move(task));
        }
        wake();
    }
    std::unique_ptr<Timer> timer(Tick tick) override {
        return std::make_unique<Alarm>(shared_from_this(), std::make_shared<Tick>(std::move(tick)));
    }
    [[nodiscard]] bool on_own_thread() const noexcept override {
        return std::this_thread::get_id() == thread_;
    }
    void watch(int fd, std::uint32_t events, Ready ready) override {
        serials_.begin(fd);
        watched_[fd] = {events, std::make_shared<Ready>(std::move(ready))};
    }
    void unwatch(int fd) override {
        serials_.end(fd);
        watched_.erase(fd);
    }
    void change(int fd, std::uint32_t events) override {
        post([self = weak_from_this(), fd, events, serial = serials_.now(fd)] {
            const auto loop = self.lock();
            const auto at = loop->watched_.find(fd);
            if (at != loop->watched_.end() && loop->serials_.now(fd) == serial)
                at->second.events = events;
        });
    }

private:
    class Alarm final : public Timer {
    public:
        Alarm(std::shared_ptr<PollLoop> loop, std::shared_ptr<Tick> tick)
            : loop_(std::move(loop))
            , tick_(std::move(tick)) {}
        ~Alarm() override {
            const std::scoped_lock lock(loop_->mutex_);
            loop_->due_.erase(tick_);
        }
        void by(base::Moment due) override {
            {
                const std::scoped_lock lock(loop_->mutex_);
                const auto [at, added] = loop_->due_.emplace(tick_, due);
                if (!added && at->second <= due)
                    return;
                at->second = due;
            }
            loop_->wake();
        }

    private:
        const std::shared_ptr<PollLoop> loop_;
        const std::shared_ptr<Tick> tick_;
    };
    struct Watched {
        std::uint32_t events = 0;
        std::shared_ptr<Ready> ready;
    };
    WatchSerials serials_;

    void wake() const {
        const std::uint64_t one = 1;
        static_cast<void>(!::write(wake_, &one, sizeof one));
    }

    // Each tick only when it is due, unlike the library's loop.
    void tick_what_is_due() {
        const base::Moment now = supervise::now_moment();
        std::vector<std::shared_ptr<Tick>> ripe;
        {
            const std::scoped_lock lock(mutex_);
            for (auto& [tick, due] : due_)
                if (due <= now) {
                    ripe.push_back(tick);
                    due = base::never;
                }
        }
        for (const auto& tick : ripe) {
            const base::Moment next = (*tick)(now);
            const std::scoped_lock lock(mutex_);
            if (const auto at = due_.find(tick); at != due_.end())
                at->second = std::min(at->second, next);
        }
    }

    void turn(int at_most_ms) {
        std::vector<Task> tasks;
        {
            const std::scoped_lock lock(mutex_);
            tasks.swap(tasks_);
        }
        for (Task& task : tasks)
            task();
        tick_what_is_due();
        std::vector<pollfd> fds{{.fd = wake_, .events = POLLIN, .revents = 0}};
        for (const auto& [fd, watched] : watched_)
            fds.push_back({.fd = fd, .events = static_cast<short>(watched.events), .revents = 0});
        ::poll(fds.data(), fds.size(), wait_ms(at_most_ms));
        if (fds[0].revents != 0) {
            std::uint64_t ignored = 0;
            static_cast<void>(!::read(wake_, &ignored, sizeof ignored));
        }
        for (std::size_t i = 1; i < fds.size(); ++i) {
            const auto at = watched_.find(fds[i].fd);
            if (fds[i].revents == 0 || at == watched_.end())
                continue;
            const std::shared_ptr<Ready> ready = at->second.ready;
            (*ready)(static_cast<std::uint32_t>(fds[i].revents));
        }
    }

    int wait_ms(int at_most_ms) {
        const std::scoped_lock lock(mutex_);
        if (!tasks_.empty())
            return 0;
        const base::Moment now = supervise::now_moment();
        std::int64_t wait = at_most_ms;
        for (const auto& [tick, due] : due_)
            if (due != base::never)
                wait = std::min<std::int64_t>(wait, due <= now ? 0 : (due - now).count() / 1'000'000 + 1);
        return static_cast<int>(wait);
    }

    const int wake_;
    const std::thread::id thread_ = std::this_thread::get_id();
    std::mutex mutex_;
    std::vector<Task> tasks_;
    std::map<std::shared_ptr<Tick>, base::Moment> due_;
    std::map<int, Watched> watched_; // the loop's thread only
};

} // namespace holdfast::supervise_test
