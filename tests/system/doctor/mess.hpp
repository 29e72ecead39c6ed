// Building blocks of the made-up mess: hosts that start helpers and then die or live.
#pragma once

#include <functional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace holdfast::mess {

// What a helper gets for stdin and stdout; the host's ends stay with the host.
struct Ends {
    int in = -1;       // becomes stdin
    int out = -1;      // becomes stdout
    int err = -1;      // becomes stderr; /dev/null when -1
    int host_in = -1;  // the host writes here
    int host_out = -1; // the host reads here
};
Ends pipes();
Ends socket_pair(); // as node does it: one socket for both
int null_device();
int file_for_output(const std::string& name);
void close_host_ends(const Ends& ends);

class Mess {
public:
    Mess(std::string token, std::string directory);

    // A process in a session of its own that runs `body`. It then ends (and its helpers are adopted by the
    // mess), or lives on. Returns when the body is done.
    pid_t dead_host(const std::function<void()>& body) const;
    pid_t living_host(const std::function<void()>& body) const;

    // Starts a program with these ends and waits until it said that it is ready. Returns the pids it named,
    // its own first. Closes the helper's ends here.
    std::vector<pid_t> start(std::vector<std::string> argv, const Ends& ends) const;
    [[nodiscard]] std::vector<std::string> animal(const std::string& name,
                                                  std::vector<std::string> words = {}) const;
    // This very program in one of its roles (mess_roles.cpp).
    [[nodiscard]] std::vector<std::string> role(const std::string& name) const;

    // Tells the test what the truth is: "orphaned! timer 12 13".
    void say(const std::string& expectation, const std::string& name, const std::vector<pid_t>& pids) const;
    [[nodiscard]] std::string path(const std::string& name) const { return directory_ + "/" + name; }

private:
    pid_t host(const std::function<void()>& body, bool lives) const;
    std::string token_;
    std::string directory_;
};

// Runs a role when the arguments name one; never returns then.
void play_role(int argc, char** argv);

[[noreturn]] void give_up(const char* what);

} // namespace holdfast::mess
