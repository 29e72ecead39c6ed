#include "cli/memory/client.hpp"

#include "base/duration.hpp"
#include "base/text.hpp"
#include "cli/memory/memory.hpp"
#include "cli/memory/progress_bar.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/print.hpp"
#include "cli/shared/settings.hpp"
#include "holdfast/slot.hpp"
#include "sys/errors.hpp"
#include "sys/pipes.hpp"
#include "sys/spawn.hpp"
#include "json/json_fields.hpp"

#include <poll.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>
#include <utility>

namespace holdfast::cli {

using base::cat;

namespace {

constexpr int patience_ms = 400; // before a person is told what is being waited for
constexpr int quiet_ms = 7000;   // and where no bar can be drawn: one line, once
constexpr int most_retries = 40; // of a call whose owner ended, 250 ms apart
constexpr int between_retries = 250;
constexpr int between_looks = 100;                // at how far the index is
constexpr std::chrono::minutes most_silence{1};   // an owner answers health whatever else it does
constexpr std::chrono::minutes most_standing{10}; // a check of a large store says nothing in between
constexpr std::chrono::seconds most_leaving{30};  // for what was answered already
constexpr std::size_t longest_answer = std::size_t{1}
                                       << 30; // an export answers with as much as it was asked for

Error error_of(const json::object& error) {
    Error out{Errc::io, json::text_field(error, "message"), 0};
    const auto* data = json::object_field(error, "data");
    const auto code = data != nullptr ? json::text_field(*data, "code") : std::string();
    if (code == "invalid_argument")
        out.code = Errc::invalid_argument;
    else if (code.ends_with("not_found"))
        out.code = Errc::not_found;
    else if (code == "transport_closed")
        out.code = Errc::superseded;
    else if (code == "unsupported" || code == "unknown_method")
        out.code = Errc::unsupported;
    if (const auto* details = data != nullptr ? json::object_field(*data, "details") : nullptr;
        details != nullptr && json::text_field(*details, "reason") == "disk_full")
        out.code = Errc::no_space;
    return out;
}

} // namespace

Result<MemoryClient> MemoryClient::start(const std::string& home, const Arguments& arguments,
                                         const std::string& agent) {
    const auto timeout = duration_option(arguments, "timeout");
    if (!timeout)
        return std::unexpected(timeout.error());
    auto program = find_memory_program();
    if (!program)
        return std::unexpected(std::move(program.error()));
    auto to_helper = sys::make_pipe();
    auto from_helper = sys::make_pipe();
    if (!to_helper || !from_helper)
        return std::unexpected(std::move((to_helper ? from_helper : to_helper).error()));
    sys::SpawnSpec spec;
    // How far it is is asked and shown by us: two who draw on one terminal draw over each other.
    // And lines as long as can be: what others stored is exported and imported through us.
    spec.argv = {"holdfast-memory",  cat("--agent=", agent), "--no-viewer",       "--no-progress",
                 "--told-by-client", "--max-line=31M",       cat("--home=", home)};
    spec.executable = *program;
    spec.fds = {{to_helper->reading.get(), 0}, {from_helper->writing.get(), 1}};
    auto process = sys::spawn(spec);
    if (!process)
        return std::unexpected(std::move(process.error()));
    MemoryClient client;
    client.home_ = home;
    client.standing_ = timeout->value_or(most_standing);
    client.silence_ = std::min<std::chrono::milliseconds>(timeout->value_or(most_silence), most_silence);
    client.process_ = std::make_unique<sys::PidFd>(std::move(*process));
    client.in_ = std::move(to_helper->writing);
    client.out_ = std::move(from_helper->reading);
    client.caller_ = std::make_unique<rpc::Caller>(longest_answer);
    if (auto free = sys::set_nonblocking(client.in_.get()); !free)
        return std::unexpected(std::move(free.error()));
    return client;
}

// End of input means: everything written is committed, then the helper ends by itself. One that does not in
// time has answered all the same, and is left to itself.
MemoryClient::~MemoryClient() {
    in_.reset();
    if (!process_)
        return;
    if (process_->wait_ended(sys::Deadline::in(std::min<std::chrono::milliseconds>(standing_, most_leaving))))
        (void)process_->try_reap();
    else
        complain(cat("the memory at ", home_, ": holdfast-memory does not end; what was answered is stored"));
}

Error MemoryClient::no_sign(std::chrono::milliseconds waited, const std::string& phase) const {
    const auto slot = query({home_, "memory"});
    return {Errc::timed_out,
            cat("waited ", base::format_duration(waited), " for the memory at ", home_, " (", phase,
                slot && slot->owner_pid > 0 ? cat("; process ", slot->owner_pid, " owns it") : "",
                "). Look at it with: holdfast memory status --home ", home_,
                "; wait for longer with --timeout",
                slot && slot->state == SlotState::owned
                    ? cat(", or end its owner with: holdfast stop memory --slot-dir ", home_)
                    : ""),
            0};
}

Error MemoryClient::gone() const {
    const bool ended = process_ && process_->wait_ended(sys::Deadline::in(std::chrono::seconds(10)));
    const int status = ended ? process_->peek_exit_status().value_or(0) : 0;
    if (status > 128)
        return {Errc::closed,
                cat("the memory at ", home_, ": holdfast-memory was ended by signal ", status - 128,
                    " before it answered; what was answered is stored, so try again"),
                0};
    // Its own words are on stderr already, with the reason and the way out; its exit code says which kind it
    // was.
    return {status == exit_cannot_create   ? Errc::no_space
            : status == exit_not_permitted ? Errc::not_permitted
                                           : Errc::closed,
            cat("the memory at ", home_, " cannot be used; why is said above"), 0};
}

void MemoryClient::say_what_is_waited_for(const std::string& phase) {
    said_ = true;
    const auto slot = query({home_, "memory"});
    complain(cat("still waiting for the memory at ", home_, ": ", phase,
                 slot && slot->owner_pid > 0 ? cat("; process ", slot->owner_pid, " owns it") : ""));
}

Result<rpc::CallId> MemoryClient::ask(std::string_view method, const json::object& params) {
    auto call = caller_->ask(method, params);
    if (!call && call.error().code == Errc::invalid_argument)
        return fail(Errc::invalid_argument,
                    "the text is not UTF-8; nothing was asked and nothing was stored");
    if (!call)
        return call;
    if (auto sent = send(); !sent)
        return std::unexpected(std::move(sent.error()));
    return call;
}

Result<void> MemoryClient::send() {
    for (auto rest = caller_->output(); !rest.empty(); rest = caller_->output()) {
        const auto written = sys::write_quietly(in_.get(), rest);
        if (written.state == sys::WriteState::broken)
            return std::unexpected(gone());
        caller_->consume(written.bytes);
        if (written.state != sys::WriteState::would_block)
            continue;
        pollfd room{in_.get(), POLLOUT, 0};
        if (::poll(&room, 1, sys::Deadline::in(silence_).poll_timeout()) == 0)
            return std::unexpected(no_sign(silence_, "it takes no request"));
    }
    return {};
}

Result<bool> MemoryClient::read(sys::Deadline until) {
    for (;;) {
        pollfd ready{out_.get(), POLLIN, 0};
        const int count = ::poll(&ready, 1, until.poll_timeout());
        if (count < 0 && errno == EINTR)
            continue;
        if (count == 0)
            return false;
        std::array<char, 65536> chunk;
        const auto n = ::read(out_.get(), chunk.data(), chunk.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return std::unexpected(gone());
        caller_->receive({chunk.data(), static_cast<std::size_t>(n)});
        return true;
    }
}

void MemoryClient::pause(std::chrono::milliseconds at_most) const {
    pollfd said{out_.get(), POLLIN, 0};
    (void)::poll(&said, 1, sys::Deadline::in(at_most).poll_timeout());
}

Result<rpc::Caller::Answer> MemoryClient::once(std::string_view method, const json::object& params) {
    const auto call = ask(method, params);
    if (!call)
        return std::unexpected(call.error());
    ProgressBar bar("memory");
    rpc::CallId health_call = 0; // one question about its health at a time; 0: none
    std::string phase = "it does not answer";
    std::uint64_t done = 0;
    auto heard = sys::Deadline::in(silence_);
    auto moved = sys::Deadline::in(standing_);
    for (;;) {
        if (auto answer = caller_->take(*call)) {
            if (health_call != 0)
                caller_->drop(health_call);
            return std::move(*answer);
        }
        auto came = read(sys::Deadline::in(std::chrono::milliseconds(bar.visible() ? patience_ms : quiet_ms))
                             .earlier(heard)
                             .earlier(moved));
        if (!came)
            return std::unexpected(std::move(came.error()));
        if (!*came) {
            if (heard.passed())
                return std::unexpected(no_sign(silence_, phase));
            if (moved.passed())
                return std::unexpected(no_sign(standing_, phase));
            if (health_call != 0)
                continue;
            auto asked = ask("core.health", {});
            if (!asked)
                return std::unexpected(std::move(asked.error()));
            health_call = *asked;
            continue;
        }
        const auto said = health_call != 0 ? caller_->take(health_call) : std::nullopt;
        if (!said)
            continue;
        health_call = 0; // whatever it says: the next silence asks again
        const auto* health = *said && !(*said)->failed ? (*said)->body.if_object() : nullptr;
        if (health == nullptr || !health->contains("phase"))
            continue;
        heard = sys::Deadline::in(silence_);
        const auto* progress = json::object_field(*health, "progress");
        const auto its_phase = json::text_field(*health, "phase");
        const auto reached = progress != nullptr ? json::unsigned_field(*progress, "done") : 0;
        if (const auto waited_for = its_phase == "ready" ? cat("it works on ", method) : its_phase;
            waited_for != phase || reached != done) {
            moved = sys::Deadline::in(standing_);
            phase = waited_for;
            done = reached;
        }
        if (!bar.visible() && !said_)
            say_what_is_waited_for(phase);
        if (its_phase != "ready")
            bar.show(reached, progress != nullptr ? json::unsigned_field(*progress, "total") : 0, its_phase);
    }
}

// Asked again and again, and not told: the answer comes from whoever owns the home, perhaps from one after
// the other. Who went away in between would leave the work to the next command, and that one to the next.
Result<void> MemoryClient::wait_indexed() {
    ProgressBar bar("indexing");
    std::optional<std::uint64_t> goal;
    std::uint64_t last = 0;
    auto moved = sys::Deadline::in(standing_);
    for (int waited_ms = 0;; waited_ms += between_looks) {
        auto health = call("core.health", {});
        if (!health)
            return std::unexpected(std::move(health.error()));
        const auto* state = health->if_object();
        const auto* index = state != nullptr ? json::object_field(*state, "index") : nullptr;
        if (index == nullptr)
            return {}; // it could not be opened, which the next call says
        const auto done = json::unsigned_field(*index, "done");
        if (!goal)
            goal = json::unsigned_field(*index, "total");
        if (done >= *goal)
            return {};
        if (done != std::exchange(last, done))
            moved = sys::Deadline::in(standing_);
        if (moved.passed())
            return std::unexpected(no_sign(
                standing_, cat("its index has ", done, " of ", *goal, " traces and gets no further")));
        if (waited_ms >= patience_ms)
            bar.show(done, *goal, cat(done, " traces"));
        if (waited_ms >= quiet_ms && !bar.visible() && !said_)
            say_what_is_waited_for(cat("indexing, ", done, " of ", *goal, " traces"));
        pause(std::chrono::milliseconds(between_looks));
    }
}

void MemoryClient::say_what_lies_aside() {
    const auto health = call("core.health", {});
    const auto* state = health ? health->if_object() : nullptr;
    const auto* warnings = state != nullptr ? state->if_contains("warnings") : nullptr;
    if (warnings == nullptr || !warnings->is_array())
        return;
    for (const auto& warning : warnings->get_array())
        if (const auto* one = warning.if_object();
            one != nullptr && json::text_field(*one, "code") == "corrupt_database")
            complain(cat("an earlier database was corrupt, and lies at ", json::text_field(*one, "keptAs"),
                         "; what can still be read is brought over by: holdfast memory import ",
                         json::text_field(*one, "keptAs"), " --home ", home_));
}

Result<json::value> MemoryClient::call(std::string_view method, json::object params) {
    for (int attempt = 0;; ++attempt) {
        auto answer = once(method, params);
        if (!answer)
            return std::unexpected(std::move(answer.error()));
        if (!answer->failed)
            return std::move(answer->body);
        const auto* error = answer->body.if_object();
        if (error == nullptr)
            return fail(Errc::protocol, "holdfast-memory gave an answer without a result");
        auto ours = error_of(*error);
        if (ours.code != Errc::superseded || attempt == most_retries)
            return std::unexpected(std::move(ours));
        pause(std::chrono::milliseconds(between_retries)); // another one is becoming the owner
    }
}

} // namespace holdfast::cli
