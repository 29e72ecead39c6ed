// A read lock on life: a lock waiter holds one for an instant, and one that a signal stops in that instant
// holds it on. A start outwaits it, continues it, and in the end names it: it does not wait without a bound.
#include "slot/actor.hpp"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace holdfast::slot_test {
namespace {

class ReadLock : public SlotTest {
protected:
    // A process with a read lock on life: stopped, and to end when it is continued; or awake, for a minute.
    pid_t start_reader(bool stopped) {
        const std::string path = directory() + "/slot.lock";
        int bell[2];
        EXPECT_EQ(::pipe2(bell, O_CLOEXEC), 0);
        const pid_t pid = ::fork();
        if (pid == 0) {
            const int fd = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
            struct flock life{};
            life.l_type = F_RDLCK;
            life.l_whence = SEEK_SET;
            life.l_len = 1;
            if (::fcntl(fd, F_OFD_SETLK, &life) != 0)
                ::_exit(9);
            ::alarm(60);
            (void)!::write(bell[1], "!", 1);
            if (stopped)
                ::raise(SIGSTOP);
            else
                ::pause();
            ::_exit(0);
        }
        char byte = 0;
        EXPECT_EQ(::read(bell[0], &byte, 1), 1);
        ::close(bell[0]);
        ::close(bell[1]);
        if (stopped) {
            int status = 0;
            EXPECT_EQ(::waitpid(pid, &status, WUNTRACED), pid);
            EXPECT_TRUE(WIFSTOPPED(status));
        }
        return pid;
    }
    static void end_reader(pid_t pid) { // our child, not reaped: its number is its own
        ::kill(pid, SIGKILL);
        ::waitpid(pid, nullptr, 0);
    }
};

TEST_F(ReadLock, G2OneThatIsStoppedIsContinued) {
    const pid_t reader = start_reader(true);
    Actor next = actor();
    EXPECT_EQ(next.ask("acquire refuse"), "owned 1");
    int status = 0;
    EXPECT_EQ(::waitpid(reader, &status, 0), reader);
    EXPECT_TRUE(WIFEXITED(status)) << "it went on by itself";
}

TEST_F(ReadLock, G2OneThatStaysIsNamed) {
    const pid_t reader = start_reader(false);
    Actor next = actor();
    const std::string said = next.ask("acquire refuse", 60'000);
    EXPECT_SAYS(said, "error timed_out ");
    EXPECT_NE(said.find("process " + std::to_string(reader)), std::string::npos) << said;
    end_reader(reader);
    EXPECT_SAYS(next.ask("acquire refuse"), "owned ");
}

} // namespace
} // namespace holdfast::slot_test
