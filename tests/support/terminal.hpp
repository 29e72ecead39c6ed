// A terminal of a given width for a program under test, and what it was given to show.
#pragma once

#include "support/patience.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace holdfast::test {

class Terminal {
public:
    explicit Terminal(int columns) {
        ours_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        if (ours_ < 0 || ::grantpt(ours_) != 0 || ::unlockpt(ours_) != 0)
            std::abort();
        programs_ = ::open(::ptsname(ours_), O_RDWR | O_NOCTTY | O_CLOEXEC);
        const winsize size{24, static_cast<unsigned short>(columns), 0, 0};
        if (programs_ < 0 || ::ioctl(programs_, TIOCSWINSZ, &size) != 0)
            std::abort();
    }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;
    ~Terminal() {
        close_end();
        ::close(ours_);
    }

    // The end for the program.
    [[nodiscard]] int end() const { return programs_; }
    // All that was shown, once every program that had the end is gone, or says nothing for too long.
    std::string shown() {
        close_end();
        std::string text;
        char chunk[4096];
        constexpr int silence_ms = 10'000 * stretch;
        for (pollfd ready{ours_, POLLIN, 0}; ::poll(&ready, 1, silence_ms) == 1;) {
            const auto n = ::read(ours_, chunk, sizeof chunk);
            if (n <= 0)
                break;
            text.append(chunk, static_cast<std::size_t>(n));
        }
        return text;
    }
    // What is shown up to and including `text`, while programs still have the end (or until ten seconds have
    // passed without a word).
    std::string until(const std::string& wanted) {
        std::string text;
        char byte = 0;
        for (pollfd ready{ours_, POLLIN, 0}; text.find(wanted) == text.npos &&
                                             ::poll(&ready, 1, 10'000) == 1 && ::read(ours_, &byte, 1) == 1;)
            text += byte;
        return text;
    }
    // The lines that were taken back and written again, as they stood there; and what stands there in the
    // end.
    struct Lines {
        std::vector<std::string> moving;
        std::string left;
    };
    static Lines lines_of(const std::string& shown) {
        constexpr const char* again = "\r\033[K";
        Lines lines;
        for (std::size_t at = 0; at <= shown.size();) {
            const auto next = std::min(shown.find(again, at), shown.size());
            auto text = shown.substr(at, next - at);
            if (next < shown.size() && text.find('\n') == text.npos) {
                if (!text.empty())
                    lines.moving.push_back(std::move(text));
            } else {
                lines.left += text;
            }
            at = next + std::string(again).size();
        }
        return lines;
    }

private:
    void close_end() {
        if (programs_ >= 0)
            ::close(std::exchange(programs_, -1));
    }
    int ours_ = -1;
    int programs_ = -1;
};

} // namespace holdfast::test
