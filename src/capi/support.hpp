// What every function of the C face needs: errors into numbers and words, texts in and out, options,
// callbacks.
#pragma once

#include "capi/border.h"
#include "holdfast.h"
#include "holdfast/result.hpp"
#include "holdfast/slot.hpp"
#include "holdfast/values.hpp"

#include <chrono>
#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct hf_options {
    std::map<std::string, std::string, std::less<>> texts;
    std::map<std::string, double, std::less<>> numbers;
    std::map<std::string, std::vector<std::string>, std::less<>> lists;
};

namespace holdfast::capi {

// Remembers the words for hf_last_message() and gives the number.
hf_error failed(const Error& error) noexcept;
hf_error failed(Errc code, const char* message) noexcept;
// The words of hf_set_message() and of the last failure.
std::string last_message();

// No exception crosses into C: the only ones that can come are of memory.
template <std::invocable Body>
hf_error guarded(Body body) noexcept {
    try {
        return body();
    } catch (const std::bad_alloc&) {
        return failed(Errc::no_space, "out of memory");
    } catch (...) {
        return failed(Errc::io, "an unexpected error inside the library");
    }
}

inline std::string_view view(const char* text) noexcept {
    return text != nullptr ? text : "";
}
// For hf_free().
char* copy_out(std::string_view text);
inline std::optional<Millis> timeout(std::int64_t ms) {
    return ms < 0 ? std::nullopt : std::optional(Millis{ms});
}

// The host's pointer, released when the last copy of the callback is gone.
class User {
public:
    User(void* user, hf_release release)
        : state_(std::make_shared<State>(user, release)) {}
    [[nodiscard]] void* get() const noexcept { return state_->user; }

private:
    struct State {
        State(void* pointer, hf_release function)
            : user(pointer)
            , release(function) {}
        State(const State&) = delete;
        State& operator=(const State&) = delete;
        ~State() {
            if (release != nullptr)
                border_release(release, user);
        }
        void* user;
        hf_release release;
    };
    std::shared_ptr<State> state_;
};

// Reads options by name, and afterwards says which names nobody asked for, and which were given as another
// kind than the one they take.
class OptionReader {
public:
    explicit OptionReader(const hf_options* options) noexcept
        : options_(options) {}

    void text(std::string_view name, std::string& target);
    bool list(std::string_view name, std::vector<std::string>& target); // whether it was given
    void millis(std::string_view name, Millis& target);
    void flag(std::string_view name, bool& target);
    template <class N>
    void number(std::string_view name, N& target) {
        if (const auto given = number_of(name))
            target = static_cast<N>(*given);
    }
    // One of the words; an unknown one is an error.
    template <class E>
    void choice(std::string_view name, E& target,
                std::initializer_list<std::pair<std::string_view, E>> words) {
        std::string given;
        text(name, given);
        if (given.empty())
            return;
        for (const auto& [word, value] : words)
            if (word == given) {
                target = value;
                return;
            }
        complain(name, given);
    }
    [[nodiscard]] bool has(std::string_view name) const;
    // Everything was understood, or the error that says what was not.
    Result<void> finish() const;

private:
    std::optional<double> number_of(std::string_view name);
    void complain(std::string_view name, std::string_view given);

    const hf_options* options_;
    void know(std::string_view name, std::string_view kind);
    std::map<std::string, std::string_view, std::less<>> known_; // and the kind that each takes
    std::string complaint_;
};

// The options of every function that stops or ends something.
Result<StopOptions> read_stop(const hf_options* options);

} // namespace holdfast::capi
