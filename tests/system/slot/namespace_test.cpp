// An owner in another PID namespace (a container that shares the directory): owned, and out of reach. Said
// exactly so.
#include "slot/actor.hpp"
#include "slot/forked.hpp"

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::slot_test {
namespace {

class OtherNamespace : public SlotTest {
protected:
    // Runs `body` as PID 1 of a new PID namespace: it cannot see our processes, and shares our directory.
    static Forked in_new_pid_namespace(const std::function<std::string()>& body) {
        return in_fork([&body]() -> std::string {
            int flags = CLONE_NEWPID | (::geteuid() == 0 ? 0 : CLONE_NEWUSER);
            if (::unshare(flags) != 0)
                return "no namespaces here";
            return in_fork(body).said; // the first child is the one that lives inside
        });
    }
};

TEST_F(OtherNamespace, AnOwnerThereIsOwnedAndCannotBeSignalled) {
    auto got = acquire(slot(), {.if_held = IfHeld::refuse});
    ASSERT_TRUE(got && got->ownership);
    ASSERT_TRUE(got->ownership->ready());
    Forked seen = in_new_pid_namespace([this] {
        std::string out;
        auto info = query(slot());
        out += std::string(name_of(info->state)) + " pid " + std::to_string(info->owner_pid) +
               (info->owner_in_other_namespace ? " elsewhere" : " here");
        for (IfHeld policy : {IfHeld::refuse, IfHeld::replace, IfHeld::wait, IfHeld::attach}) {
            auto tried = acquire(slot(), {.if_held = policy, .wait = Millis{50}});
            out += "|" + (tried ? std::string(tried->ownership ? "owned" : "attached")
                                : std::string(name_of(tried.error().code)));
            if (!tried && tried.error().message.find("another PID namespace") == std::string::npos)
                out += " without saying why: " + tried.error().message;
        }
        auto stopped = stop_slot(slot(), {});
        out += "|stop " + std::string(stopped ? "done" : name_of(stopped.error().code));
        return out;
    });
    if (seen.said == "no namespaces here")
        GTEST_SKIP() << "this machine does not allow PID namespaces";
    EXPECT_EQ(seen.said, "owned pid 0 elsewhere|held|unreachable|timed_out|attached|stop unreachable");
    EXPECT_TRUE(got->ownership->still_mine());
}

TEST_F(OtherNamespace, ItsEndIsSeenAllTheSame) {
    Actor owner = actor();
    ASSERT_SAYS(owner.ask("acquire refuse"), "owned");
    std::string token = mark_.token();
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    pid_t killer = ::fork();
    if (killer == 0) { // when told that the waiter stands, ends the owner
        char go = 0;
        ::alarm(3600);
        (void)(::read(ends[0], &go, 1) == 1 && owner.child().signal(SIGKILL));
        ::_exit(0);
    }
    Forked seen = in_new_pid_namespace([&] {
        (void)!::write(ends[1], "g", 1);
        auto tried = acquire(slot(), {.if_held = IfHeld::wait, .wait = test::patient(Millis{20'000})});
        return tried && tried->ownership ? std::string("owned") : tried.error().message;
    });
    ::close(ends[1]);
    ::close(ends[0]);
    ::waitpid(killer, nullptr, 0);
    if (seen.said == "no namespaces here")
        GTEST_SKIP() << "this machine does not allow PID namespaces";
    EXPECT_EQ(seen.said, "owned");
}

// An owner in a namespace below ours is seen with the number it has here, and can be replaced.
TEST_F(OtherNamespace, AnOwnerInANamespaceBelowOursIsWithinReach) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    std::jthread replacer([&] {
        char go = 0;
        if (::read(ends[0], &go, 1) != 1)
            return;
        auto info = query(slot());
        EXPECT_GT(info->owner_pid, 1);
        auto got = acquire(slot(), {.if_held = IfHeld::replace});
        EXPECT_TRUE(got && got->ownership);
    });
    Forked seen = in_new_pid_namespace([&]() -> std::string {
        // As PID 1 of its namespace it would ignore TERM from inside, but not KILL from outside; so a child
        // is the owner.
        return in_fork([&]() -> std::string {
                   auto got = acquire(slot(), {});
                   if (!got || !got->ownership->ready() || ::write(ends[1], "g", 1) != 1)
                       return "not";
                   for (;;)
                       ::pause();
               })
            .said;
    });
    ::close(ends[1]);
    replacer.join();
    ::close(ends[0]);
    if (seen.said == "no namespaces here")
        GTEST_SKIP() << "this machine does not allow PID namespaces";
    EXPECT_EQ(seen.said, ""); // it said nothing: it was ended
}

} // namespace
} // namespace holdfast::slot_test
