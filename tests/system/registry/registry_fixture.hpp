// A home of its own, animals to register, and hosts that can be killed.
#pragma once

#include "harness/child.hpp"
#include "harness/holdfast_program.hpp"
#include "harness/notify_file.hpp"
#include "harness/pidfd.hpp"
#include "holdfast/registry.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

namespace holdfast::registry_test {

using harness::Child;
using harness::Deadline;
using namespace std::chrono_literals;

inline Deadline soon() {
    return Deadline::in(20s);
}

struct Animal {
    Child child;
    std::vector<pid_t> pids; // all of its tree, as it says
};

// A host in a process of its own. It says one line when it stands, and then waits to be killed.
class Host {
public:
    explicit Host(const std::function<std::string()>& body) {
        int ends[2];
        if (::pipe2(ends, O_CLOEXEC) != 0)
            return;
        pid_ = ::fork();
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            std::string line = body() + "\n";
            (void)!::write(ends[1], line.data(), line.size());
            for (;;)
                ::pause();
        }
        pidfd_ = sys::Fd(harness::pidfd_open(pid_)); // our child, not waited for: the number is its
        ::close(ends[1]);
        reader_ = harness::PipeReader(sys::Fd(ends[0]));
    }
    ~Host() { kill(); }
    Host(const Host&) = delete;
    Host& operator=(const Host&) = delete;

    std::string line() { return reader_.read_line(soon()).value_or("(nothing)"); }
    [[nodiscard]] pid_t pid() const { return pid_; }
    [[nodiscard]] bool alive() const {
        pollfd one{.fd = pidfd_.get(), .events = POLLIN, .revents = 0};
        return ::poll(&one, 1, 0) == 0;
    }
    void kill() {
        if (!pidfd_)
            return;
        harness::pidfd_signal(pidfd_.get(), SIGKILL);
        int status = 0;
        while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
        }
        pidfd_.reset();
    }

private:
    pid_t pid_ = -1;
    sys::Fd pidfd_;
    harness::PipeReader reader_;
};

class RegistryTest : public testing::Test {
protected:
    [[nodiscard]] std::string directory() const { return home_.path() + "/run/default/helpers"; }
    [[nodiscard]] RegistryOptions options() const {
        return {.host = "test-host",
                .directory = directory(),
                .events_directory = home_.path() + "/state/default"};
    }
    [[nodiscard]] Registry open() const { return open(options()); }
    [[nodiscard]] static Registry open(const RegistryOptions& wanted) {
        auto registry = Registry::open(wanted);
        if (!registry)
            throw std::runtime_error(registry.error().message);
        return std::move(*registry);
    }
    [[nodiscard]] Animal start(const std::string& name, std::vector<std::string> words = {}) const {
        auto child = Child::spawn(home_.command_of("zoo/" + name, std::move(words)));
        if (!child)
            throw std::runtime_error(child.error().message);
        auto line = child->out().read_line(soon());
        if (!line)
            throw std::runtime_error(line.error().message);
        auto pids = harness::parse_ready(*line);
        if (!pids)
            throw std::runtime_error(pids.error().message);
        return {std::move(*child), std::move(*pids)};
    }
    // Animals that outlive the process that calls this.
    [[nodiscard]] pid_t start_and_let_go(const std::string& name, std::vector<std::string> words = {}) const {
        Animal animal = start(name, std::move(words));
        pid_t pid = animal.child.pid();
        animal.child.release();
        return pid;
    }
    // Two for each entry; the record before the present one does not count as long as there is a present one.
    [[nodiscard]] std::size_t files() const {
        std::size_t count = 0;
        for (const auto& file : std::filesystem::directory_iterator(directory())) {
            const bool spare = file.path().extension() == ".tmp" &&
                               std::filesystem::exists(file.path().parent_path() / file.path().stem());
            count += file.is_regular_file() && !spare ? 1U : 0U;
        }
        return count;
    }
    [[nodiscard]] std::string holdfast(std::vector<std::string> words, int expected_code = 0) const {
        auto done = home_.run(std::move(words));
        if (!done)
            return done.error().message;
        EXPECT_TRUE(done->status.exited_with(expected_code))
            << to_string(done->status) << done->out << done->err;
        return done->out + done->err;
    }
    harness::HoldfastHome home_;
};

// `ample_ms`: enough on a quiet machine; see support/patience.hpp.
inline bool readable(int fd, int ample_ms) {
    pollfd one{.fd = fd, .events = POLLIN, .revents = 0};
    return ::poll(&one, 1, ample_ms * test::stretch) > 0;
}

// Whether a process that need not be our child lives (a zombie does not).
inline bool lives(pid_t pid) {
    auto seen = harness::inspect(pid);
    return seen && !seen->dead();
}

} // namespace holdfast::registry_test
