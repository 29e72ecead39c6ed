// A terminal for a helper that needs one: the front holds the master and relays to its own stdio. Nothing
// here waits for anybody: what one side does not take is kept, up to a bound, and beyond that the other side
// is not read. So the front hears everything else meanwhile.
#pragma once

#include "holdfast/result.hpp"
#include "keep/out_buffer.hpp"
#include "sys/fd.hpp"

#include <poll.h>
#include <termios.h>

#include <array>
#include <optional>

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
    void close_slave() noexcept { slave_.reset(); } // after the helper has it
    // The size of the user's terminal, if there is one. True when the helper's had another.
    bool copy_window_size() const;

    // What to poll, and what to do about what was polled: stdin -> helper, helper -> stdout.
    using Polled = std::array<pollfd, 3>;
    [[nodiscard]] Polled wishes() const;
    void relay(const Polled& polled);

    // stdin has ended, which becomes the terminal's end-of-file character.
    [[nodiscard]] bool input_ended() const noexcept { return !input_open_; }
    // And the helper's terminal has taken all of it.
    [[nodiscard]] bool input_delivered() const noexcept { return !input_open_ && to_helper_.empty(); }
    // Boot time in ms at which it last took something.
    [[nodiscard]] std::int64_t input_moved_at() const noexcept { return to_helper_.moved_at(); }
    // Nobody reads our stdout any more. What the helper writes is thrown away from then on.
    [[nodiscard]] bool reader_gone() const noexcept { return to_host_.closed(); }
    // There is more for stdout: not yet written, or still in the terminal.
    [[nodiscard]] bool output_waits() const;
    [[nodiscard]] std::int64_t output_moved_at() const noexcept { return to_host_.moved_at(); }

private:
    Pty(sys::Fd master, sys::Fd slave);
    void read_host();
    void read_helper();
    void end_input();
    sys::Fd master_;
    sys::Fd slave_;
    std::optional<termios> before_;
    OutBuffer to_helper_;
    OutBuffer to_host_;
    bool input_open_ = true;
    bool output_open_ = true;
    bool line_open_ = false; // the helper was given the beginning of a line, and not its end
};

} // namespace holdfast::keep
