#include "slot_storm/worker.hpp"

#include <fcntl.h>
#include <sys/prctl.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>

namespace holdfast::storm {

namespace {

void note(Worker& self, std::string_view text) {
    std::size_t length = std::min(text.size(), sizeof self.text - 1);
    std::memcpy(self.text, text.data(), length);
    self.text[length] = '\0';
}

// "… is held by process 4711 (…" -> 4711
int named_in(const std::string& message) {
    constexpr std::string_view before = "held by process ";
    std::size_t at = message.find(before);
    int pid = 0;
    if (at != std::string::npos)
        std::from_chars(message.data() + at + before.size(), message.data() + message.size(), pid);
    return pid;
}

void hold(Arena& arena, Worker& self) {
    arena.enter();
    arena.decide(); // after entering: who decides last must not find that the owner has left already
    if (arena.hold_until_all_decided.load() != 0)
        arena.wait_until_all_decided();
    else
        spin_ns(self.hold_ns);
    arena.leave();
}

void attempt_slot(Arena& arena, Worker& self, const SlotLocation& slot) {
    auto got = acquire(slot, {.if_held = self.policy, .argv = {"storm"}});
    if (!got || !got->ownership)
        arena.decide();
    if (got && got->ownership) {
        self.outcome = Outcome::owned;
        std::uint64_t epoch = got->ownership->epoch();
        if (arena.last_epoch.exchange(epoch) >= epoch)
            arena.epoch_errors.fetch_add(1);
        hold(arena, self);
        got->ownership->release();
    } else if (got) {
        self.outcome = Outcome::held;
        self.named_pid = got->attached_to.owner_pid;
    } else if (got.error().code == Errc::held) {
        self.outcome = Outcome::held;
        self.named_pid = named_in(got.error().message);
    } else {
        self.outcome = Outcome::failed;
        note(self, std::string(name_of(got.error().code)) + ": " + got.error().message);
    }
}

std::string pidfile_of(const SlotLocation& slot) {
    return slot.directory + "/" + slot.name + ".pid";
}

// The broken algorithm, as it ships in many a daemon: the file's content decides.
void attempt_unlink_and_create(Arena& arena, Worker& self, const SlotLocation& slot) {
    std::string path = pidfile_of(slot);
    for (int attempt = 0; attempt < 100; ++attempt) {
        int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
        if (fd >= 0) {
            std::string mine = std::to_string(self.pid) + "\n";
            if (::write(fd, mine.data(), mine.size()) != static_cast<ssize_t>(mine.size()))
                note(self, "write of the PID file");
            ::close(fd);
            self.outcome = Outcome::owned;
            hold(arena, self);
            ::unlink(path.c_str());
            return;
        }
        char text[32] = {};
        int there = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        ssize_t length = there >= 0 ? ::read(there, text, sizeof text - 1) : -1;
        if (there >= 0)
            ::close(there);
        int pid = length > 0 ? std::atoi(text) : 0;
        if (pid > 0 && ::kill(pid, 0) == 0) {
            arena.decide();
            self.outcome = Outcome::held;
            self.named_pid = pid;
            return;
        }
        ::unlink(path.c_str()); // "stale"
    }
    arena.decide();
    self.outcome = Outcome::failed;
    note(self, "the baseline did not come to an end");
}

void die_with_parent() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() == 1)
        ::_exit(0);
}

} // namespace

void leave_stale_pidfile(const SlotLocation& slot) {
    int fd = ::open(pidfile_of(slot).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    constexpr std::string_view nobody = "4194304\n"; // no process has the largest PID of all
    if (fd < 0 || ::write(fd, nobody.data(), nobody.size()) != static_cast<ssize_t>(nobody.size()))
        std::abort();
    ::close(fd);
}

void run_worker(Arena& arena, int index, Algorithm algorithm, const SlotLocation& slot) {
    die_with_parent();
    Worker& self = arena.workers[index];
    std::uint32_t seen = 0;
    for (;;) {
        while (self.go.load() == seen && arena.stop.load() == 0)
            futex_wait(self.go, seen);
        if (arena.stop.load() != 0)
            ::_exit(0);
        seen = self.go.load();

        // The start line. The last to arrive opens it for a moment a little ahead, to which all spin who are
        // awake.
        std::uint32_t line = arena.round.load();
        if (arena.arrived.fetch_add(1) + 1 == arena.parties.load()) {
            arena.start_ns.store(now_ns() + 10'000);
            arena.round.fetch_add(1);
            futex_wake(arena.round, max_processes);
        } else {
            for (int spins = 0; spins < 50 && arena.round.load() == line; ++spins)
                ::sched_yield();
            while (arena.round.load() == line && arena.stop.load() == 0)
                futex_wait(arena.round, line);
        }
        while (now_ns() < arena.start_ns.load()) {
        }
        self.began_ns = now_ns();
        if (algorithm == Algorithm::slot)
            attempt_slot(arena, self, slot);
        else
            attempt_unlink_and_create(arena, self, slot);
        self.ended_ns = now_ns();
        if (arena.finished.fetch_add(1) + 1 == arena.parties.load())
            futex_wake(arena.finished, 1);
    }
}

void run_reader(Arena& arena, const SlotLocation& slot) {
    die_with_parent();
    auto is_worker = [&arena](int pid) {
        return std::any_of(std::begin(arena.workers), std::end(arena.workers),
                           [pid](const Worker& worker) { return worker.pid == pid; });
    };
    for (std::uint64_t look = 0; arena.stop.load() == 0; ++look) {
        bool well = true;
        if (look % 4 == 3) {
            auto all = list_slots(slot.directory);
            well = all.has_value();
        } else {
            auto info = query(slot);
            // Whom the kernel names as the owner is one of us, always.
            well = info && (info->state != SlotState::owned || is_worker(info->owner_pid));
        }
        arena.reader_looks.fetch_add(1);
        if (!well)
            arena.reader_failures.fetch_add(1);
        timespec pause{.tv_sec = 0, .tv_nsec = 500'000}; // leaves the processors to the starters
        ::nanosleep(&pause, nullptr);
    }
    ::_exit(0);
}

} // namespace holdfast::storm
