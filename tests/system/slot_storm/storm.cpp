#include "slot_storm/storm.hpp"

#include "records/record.hpp"
#include "slot_storm/hung_round.hpp"
#include "slot_storm/worker.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <random>
#include <system_error>
#include <vector>

namespace holdfast::storm {

namespace {

enum class Start { empty, stale, torn, orphaned };

// On tmpfs where there is one: a storm is about the locks and not about the disk.
std::string make_directory() {
    struct statfs fs{};
    const char* temporary = std::getenv("TMPDIR");
    std::string base = temporary ? temporary : "/tmp";
    if (::statfs("/dev/shm", &fs) == 0 && fs.f_type == 0x01021994 && ::access("/dev/shm", W_OK) == 0)
        base = "/dev/shm";
    std::string path = base + "/holdfast-storm-XXXXXX";
    if (!::mkdtemp(path.data()))
        throw std::system_error(errno, std::generic_category(), path);
    return path;
}

class Storm {
public:
    explicit Storm(const Plan& plan)
        : plan_(plan)
        , random_(plan.seed)
        , directory_(make_directory())
        , slot_{.directory = directory_, .name = "storm"} {
        void* memory =
            ::mmap(nullptr, sizeof(Arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            throw std::system_error(errno, std::generic_category(), "mmap");
        arena_ = new (memory) Arena{};
        for (int index = 0; index < plan_.processes; ++index)
            arena_->workers[index].pid =
                fork_off([&] { run_worker(*arena_, index, plan_.algorithm, slot_); });
        if (plan_.algorithm == Algorithm::slot)
            for (int reader = 0; reader < plan_.readers; ++reader)
                (void)fork_off([&] { run_reader(*arena_, slot_); });
    }
    Storm(const Storm&) = delete;
    Storm& operator=(const Storm&) = delete;
    ~Storm() {
        arena_->stop.store(1);
        for (Worker& worker : arena_->workers)
            futex_wake(worker.go, 1);
        futex_wake(arena_->round, max_processes);
        for (pid_t child : children_) {
            // Our own child, not yet waited for: the number cannot mean anybody else.
            if (hung_)
                ::kill(child, SIGKILL);
            ::waitpid(child, nullptr, 0);
        }
        ::munmap(arena_, sizeof(Arena));
        std::error_code ignored;
        std::filesystem::remove_all(directory_, ignored);
    }

    Tally run() {
        std::int64_t began = now_ns();
        for (std::uint64_t round = 0; round < plan_.rounds && !hung_; ++round) {
            run_round(round);
            if (plan_.until_two && tally_.rounds_with_two > 0)
                break;
        }
        tally_.seconds = static_cast<double>(now_ns() - began) / 1e9;
        tally_.double_owners = arena_->double_owners.load();
        tally_.most_at_once = arena_->most_at_once.load();
        tally_.epoch_errors = arena_->epoch_errors.load();
        tally_.reader_looks = arena_->reader_looks.load();
        tally_.reader_failures = arena_->reader_failures.load();
        return tally_;
    }

private:
    template <class Body>
    pid_t fork_off(Body body) {
        pid_t pid = ::fork();
        if (pid < 0)
            throw std::system_error(errno, std::generic_category(), "fork");
        if (pid == 0)
            body();
        children_.push_back(pid);
        return pid;
    }

    void write(const std::string& name, std::string_view text) const {
        std::string path = directory_ + "/" + name;
        int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        if (fd < 0 || ::write(fd, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
            throw std::system_error(errno, std::generic_category(), path);
        ::close(fd);
    }

    // An orphaned slot is the slow case (its waiters need a watch each, and the kernel takes its time to end
    // one), so it is the rarer one.
    [[nodiscard]] Start start_of(std::uint64_t round) const {
        const auto every = static_cast<std::uint64_t>(plan_.orphaned_every);
        return round % every == every - 1 ? Start::orphaned : static_cast<Start>(round % 3);
    }

    // Puts the slot into its state before the round. Returns the descriptor that keeps it orphaned, or -1.
    int prepare(Start start) {
        std::string lock = directory_ + "/storm.lock";
        switch (start) {
        case Start::empty:
            ++tally_.empty;
            ::unlink(lock.c_str());
            ::unlink((directory_ + "/storm.json").c_str());
            return -1;
        case Start::stale: {
            ++tally_.stale;
            // Of another boot, by a process whose number somebody has today.
            base::Record old{.name = "storm", .epoch = 3, .phase = Phase::ready, .since = 1};
            old.identity = {.boot_id = "another boot", .pid = static_cast<int>(::getpid())};
            write("storm.lock", "holdfast epoch 00000000000000000003\n");
            write("storm.json", records::to_json(old));
            return -1;
        }
        case Start::torn:
            ++tally_.torn;
            write("storm.lock", random_() % 2 ? "holdfast ep" : std::string_view());
            write("storm.json", random_() % 2 ? R"({"schema":1,"name":"sto)" : std::string_view());
            write("storm.json.tmp", "{");
            return -1;
        case Start::orphaned:
            break;
        }
        ++tally_.orphaned;
        int fd = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        struct flock life{};
        life.l_type = F_WRLCK;
        life.l_whence = SEEK_SET;
        life.l_len = 1;
        if (fd < 0 || ::fcntl(fd, F_OFD_SETLK, &life) != 0)
            throw std::system_error(errno, std::generic_category(), lock);
        return fd;
    }

    void run_round(std::uint64_t round) {
        bool baseline = plan_.algorithm == Algorithm::unlink_and_create;
        auto parties = static_cast<unsigned>(2 + random_() % static_cast<unsigned>(plan_.processes - 1));
        // Half of the rounds are plain start storms: the owner stays until everybody has his answer, so there
        // must be exactly one. In the others owners come and go under mixed policies.
        bool stays = baseline || random_() % 2 == 0;
        int orphan = -1;
        if (baseline)
            leave_stale_pidfile(slot_);
        else
            orphan = prepare(start_of(round));

        Arena& arena = *arena_;
        std::uint64_t doubles_before = arena.double_owners.load();
        arena.arrived.store(0);
        arena.decided.store(0);
        arena.finished.store(0);
        arena.parties.store(parties);
        arena.hold_until_all_decided.store(stays ? 1 : 0);
        arena.last_epoch.store(0);
        std::uint32_t line = arena.round.load();
        for (unsigned index = 0; index < parties; ++index) {
            Worker& worker = arena.workers[index];
            constexpr IfHeld mixed[] = {IfHeld::refuse, IfHeld::wait, IfHeld::attach, IfHeld::refuse};
            worker.policy = stays ? (random_() % 4 ? IfHeld::refuse : IfHeld::attach) : mixed[random_() % 4];
            worker.hold_ns = static_cast<std::int64_t>(random_() % 30'000);
            worker.outcome = Outcome::none;
            worker.named_pid = 0;
            worker.go.fetch_add(1);
            futex_wake(worker.go, 1);
        }
        if (orphan >= 0) {
            // The last leftover goes somewhere in the middle of the storm.
            while (arena.round.load() == line)
                futex_wait(arena.round, line);
            spin_ns(static_cast<std::int64_t>(random_() % 200'000));
            ::close(orphan);
        }
        std::int64_t limit = now_ns() + std::int64_t{plan_.round_limit_ms} * 1'000'000;
        for (std::uint32_t done = 0; (done = arena.finished.load()) < parties;) {
            futex_wait(arena.finished, done);
            if (now_ns() > limit && arena.finished.load() < parties) {
                hung_ = true;
                fail_with("round " + std::to_string(round) + " did not end in time\n" +
                          describe_hung_round(arena, directory_));
                return;
            }
        }
        judge(round, parties, stays, doubles_before);
    }

    void judge(std::uint64_t round, unsigned parties, bool stays, std::uint64_t doubles_before) {
        ++tally_.rounds;
        tally_.attempts += parties;
        if (arena_->double_owners.load() != doubles_before)
            ++tally_.rounds_with_two;
        unsigned owners = 0;
        for (unsigned index = 0; index < parties; ++index) {
            const Worker& worker = arena_->workers[index];
            if (worker.outcome == Outcome::owned)
                ++owners;
            if (worker.outcome == Outcome::held) {
                ++tally_.told_held;
                if (!was_held(worker, parties))
                    ++tally_.false_held;
            }
            if (worker.outcome == Outcome::failed || worker.outcome == Outcome::none) {
                ++tally_.failures;
                fail_with("round " + std::to_string(round) + ": " + worker.text);
            }
        }
        tally_.owners += owners;
        if (owners == 0)
            ++tally_.ownerless_rounds;
        // One who stays, and yet two were owners in that round: they need not have met to be two.
        if (stays && owners > 1 && arena_->double_owners.load() == doubles_before)
            ++tally_.rounds_with_two;
    }

    // Whether the one that was named owned the slot in this round, and had not left before the question was
    // asked.
    [[nodiscard]] bool was_held(const Worker& loser, unsigned parties) const {
        for (unsigned index = 0; index < parties; ++index) {
            const Worker& other = arena_->workers[index];
            if (other.pid == loser.named_pid)
                return other.outcome == Outcome::owned && other.ended_ns >= loser.began_ns;
        }
        return false;
    }

    void fail_with(std::string text) {
        if (tally_.first_failure.empty())
            tally_.first_failure = std::move(text);
    }

    Plan plan_;
    std::mt19937 random_;
    std::string directory_;
    SlotLocation slot_;
    Arena* arena_ = nullptr;
    std::vector<pid_t> children_;
    Tally tally_;
    bool hung_ = false;
};

} // namespace

Tally run(const Plan& plan) {
    return Storm(plan).run();
}

} // namespace holdfast::storm
