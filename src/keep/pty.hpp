// A terminal for a helper that needs one: the front holds the master and relays to its own stdio.
#pragma once

#include "holdfast/result.hpp"
#include "sys/fd.hpp"

#include <termios.h>

#include <optional>
#include <string>

namespace holdfast::keep {

class Pty {
public:
    static Result<Pty> open();
    Pty(Pty&&) noexcept = default;
    Pty& operator=(Pty&&) = delete;
    Pty(const Pty&) = delete;
    Pty& operator=(const Pty&) = delete;
    ~Pty(); // gives the user's terminal its old settings back

    [[nodiscard]] int slave() const noexcept { return slave_.get(); }
    [[nodiscard]] int master() const noexcept { return master_.get(); }
    void close_slave() noexcept { slave_.reset(); } // after the helper has it
    // The size of the user's terminal, if there is one.
    void copy_window_size() const;

    // Relays without blocking. Each returns false when that direction has ended.
    bool from_host(); // stdin -> helper; end of input becomes the terminal's end-of-file character
    bool to_host();   // helper -> stdout

private:
    Pty(sys::Fd master, sys::Fd slave);
    sys::Fd master_;
    sys::Fd slave_;
    std::optional<termios> before_;
};

} // namespace holdfast::keep
