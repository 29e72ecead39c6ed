// Where nothing can be stored: no home, a full or read-only runtime directory, a umask that takes everything,
// no /proc. What needs no file works, and the rest says what is in the way.
#include "keep/fixture.hpp"

#include <unistd.h>

namespace holdfast::harness {

namespace {

// Scripts in a mount namespace with an empty /tmp of its own. $HF is the program, in a copy that the empty
// /tmp does not hide where the checkout is below /tmp; `as_user` runs a command as a user without an entry in
// /etc/passwd and with nothing in the environment but PATH, $HF and what is named.
class Places : public Keep {
protected:
    void SetUp() override {
        if (::geteuid() != 0)
            GTEST_SKIP() << "needs root, to mount and to be somebody else";
        if (const auto tried = script("echo works"); tried.out != "works\n")
            GTEST_SKIP() << "no mount namespace can be had here: " << tried.err;
    }
    Finished script(const std::string& text) const {
        auto spec = home.command({});
        std::erase_if(spec.env,
                      [](const std::string& variable) { return variable.starts_with("HOLDFAST_HOME="); });
        spec.argv = {
            "unshare",
            "--mount",
            "--propagation",
            "private",
            "/bin/sh",
            "-c",
            "mount -t tmpfs -o mode=755 none /mnt && cp \"$HF\" \"$HF\"-memory /mnt && HF=/mnt/holdfast &&\n"
            "mount -t tmpfs -o mode=1777 none /tmp && cd /tmp || exit 99\n"
            "as_user() { setpriv --reuid=54321 --regid=54321 --clear-groups env -i \"PATH=$PATH\" "
            "\"HF=$HF\" \"ZOO_TOKEN=$ZOO_TOKEN\" \"$@\"; }\n" +
                text};
        spec.env.push_back("HF=" + program("holdfast"));
        spec.err = Stdio::pipe;
        auto finished = run_to_end(spec, Deadline::in(patience));
        EXPECT_TRUE(finished) << finished.error().message;
        return finished ? std::move(*finished) : Finished{};
    }
};

// What a system service, a cron job or a container is given.
constexpr const char* works_from_the_runtime_directory = R"(
as_user /bin/sh -c '
    "$HF" run -- /bin/echo hello; echo "run $?"
    mkfifo /tmp/ready
    # Should it end early, the reader of the pipe must not wait for ever.
    { "$HF" run --slot one --name kept -- /bin/sh -c "echo >/tmp/ready; exec sleep 60"
      code=$?; [ $code = 143 ] || { echo "kept ended with $code" >&2; echo ended 1<>/tmp/ready; }; } &
    read -r _ </tmp/ready
    "$HF" run --slot one -- /bin/true 2>/dev/null; echo "second $?"
    "$HF" ps | grep -c kept
    "$HF" stop kept >/dev/null; echo "stop $?"
    wait
    "$HF" events | grep -c stopping
    "$HF" run --log -- /bin/true; echo "log $?"
    '
)";

TEST_F(Places, WithoutAHomeTheRuntimeDirectoryIsEnough) {
    const auto ran = script(works_from_the_runtime_directory);
    EXPECT_EQ(ran.out, "hello\nrun 0\nsecond 69\n1\nstop 0\n1\nlog 73\n") << ran.err;
    EXPECT_NE(ran.err.find("HOME is not set, and /etc/passwd has no entry for user 54321"), std::string::npos)
        << ran.err;
    const auto memory = script("as_user \"$HF\" memory add words; echo $?");
    EXPECT_EQ(memory.out, "73\n") << memory.err;
    EXPECT_NE(memory.err.find("a memory cannot be stored"), std::string::npos) << memory.err;
    EXPECT_NE(memory.err.find("/etc/passwd has no entry"), std::string::npos) << memory.err;
}

TEST_F(Places, AHomeThatMayNotBeWrittenIsAsNone) {
    for (const char* where : {"echo 'tester:x:54321:54321::/tmp/home:/bin/sh' >/tmp/passwd; mount --bind "
                              "/tmp/passwd /etc/passwd; mkdir -m 0755 /tmp/home\n",
                              "as_user() { setpriv --reuid=54321 --regid=54321 --clear-groups env -i "
                              "\"PATH=$PATH\" \"HF=$HF\" HOME=/proc/1 \"$@\"; }\n"}) {
        const auto ran = script(where + std::string(works_from_the_runtime_directory));
        EXPECT_EQ(ran.out, "hello\nrun 0\nsecond 69\n1\nstop 0\n1\nlog 73\n") << where << ran.err;
        EXPECT_NE(ran.err.find("cannot be written"), std::string::npos) << ran.err;
    }
}

TEST_F(Places, WithoutHomeTheUsersEntryIsRead) {
    const auto ran = script(R"(
        echo 'root:x:0:0::/root:/bin/sh
tester:x:54321:54321::/tmp/home:/bin/sh' >/tmp/passwd
        mount --bind /tmp/passwd /etc/passwd
        mkdir -m 0700 /tmp/home; chown 54321 /tmp/home
        as_user "$HF" run --log -- /bin/echo hello; echo "run $?"
        ls /tmp/home/.local/state/holdfast/default
        as_user "$HF" events | grep -c spawned)");
    EXPECT_EQ(ran.out, "hello\nrun 0\nevents.jsonl\nlogs\n1\n") << ran.err;
    EXPECT_EQ(ran.err, "");
}

// The place cannot take another file. $PLACE is what holds the runtime directory.
struct Obstacle {
    const char* name;
    const char* script;
    const char* told;
};

void PrintTo(const Obstacle& obstacle, std::ostream* out) {
    *out << obstacle.name;
}

class NoPlace : public Places, public testing::WithParamInterface<Obstacle> {
protected:
    Finished after(const std::string& text) const {
        return script(std::string("export HOLDFAST_HOME=/tmp/home PLACE=/tmp/home/run; mkdir -p $PLACE\n") +
                      GetParam().script + "\n" + text);
    }
};

TEST_P(NoPlace, AHelperStartsGuardedAndSaysThatItIsNotListed) {
    const auto ran = after("\"$HF\" run --name kept -- /bin/sh -c 'echo started; exit 5'; echo $?\n"
                           "ls $PLACE/default/helpers 2>/dev/null | wc -l");
    EXPECT_EQ(ran.out, "started\n5\n0\n") << ran.err;
    EXPECT_EQ(count(ran.err, "\n"), 1U) << ran.err;
    EXPECT_NE(ran.err.find("warning: \"kept\" is not listed"), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find(GetParam().told), std::string::npos) << ran.err;
    EXPECT_NE(ran.err.find("both be killed at once"), std::string::npos) << ran.err;
}

TEST_P(NoPlace, ASlotRefuses) {
    const auto ran = after("\"$HF\" run --slot one -- /bin/echo started; echo $?");
    EXPECT_TRUE(ran.out == "73\n" || ran.out == "77\n") << ran.out << ran.err;
    EXPECT_NE(ran.err.find(GetParam().told), std::string::npos) << ran.err;
}

// The front killed, the keeper killed: whichever is left ends the tree.
TEST_P(NoPlace, EachGuardEndsTheTreeOfTheOther) {
    for (const char* guard : {"$front", "$(cat /proc/$front/task/$front/children)"}) {
        const auto ran = after(std::string(R"(
            mkfifo -m 0666 /tmp/ready /tmp/gone
            cat /tmp/gone & reader=$!
            "$HF" run --stop now --host none -- /bin/sh -c '
                exec 9>/tmp/gone; echo up >/tmp/ready; exec sleep 60' & front=$!
            read -r _ </tmp/ready
            kill -KILL )") + guard +
                               "\nwait $reader; echo gone");
        EXPECT_EQ(ran.out, "gone\n") << guard << ran.err;
    }
}

INSTANTIATE_TEST_SUITE_P(
    Of, NoPlace,
    testing::Values(
        Obstacle{"full",
                 "mount -t tmpfs -o size=16k none $PLACE; mkdir -p -m 0700 $PLACE/default/helpers "
                 "$PLACE/default/slots; dd if=/dev/zero of=$PLACE/filler bs=4k 2>/dev/null",
                 "No space left on device"},
        Obstacle{"no_inodes", "mount -t tmpfs -o nr_inodes=1 none $PLACE", "No space left on device"},
        Obstacle{"read_only",
                 "mount -t tmpfs none $PLACE; mkdir -p -m 0700 $PLACE/default/helpers "
                 "$PLACE/default/slots; mount -o remount,ro $PLACE",
                 "Read-only file system"},
        Obstacle{"no_directory", "rmdir $PLACE; : >$PLACE", "Not a directory"},
        Obstacle{"forbidden",
                 "chmod 0755 /tmp/home; chmod 0755 $PLACE; hf=$HF; HF=/tmp/hf; printf "
                 "'#!/bin/sh\\nexec setpriv --reuid=54321 --regid=54321 --clear-groups %s "
                 "\"$@\"\\n' \"$hf\" >/tmp/hf; chmod 0755 /tmp/hf",
                 "Permission denied"}),
    [](const auto& one) { return one.param.name; });

// Every directory and file is its owner's, whatever the umask; the command has the umask as it was.
TEST_F(Places, AUmaskThatTakesEverythingDoesNoHarm) {
    for (const std::string umask : {"0277", "0777"}) {
        const auto ran = script("umask " + umask + R"(
            as_user HOME=/tmp/home /bin/sh -c '
                "$HF" run --slot one --log -- /bin/sh -c umask; echo "first $?"
                "$HF" run --slot one --log -- /bin/true; echo "second $?"
                umask 0022
                "$HF" run --slot one --log -- /bin/true; echo "third $?"
                "$HF" slots --json >/dev/null; echo "slots $?"
                "$HF" events | grep -c spawned' )");
        EXPECT_EQ(ran.out, umask + "\nfirst 0\nsecond 0\nthird 0\nslots 0\n3\n") << ran.err;
    }
}

// The memory's, too: what was stored is found by the next process, and one that owns the home is reached.
TEST_F(Places, AUmaskThatTakesEverythingHidesNoMemory) {
    for (const std::string umask : {"0277", "0777"}) {
        const auto ran = script("umask " + umask + R"(
            as_user HOME=/tmp/home /bin/sh -c '
                "$HF" memory add "the heron stands in the reeds" >/dev/null; echo "add $?"
                "$HF" memory search heron | grep -c reeds
                mkfifo -m 0600 /tmp/in /tmp/out
                "$HF"-memory --no-viewer </tmp/in >/tmp/out & exec 3>/tmp/in 4</tmp/out
                echo "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"core.health\"}" >&3; read -r _ <&4
                "$HF" memory add "the otter swims" >/dev/null; echo "beside it $?"
                "$HF" memory export | grep -c -e heron -e otter
                exec 3>&-; wait
                umask 0022
                "$HF" memory search otter | grep -c swims' )");
        EXPECT_EQ(ran.out, "add 0\n1\nbeside it 0\n2\n1\n") << umask << ran.err;
    }
}

// Whoever has made the directory above could rename what lies in it, and a second owner would find a free
// slot.
TEST_F(Places, ADirectoryThatAnotherUserHasMadeInOurNameIsNotUsed) {
    const auto ran = script("mkdir -m 0777 /tmp/holdfast-54321; chown 12345 /tmp/holdfast-54321\n"
                            "as_user \"$HF\" run --slot one -- /bin/echo started; echo $?\n"
                            "as_user \"$HF\" run -- /bin/echo started; echo $?\n"
                            "ls /tmp/holdfast-54321; chown 0 /tmp/holdfast-54321\n"
                            "as_user \"$HF\" run --slot one -- /bin/echo started; echo $?\n");
    EXPECT_EQ(ran.out, "73\nstarted\n0\nstarted\n0\n") << ran.err;
    EXPECT_NE(ran.err.find("user 12345 has made the directory /tmp/holdfast-54321"), std::string::npos)
        << ran.err;
    EXPECT_NE(ran.err.find("is not listed"), std::string::npos) << ran.err;
}

TEST_F(Places, ADirectoryOfOursThatWeMayNotUseIsNamed) {
    const auto ran = script("mkdir -m 0000 /tmp/holdfast-54321; chown 54321 /tmp/holdfast-54321\n"
                            "as_user \"$HF\" run --slot one -- /bin/true; echo $?");
    EXPECT_TRUE(ran.out == "77\n" || ran.out == "73\n") << ran.out;
    EXPECT_NE(ran.err.find("chmod u+rwx /tmp/holdfast-54321"), std::string::npos) << ran.err;
}

// A living process was said to have ended, with 3.
TEST_F(Places, WithoutProcTheReasonIsSaid) {
    const auto ran = script("mount -t tmpfs none /proc; export HOLDFAST_HOME=/tmp/home\n"
                            "\"$HF\" run -- /bin/echo started; echo $?");
    EXPECT_EQ(ran.out, "70\n");
    EXPECT_NE(ran.err.find("/proc is not mounted"), std::string::npos) << ran.err;
    EXPECT_EQ(ran.err.find("has ended"), std::string::npos) << ran.err;
}

TEST_F(Keep, TooFewDescriptorsAreNoProcessThatHasEnded) {
    for (int most = 4; most <= 12; ++most) {
        auto spec = home.command({});
        spec.argv = sh("ulimit -n \"$2\"; exec \"$1\" run -- /bin/echo started",
                       {program("holdfast"), std::to_string(most)});
        spec.err = Stdio::pipe;
        const auto ran = run_to_end(spec, Deadline::in(patience));
        ASSERT_TRUE(ran) << ran.error().message;
        EXPECT_FALSE(ran->status.exited_with(0));
        EXPECT_FALSE(ran->status.exited_with(3)) << ran->err;
        EXPECT_NE(ran->err.find("ulimit -n"), std::string::npos) << most << ": " << ran->err;
        EXPECT_EQ(ran->err.find("has ended"), std::string::npos) << most << ": " << ran->err;
    }
}

} // namespace

} // namespace holdfast::harness
