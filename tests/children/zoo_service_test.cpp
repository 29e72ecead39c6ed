// The animals that behave: they use something up, speak a protocol, or end in a given way.
#include "zoo_fixture.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

namespace holdfast::harness {
namespace {

// A number from /proc/PID/<file>, after the given label.
long long figure(pid_t pid, const std::string& file, const std::string& label) {
    const auto text = read_file("/proc/" + std::to_string(pid) + "/" + file).value_or("");
    const auto at = text.find(label);
    return at == std::string::npos ? -1 : std::strtoll(text.c_str() + at + label.size(), nullptr, 10);
}

// The service manager's side of sd_notify.
class NotifySocket {
public:
    explicit NotifySocket(std::string path)
        : path_(std::move(path))
        , fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)) {
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        path_.copy(address.sun_path, sizeof address.sun_path - 1);
        EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    }
    [[nodiscard]] std::string env() const { return "NOTIFY_SOCKET=" + path_; }
    std::string next(const Deadline& deadline) const {
        pollfd poller{fd_.get(), POLLIN, 0};
        char message[512];
        if (::poll(&poller, 1, deadline.remaining_ms()) != 1)
            return "(nothing)";
        const ssize_t n = ::recv(fd_.get(), message, sizeof message, 0);
        return n < 0 ? "(error)" : std::string(message, static_cast<std::size_t>(n));
    }

private:
    std::string path_;
    sys::Fd fd_;
};

TEST_F(Zoo, MemoryHolderHoldsWhatItSays) {
    auto animal = start("memory_holder", {"--mb=40"});
    EXPECT_GE(figure(animal.pid(), "status", "VmRSS:"), 40 * 1024);
    auto small = start("memory_holder", {"--mb=1"});
    EXPECT_LT(figure(small.pid(), "status", "VmRSS:"), 10 * 1024) << "control";
    auto with_child = start("memory_holder", {"--mb=40", "--child"});
    EXPECT_NE(pids.at(0), with_child.pid());
    EXPECT_GE(figure(pids[0], "status", "VmRSS:"), 40 * 1024);
    EXPECT_LT(figure(with_child.pid(), "status", "VmRSS:"), 10 * 1024);
}

TEST_F(Zoo, NotifierSpeaksProgressThenReadyThenStopping) {
    const NotifySocket manager(home.dir().file("notify"));
    auto wanted = spec("notifier", {"--steps=2", "--step-ms=5"});
    wanted.env.push_back(manager.env());
    auto animal = Child::spawn(wanted);
    ASSERT_TRUE(animal);
    EXPECT_EQ(manager.next(Deadline::in(5s)), "HOLDFAST_PROGRESS=1\nSTATUS=step 1 of 2\n");
    EXPECT_EQ(manager.next(Deadline::in(5s)), "HOLDFAST_PROGRESS=2\nSTATUS=step 2 of 2\n");
    EXPECT_EQ(manager.next(Deadline::in(5s)), "READY=1\nSTATUS=ready\n");
    ASSERT_TRUE(animal->out().read_line(Deadline::in(5s)));
    ASSERT_TRUE(animal->signal(SIGTERM));
    EXPECT_EQ(manager.next(Deadline::in(5s)), "STOPPING=1\n");
    EXPECT_TRUE(animal->wait(Deadline::in(5s))->exited_with(0));
}

TEST_F(Zoo, NotifierCanStall) {
    const NotifySocket manager(home.dir().file("notify"));
    auto wanted = spec("notifier", {"--steps=3", "--step-ms=1", "--stall-at=1"});
    wanted.env.push_back(manager.env());
    auto animal = Child::spawn(wanted);
    ASSERT_TRUE(animal);
    ASSERT_TRUE(animal->out().read_line(Deadline::in(5s)));
    EXPECT_TRUE(manager.next(Deadline::in(5s)).starts_with("HOLDFAST_PROGRESS=1"));
    EXPECT_EQ(manager.next(Deadline::exactly(50ms)), "(nothing)");
    EXPECT_TRUE(animal->alive());
}

TEST_F(Zoo, EchoServerEchoesAndEndsWithItsStdin) {
    auto animal = start("echo_server");
    ASSERT_TRUE(animal.write_in("hello\nworld\n"));
    EXPECT_EQ(animal.out().read_line(Deadline::in(5s)).value_or("?"), "echo hello");
    EXPECT_EQ(animal.out().read_line(Deadline::in(5s)).value_or("?"), "echo world");
    animal.close_in();
    EXPECT_TRUE(animal.wait(Deadline::in(5s))->exited_with(0));
}

TEST_F(Zoo, ExiterEndsAsTold) {
    EXPECT_TRUE(start("exiter", {"--code=42"}).wait(Deadline::in(5s))->exited_with(42));
    EXPECT_TRUE(start("exiter", {"--signal=11"}).wait(Deadline::in(5s))->killed_by(SIGSEGV));
    auto late = start("exiter", {"--delay-ms=10000"});
    EXPECT_FALSE(late.wait_ended(Deadline::exactly(30ms)));
}

TEST_F(Zoo, CpuSpinnerUsesProcessorTime) {
    auto animal = start("cpu_spinner");
    const auto used = [&] { // nanoseconds on a processor, the first figure there
        return figure(animal.pid(), "schedstat", "");
    };
    const auto before = used();
    EXPECT_TRUE(eventually(Deadline::in(20s), [&] { return used() > before + 20'000'000; }));
}

TEST_F(Zoo, IoTickerMovesItsCountersAndThenFallsSilent) {
    auto animal = start("io_ticker", {"--child", "--every-ms=1", "--times=30"});
    const pid_t ticker = pids.at(1);
    EXPECT_NE(ticker, animal.pid());
    EXPECT_TRUE(eventually(Deadline::in(10s), [&] { return figure(ticker, "io", "wchar: ") >= 30; }));
    const auto after = figure(ticker, "io", "wchar: ");
    EXPECT_FALSE(animal.wait_ended(Deadline::exactly(50ms)));
    EXPECT_EQ(figure(ticker, "io", "wchar: "), after);
    EXPECT_FALSE(gone(ticker));
}

} // namespace
} // namespace holdfast::harness
