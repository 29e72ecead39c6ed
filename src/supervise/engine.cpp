#include "supervise/engine.hpp"

#include "sys/proc.hpp"

#include <sys/epoll.h>

namespace holdfast::supervise {

void Engine::reap_later(const std::shared_ptr<Engine>& engine, sys::PidFd keeper) {
    if (keeper.fd() < 0)
        return;
    {
        const std::scoped_lock lock(engine->rest_mutex);
        ++engine->unreaped;
    }
    auto held = std::make_shared<sys::PidFd>(std::move(keeper));
    sys::continue_stopped(*held); // it has but to end
    const std::weak_ptr<Engine> weak = engine;
    engine->loop->watch(held->fd(), EPOLLIN, [weak, held](std::uint32_t) {
        // Somebody else in the host may have reaped it (a wait for any child): then there is nothing left to
        // do.
        static_cast<void>(held->try_reap());
        const auto alive = weak.lock();
        if (!alive)
            return;
        alive->loop->unwatch(held->fd());
        const std::scoped_lock lock(alive->rest_mutex);
        --alive->unreaped;
        alive->rest_changed.notify_all();
    });
}

} // namespace holdfast::supervise
