// The way to the owner of a home when something is in it: silent visitors, strange files, an end in the
// middle.
#include "harness/child.hpp"
#include "harness/eventually.hpp"
#include "holdfast/slot.hpp"
#include "memory/serve/attach_socket.hpp"
#include "memory/serve/look.hpp"
#include "support/memory_home.hpp"
#include "support/memory_process.hpp"
#include "support/memory_talk.hpp"
#include "support/patience.hpp"
#include "sys/fd.hpp"

#include <gtest/gtest.h>

#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <poll.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>

namespace holdfast::test {
namespace {

sys::Fd visit(const std::string& home) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto path = home + "/memory.sock";
    std::memcpy(address.sun_path, path.data(), path.size() + 1);
    sys::Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return socket;
}

// Processor time so far, in milliseconds.
long processor_ms(int pid) {
    const auto stat = TempHome::read_path("/proc/" + std::to_string(pid) + "/stat");
    long user = 0;
    long system = 0;
    std::sscanf(stat.c_str() + stat.rfind(')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld",
                &user, &system);
    return (user + system) * 1000 / ::sysconf(_SC_CLK_TCK);
}

// As many as the owner lets in at a time, and some that wait behind them.
TEST(MemoryDoor, visitors_that_say_nothing_keep_nobody_out) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    std::vector<sys::Fd> silent;
    for (int i = 0; i < 100; ++i)
        silent.push_back(visit(home.path()));
    MemoryProcess second(home.path());
    const auto added = second.call("memory.add", {{"text", "a note"}});
    ASSERT_TRUE(added.contains("result")) << boost::json::serialize(added);
    EXPECT_EQ(health_of(second).at("pid"), owner.pid());
    EXPECT_LT(processor_ms(owner.pid()), 1000) << "it asked again and again for those who had to wait";
}

TEST(MemoryDoor, a_process_that_cannot_reach_the_owner_ends_at_once_when_it_is_told_to) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    std::filesystem::remove(home.file("memory.sock"));
    MemoryProcess second(home.path());
    // Blocked and waiting for its signal, it is looking for the owner: a TERM before that would end it
    // anyhow.
    const auto status = "/proc/" + std::to_string(second.pid()) + "/status";
    ASSERT_TRUE(harness::eventually(harness::Deadline::in(std::chrono::seconds(10)), [&] {
        const auto text = TempHome::read_path(status);
        const auto at = text.find("SigBlk:");
        return at != text.npos &&
               (std::strtoull(text.c_str() + at + 7, nullptr, 16) >> (SIGTERM - 1) & 1U) != 0;
    }));
    ::kill(second.pid(), SIGTERM);
    EXPECT_EQ(second.wait_briefly(), 0);
}

TEST(MemoryDoor, what_was_in_the_way_of_listening_may_go_away_later) {
    const TempHome home;
    std::filesystem::create_directories(home.file("memory.sock/in the way"));
    int said[2];
    ASSERT_EQ(::pipe2(said, O_CLOEXEC), 0);
    MemoryProcess owner(home.path(), {}, {}, said[1]);
    prepare(owner);
    char text[512] = {};
    EXPECT_GT(::read(said[0], text, sizeof text - 1), 0);
    EXPECT_NE(std::string(text).find("further processes will wait"), std::string::npos) << text;
    std::filesystem::remove_all(home.file("memory.sock"));
    MemoryProcess second(home.path());
    EXPECT_TRUE(second.call("memory.add", {{"text", "a note"}}).contains("result"));
    EXPECT_EQ(health_of(second).at("pid"), owner.pid());
    ::close(said[0]);
    ::close(said[1]);
}

// The owner's answer to an offer without descriptors.
std::string answer_to(const std::string& home, const std::string& offer) {
    const auto visitor = visit(home);
    EXPECT_TRUE(memory::send_packet(visitor.get(), offer));
    pollfd ready{visitor.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&ready, 1, static_cast<int>(patient(std::chrono::seconds(10)).count())), 1);
    bool gone = false;
    const auto packet = memory::receive_packet(visitor.get(), gone);
    return packet ? packet->text : "";
}

TEST(MemoryDoor, an_offer_of_another_version_is_refused_with_both_versions_and_what_to_do) {
    const TempHome home;
    MemoryProcess owner(home.path());
    prepare(owner);
    const auto ours = std::to_string(memory::attach_version);
    const auto theirs = std::to_string(memory::attach_version + 1);
    const auto refusal = answer_to(home.path(), R"({"attach":)" + theirs + R"(,"release":"9.8.7","new":[]})");
    EXPECT_TRUE(refusal.starts_with("no version ")) << refusal;
    for (const std::string& words :
         {"version " + ours, "version " + theirs, std::string("Holdfast 9.8.7"),
          std::string("Holdfast " HOLDFAST_VERSION), "process " + std::to_string(owner.pid()),
          "holdfast stop memory --slot-dir " + home.path()})
        EXPECT_NE(refusal.find(words), std::string::npos) << words << "\nin: " << refusal;
    EXPECT_TRUE(answer_to(home.path(), R"({"attach":1})").starts_with("no version "));
    // Another release with the same number is served, and unknown members are ignored: this one is refused
    // only because it has no descriptors.
    const auto same = answer_to(home.path(), R"({"attach":)" + ours + R"(,"release":"9.8.7","new":[]})");
    EXPECT_EQ(same, "no an offer comes with four descriptors");
    EXPECT_EQ(answer_to(home.path(), "{}"), "no this is no request to be served");
    EXPECT_EQ(health_of(owner).at("ok"), true);
}

// An owner of another release: it has the home, and refuses everybody.
class OtherOwner {
public:
    explicit OtherOwner(const std::string& home)
        : slot_(acquire({home, "memory"}, {}).value())
        , listener_(memory::listen_in(home).value()) {}
    // Refuses the next one.
    void refuse(const std::string& why) {
        pollfd comes{listener_.get(), POLLIN, 0};
        ASSERT_EQ(::poll(&comes, 1, static_cast<int>(patient(std::chrono::seconds(10)).count())), 1);
        guest_ = memory::accept_own(listener_.get());
        ASSERT_TRUE(memory::send_packet(guest_.get(), why));
    }

private:
    Acquired slot_;
    sys::Fd listener_;
    sys::Fd guest_;
};

std::string all_of(int descriptor) {
    std::string text;
    char chunk[1024];
    for (ssize_t n = 0; (n = ::read(descriptor, chunk, sizeof chunk)) > 0;)
        text.append(chunk, static_cast<std::size_t>(n));
    return text;
}

TEST(MemoryDoor, refused_for_its_version_a_helper_says_so_and_serves_when_the_owner_is_gone) {
    const TempHome home;
    int said[2];
    ASSERT_EQ(::pipe2(said, O_CLOEXEC), 0);
    auto other = std::make_optional<OtherOwner>(home.path());
    MemoryProcess memory(home.path(), {}, {}, said[1]);
    ::close(said[1]);
    other->refuse("no version it is of another version; end it first");
    const auto waiting = health_of(memory);
    EXPECT_EQ(waiting.at("phase"), "opening");
    other.reset();
    EXPECT_TRUE(memory.call("memory.add", {{"text", "a note"}}).contains("result"));
    memory.close_input();
    EXPECT_EQ(memory.wait_briefly(), 0);
    const auto text = all_of(said[0]);
    ::close(said[0]);
    EXPECT_NE(text.find("it is of another version; end it first. This process waits for the owner's end"),
              std::string::npos)
        << text;
}

TEST(MemoryDoor, refused_for_its_version_a_reader_says_so_beside_what_the_files_say) {
    const TempHome home;
    OtherOwner other(home.path());
    auto looked = std::async(std::launch::async, [&] { return memory::look_at_home(home.path()); });
    other.refuse("no version it is of another version; end it first");
    const auto health = looked.get();
    ASSERT_TRUE(health);
    EXPECT_EQ(health->at("phase"), "silent");
    EXPECT_EQ(health->at("warnings").at(0).at("code"), "other_version");
    EXPECT_EQ(health->at("warnings").at(0).at("message"), "it is of another version; end it first");
}

TEST(MemoryDoor, refused_for_its_version_the_helper_of_a_command_ends_at_once) {
    const TempHome home;
    int said[2];
    ASSERT_EQ(::pipe2(said, O_CLOEXEC), 0);
    OtherOwner other(home.path());
    MemoryProcess memory(home.path(), {"--told-by-client"}, {}, said[1]);
    ::close(said[1]);
    other.refuse("no version it is of another version; end it first");
    EXPECT_EQ(memory.wait_briefly(), 1);
    const auto text = all_of(said[0]);
    ::close(said[0]);
    EXPECT_NE(text.find("it is of another version; end it first"), std::string::npos) << text;
}

TEST(MemoryDoor, a_pipe_under_the_name_of_a_file_holds_up_nobody) {
    const TempHome home;
    for (const char* name : {"config.json", "viewer.token"})
        ASSERT_EQ(::mkfifo(home.file(name).c_str(), 0600), 0);
    const sys::Fd quiet(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    MemoryProcess memory(home.path(), {"--port=0"}, {}, quiet.get());
    memory.write("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"core.health\"}\n");
    ASSERT_TRUE(memory.line(10'000));
    memory.close_input();
    EXPECT_EQ(memory.wait_briefly(), 0);
}

// A disk of a few kilobytes, in memory; nothing where the machine does not allow it.
class SmallDisk {
public:
    SmallDisk(std::string place, int kilobytes)
        : place_(std::move(place)) {
        const auto size = "mode=700,size=" + std::to_string(kilobytes) + "k";
        mounted_ = ::mount("tmpfs", place_.c_str(), "tmpfs", 0, size.c_str()) == 0;
    }
    SmallDisk(const SmallDisk&) = delete;
    SmallDisk& operator=(const SmallDisk&) = delete;
    ~SmallDisk() {
        if (mounted_)
            ::umount2(place_.c_str(), MNT_DETACH);
    }
    explicit operator bool() const { return mounted_; }

private:
    std::string place_;
    bool mounted_;
};

// However far it gets: exit codes as docs/memory.md has them.
TEST(MemoryDoor, a_store_that_cannot_be_made_for_lack_of_space_is_exit_73) {
    const sys::Fd quiet(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    for (const int kilobytes : {4, 12, 60, 160}) {
        const TempHome home;
        const SmallDisk disk(home.path(), kilobytes);
        if (!disk)
            GTEST_SKIP() << "no file system may be mounted here";
        MemoryProcess memory(home.path() + "/h", {}, {}, quiet.get());
        const auto refused = memory.call("memory.add", {{"text", "a note"}});
        EXPECT_FALSE(refused.contains("result")) << kilobytes;
        memory.close_input();
        EXPECT_EQ(memory.wait_briefly(), 73) << kilobytes;
    }
}

// Whatever the limit is: it serves, or says why not and ends.
TEST(MemoryDoor, with_few_descriptors_it_serves_or_ends) {
    for (const int most : {6, 8, 9, 10, 11, 12, 16, 24}) {
        const TempHome home;
        const sys::Fd quiet(::open("/dev/null", O_WRONLY | O_CLOEXEC));
        MemoryProcess memory(home.path(), {}, {}, quiet.get(),
                             {"/usr/bin/prlimit", "--nofile=" + std::to_string(most)});
        memory.write(
            "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"memory.add\",\"params\":{\"text\":\"x\"}}\n");
        memory.close_input();
        (void)memory.line(10'000);
        EXPECT_NE(memory.wait_briefly(), -2000) << most;
    }
}

// A user without an entry in /etc/passwd, as a container may have it.
TEST(MemoryDoor, without_a_place_of_its_own_it_says_so) {
    if (::geteuid() != 0)
        GTEST_SKIP() << "only root may become another user";
    const TempHome home;
    ASSERT_EQ(::chmod(home.path().c_str(), 0755), 0);
    const std::string program = home.path() + "/holdfast-memory";
    std::filesystem::copy_file(std::string(HOLDFAST_BIN_DIR) + "/holdfast-memory", program);
    ASSERT_EQ(::chmod(program.c_str(), 0755), 0);
    harness::SpawnSpec spec;
    spec.argv = {"/usr/bin/setpriv", "--reuid=54321", "--regid=54321",
                 "--clear-groups",   program,         "--no-viewer"};
    spec.clear_env = true;
    spec.err = harness::Stdio::pipe;
    const auto refused = harness::run_to_end(spec, harness::Deadline::in(std::chrono::seconds(60)));
    ASSERT_TRUE(refused) << refused.error().message;
    EXPECT_TRUE(refused->status.exited_with(64)) << refused->err;
    EXPECT_NE(refused->err.find("--home=DIR"), std::string::npos) << refused->err;
}

} // namespace
} // namespace holdfast::test
