// A bar on stderr for work that takes a while; nothing at all where stderr is not a terminal that can rewrite
// a line.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace holdfast::cli {

class ProgressBar {
public:
    explicit ProgressBar(std::string what, bool wanted = true);
    ~ProgressBar() { clear(); }
    ProgressBar(const ProgressBar&) = delete;
    ProgressBar& operator=(const ProgressBar&) = delete;

    // Draws at most ten times a second. `total` 0: not known.
    void show(std::uint64_t done, std::uint64_t total, const std::string& note = {});
    void clear();
    [[nodiscard]] bool visible() const noexcept { return wanted_; }

private:
    std::string what_;
    bool wanted_;
    bool drawn_ = false;
    std::chrono::steady_clock::time_point last_{};
};

} // namespace holdfast::cli
