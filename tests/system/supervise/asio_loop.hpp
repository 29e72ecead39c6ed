// An event loop as a program on Boost.Asio has it. Its descriptors stay the owner's: Asio only waits for
// them.
#pragma once

#include "harness/deadline.hpp"
#include "supervise/event_loop.hpp"
#include "supervise/watch_serials.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <sys/epoll.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <thread>

namespace holdfast::supervise_test {

namespace asio = boost::asio;

class AsioLoop final : public supervise::EventLoop, public std::enable_shared_from_this<AsioLoop> {
public:
    template <class Condition>
    bool run_until(const harness::Deadline& deadline, Condition holds) {
        while (!holds()) {
            if (deadline.passed())
                return false;
            context_.restart();
            context_.run_one_until(deadline.at());
        }
        return true;
    }

    void post(Task task) override { asio::post(context_, std::move(task)); }
    std::unique_ptr<Timer> timer(Tick tick) override {
        return std::make_unique<Alarm>(std::make_shared<AlarmState>(context_, std::move(tick)));
    }
    [[nodiscard]] bool on_own_thread() const noexcept override {
        return std::this_thread::get_id() == thread_;
    }
    void watch(int fd, std::uint32_t events, Ready ready) override {
        auto watched = std::make_shared<Watched>(context_, fd, events, std::move(ready));
        serials_.begin(fd);
        watched_[fd] = watched;
        watched->arm();
    }
    void unwatch(int fd) override {
        const auto at = watched_.find(fd);
        if (at == watched_.end())
            return;
        serials_.end(fd);
        at->second->gone = true;
        at->second->descriptor.release(); // cancels what waits, and leaves it open
        watched_.erase(at);
    }
    void change(int fd, std::uint32_t events) override {
        post([self = weak_from_this(), fd, events, serial = serials_.now(fd)] {
            const auto loop = self.lock();
            const auto at = loop->watched_.find(fd);
            if (at == loop->watched_.end() || loop->serials_.now(fd) != serial)
                return;
            at->second->events = events;
            at->second->arm();
        });
    }

private:
    struct AlarmState : std::enable_shared_from_this<AlarmState> {
        AlarmState(asio::io_context& context, Tick callback)
            : timer(context)
            , tick(std::move(callback)) {}

        void lower(base::Moment wished) {
            {
                const std::scoped_lock lock(mutex);
                if (wished >= due)
                    return;
                due = wished;
            }
            asio::post(timer.get_executor(), [self = shared_from_this()] { self->arm(); });
        }
        void arm() {
            base::Moment at;
            {
                const std::scoped_lock lock(mutex);
                at = due;
            }
            if (gone || at == base::never)
                return;
            timer.expires_after(std::max(base::Moment{0}, at - supervise::now_moment()));
            timer.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
                if (!error && !self->gone)
                    self->ring();
            });
        }
        void ring() {
            {
                const std::scoped_lock lock(mutex);
                due = base::never;
            }
            lower(tick(supervise::now_moment()));
        }

        asio::steady_timer timer;
        const Tick tick;
        std::mutex mutex;
        base::Moment due = base::never;
        std::atomic<bool> gone = false;
    };
    class Alarm final : public Timer {
    public:
        explicit Alarm(std::shared_ptr<AlarmState> state)
            : state_(std::move(state)) {}
        ~Alarm() override { state_->gone = true; }
        void by(base::Moment due) override { state_->lower(due); }

    private:
        const std::shared_ptr<AlarmState> state_;
    };

    struct Watched : std::enable_shared_from_this<Watched> {
        using Wait = asio::posix::stream_descriptor::wait_type;
        Watched(asio::io_context& context, int fd, std::uint32_t wanted, Ready callback)
            : descriptor(context, fd)
            , events(wanted)
            , ready(std::move(callback)) {}
        ~Watched() {
            if (!gone)
                descriptor.release();
        }
        void arm() {
            wait(asio::posix::stream_descriptor::wait_read, EPOLLIN, reading);
            wait(asio::posix::stream_descriptor::wait_write, EPOLLOUT, writing);
            wait(asio::posix::stream_descriptor::wait_error, EPOLLERR, failing);
        }
        void wait(Wait what, std::uint32_t bit, bool& under_way) {
            if (gone || under_way || (bit != EPOLLERR && (events & bit) == 0))
                return;
            under_way = true;
            descriptor.async_wait(
                what, [self = shared_from_this(), bit, &under_way](const boost::system::error_code& error) {
                    under_way = false;
                    if (error || self->gone)
                        return;
                    if (bit == EPOLLERR || (self->events & bit) != 0)
                        self->ready(bit);
                    self->arm();
                });
        }

        asio::posix::stream_descriptor descriptor;
        std::uint32_t events;
        const Ready ready;
        bool reading = false;
        bool writing = false;
        bool failing = false;
        bool gone = false;
    };

    const std::thread::id thread_ = std::this_thread::get_id();
    asio::io_context context_;
    std::map<int, std::shared_ptr<Watched>> watched_; // the loop's thread only
    WatchSerials serials_;
};

} // namespace holdfast::supervise_test
