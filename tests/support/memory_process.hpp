// A real holdfast-memory with pipes to its stdin and from its stdout. Ended and reaped by its own handle.
#pragma once

#include "support/patience.hpp"

#include "json/json.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

class MemoryProcess {
public:
    // Without the viewer unless `more` has its --port. `variables`: added to the environment, "NAME=value".
    // `error_fd`: its stderr; -1: the test's own. `launcher`: words of a program that becomes the one that is
    // named after them. `program`: another build's; empty: the one that is tested.
    explicit MemoryProcess(const std::string& home, std::vector<std::string> more = {},
                           std::vector<std::string> variables = {}, int error_fd = -1,
                           const std::vector<std::string>& launcher = {}, std::string program = "") {
        std::signal(SIGPIPE, SIG_IGN); // a process that is gone is seen by what it does not answer
        int in[2];
        int out[2];
        if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
            std::abort();
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in[0], 0);
        posix_spawn_file_actions_adddup2(&actions, out[1], 1);
        if (error_fd >= 0)
            posix_spawn_file_actions_adddup2(&actions, error_fd, 2);
        if (program.empty()) {
            program = HOLDFAST_BIN_DIR; // not one expression: g++ 12 warns of that for no reason
            program += "/holdfast-memory";
        }
        const bool viewer =
            std::ranges::any_of(more, [](const std::string& word) { return word.starts_with("--port="); });
        more.insert(more.begin(), {program, "--agent=test", "--home=" + home});
        if (!viewer)
            more.emplace_back("--no-viewer");
        more.insert(more.begin(), launcher.begin(), launcher.end());
        std::vector<char*> argv;
        for (auto& word : more)
            argv.push_back(word.data());
        argv.push_back(nullptr);
        std::vector<char*> environment;
        for (auto& variable : variables)
            environment.push_back(variable.data());
        for (char** variable = environ; *variable != nullptr; ++variable)
            environment.push_back(*variable);
        environment.push_back(nullptr);
        if (::posix_spawn(&pid_, argv.front(), &actions, nullptr, argv.data(), environment.data()) != 0)
            std::abort();
        posix_spawn_file_actions_destroy(&actions);
        ::close(in[0]);
        ::close(out[1]);
        in_ = in[1];
        out_ = out[0];
    }
    MemoryProcess(const MemoryProcess&) = delete;
    MemoryProcess& operator=(const MemoryProcess&) = delete;
    ~MemoryProcess() {
        close_input();
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL); // our own child, not reaped yet: the number is still its
            (void)wait();
        }
        close_output();
    }

    [[nodiscard]] int pid() const { return pid_; }
    [[nodiscard]] int in_fd() const { return in_; } // to its stdin
    [[nodiscard]] int out_fd() const { return out_; }
    void write(const std::string& text) const {
        for (std::size_t done = 0; done < text.size();) {
            const auto n = ::write(in_, text.data() + done, text.size() - done);
            if (n <= 0)
                return;
            done += static_cast<std::size_t>(n);
        }
    }
    // The host goes away from its answers.
    void close_output() {
        if (out_ >= 0)
            ::close(std::exchange(out_, -1));
    }
    void close_input() {
        if (in_ >= 0)
            ::close(std::exchange(in_, -1));
    }

    // The next line, or nothing at end of output. `ample_ms` is enough on a quiet machine: see patience.hpp.
    std::optional<std::string> line(int ample_ms = 30'000) {
        return line_within(patient(std::chrono::milliseconds(ample_ms)));
    }
    // The same for a line that may not come: exactly so long.
    std::optional<std::string> line_within(std::chrono::milliseconds at_most) {
        const auto until = std::chrono::steady_clock::now() + at_most;
        for (std::size_t searched = 0;;) { // each byte is looked at once, however long the line is
            if (const auto end = buffer_.find('\n', searched); end != buffer_.npos) {
                auto text = buffer_.substr(0, end);
                buffer_.erase(0, end + 1);
                return text;
            }
            searched = buffer_.size();
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                until - std::chrono::steady_clock::now());
            pollfd ready{out_, POLLIN, 0};
            if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0)
                return std::nullopt;
            char chunk[65536];
            const auto n = ::read(out_, chunk, sizeof chunk);
            if (n <= 0)
                return std::nullopt;
            buffer_.append(chunk, static_cast<std::size_t>(n));
        }
    }

    // Sends a request and waits for its answer; other lines are kept for later.
    boost::json::object call(const std::string& method, boost::json::object params = {}) {
        const auto id = ++last_id_;
        write(boost::json::serialize(boost::json::object{
                  {"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", std::move(params)}}) +
              "\n");
        while (const auto text = line()) {
            auto message = boost::json::parse(*text).as_object();
            if (const auto* answered = message.if_contains("id"); answered != nullptr && *answered == id)
                return message;
            others.push_back(std::move(message));
        }
        return {};
    }

    // Exit code, or minus the signal.
    int wait() {
        int status = 0;
        if (pid_ <= 0 || ::waitpid(std::exchange(pid_, -1), &status, 0) < 0)
            return -1000;
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

    // The same for one that should be ending; one that does not end is killed, and the answer is -2000.
    int wait_briefly() { return wait_at_most(patient(std::chrono::seconds(10))); }
    int wait_at_most(std::chrono::milliseconds at_most) {
        if (pid_ <= 0)
            return -1000;
        const int pidfd =
            static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)); // our own child, not reaped yet
        pollfd ended{pidfd, POLLIN, 0};
        const bool in_time = pidfd >= 0 && ::poll(&ended, 1, static_cast<int>(at_most.count())) == 1;
        ::close(pidfd);
        if (in_time)
            return wait();
        ::kill(pid_, SIGKILL);
        (void)wait();
        return -2000;
    }

    std::vector<boost::json::object> others;

private:
    pid_t pid_ = -1;
    int in_ = -1;
    int out_ = -1;
    std::int64_t last_id_ = 0;
    std::string buffer_;
};

} // namespace holdfast::test
