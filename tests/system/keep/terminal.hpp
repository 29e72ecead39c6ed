// A terminal with somebody typing at it: a session of its own on a pseudo-terminal, whose other side is the
// test.
#pragma once

#include "harness/child.hpp"
#include "harness/pipe_reader.hpp"

#include <string>
#include <vector>

namespace holdfast::harness {

class Terminal {
public:
    // Runs a program as the leader of a new session on a new terminal. env: "KEY=value", the whole
    // environment.
    static Result<Terminal> run(const std::vector<std::string>& argv, const std::vector<std::string>& env);
    Terminal(Terminal&&) noexcept = default;
    Terminal& operator=(Terminal&&) = delete;
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal();

    void type(const std::string& keys) const;
    // Everything up to and including `text`.
    Result<std::string> read_until(const std::string& text, const Deadline& deadline) {
        return screen_.read_until(text, deadline);
    }
    void resize(unsigned short rows, unsigned short columns) const;
    void hang_up() { keyboard_.reset(), screen_.close(); }
    Result<ExitStatus> wait(const Deadline& deadline);

private:
    Terminal(pid_t pid, sys::Fd pidfd, sys::Fd keyboard, sys::Fd screen);
    pid_t pid_ = -1;
    sys::Fd pidfd_;
    sys::Fd keyboard_;
    PipeReader screen_;
};

} // namespace holdfast::harness
