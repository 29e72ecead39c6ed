// How clients come, are served to their end, and go.
#include "memory/serve/owner.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"
#include "memory/ids/ids.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace holdfast::memory {

using base::cat;

namespace {

constexpr std::int64_t flush_ms = 2000; // for a client that does not read its last answers
// For one who came to the door: a process offers its stdio at once, and is answered at once.
constexpr std::int64_t guest_ms = 2000;
constexpr std::int64_t no_descriptors_ms = 100;

} // namespace

// Who cannot be let in waits in the kernel's queue; asking for them meanwhile would only take a processor.
bool Owner::door_is_open() const {
    return listener_ && guests_.size() < most_guests && monotonic_ms() >= accept_at_ms_;
}

void Owner::accept_guests() {
    while (guests_.size() < most_guests) {
        auto connection = accept_own(listener_.get());
        if (!connection) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
                accept_at_ms_ = monotonic_ms() + no_descriptors_ms;
            return;
        }
        guests_.push_back({std::move(connection), {}, {}, false, monotonic_ms() + guest_ms});
    }
}

// First the offer, which is looked at and answered "ok"; then "go", and only then its stdin is touched.
void Owner::hear(Guest& guest) {
    auto packet = receive_packet(guest.connection.get(), guest.gone);
    if (!packet)
        return;
    if (guest.request) {
        guest.gone = true; // a guest no longer, whatever comes of it
        if (packet->text == "go")
            admit(guest);
        return;
    }
    const auto refuse = [&](const std::string& why) {
        (void)send_packet(guest.connection.get(), "no " + why);
        guest.gone = true;
    };
    if (packet->descriptors_lost) { // not its fault, and perhaps not for long: it tries again
        guest.gone = true;
        return;
    }
    auto request = parse_attach(packet->text, options_.home);
    if (!request)
        return refuse(request.error().code == Errc::unsupported ? cat("version ", request.error().message)
                                                                : request.error().message);
    if (packet->descriptors.size() != 4)
        return refuse("an offer comes with four descriptors");
    if (protocol_named(request->protocol) == nullptr)
        return refuse(cat("the owner of this home does not speak \"", request->protocol, "\""));
    guest.request = std::move(*request);
    guest.descriptors = std::move(packet->descriptors);
    guest.gone = !send_packet(guest.connection.get(), "ok");
}

void Owner::admit(Guest& guest) {
    auto& descriptors = guest.descriptors;
    LedgerFiles files;
    files.state = std::move(descriptors[2]);
    files.outbox = std::move(descriptors[3]);
    auto ledger = Ledger::open(std::move(files));
    if (!ledger) {
        std::fprintf(stderr, "holdfast-memory: %s\n", base::printable(ledger.error().message).c_str());
        (void)send_packet(guest.connection.get(), "done 1");
        return;
    }
    Client client;
    client.request = std::move(*guest.request);
    if (client.request.max_line != 0)
        ledger->limit_lines(client.request.max_line);
    client.protocol = protocol_named(client.request.protocol);
    client.stream = std::make_shared<Stream>(std::move(descriptors[0]), std::move(descriptors[1]),
                                             std::move(*ledger), client.request.agent, wake_.get());
    client.connection = std::move(guest.connection);
    last_seen_ms_ = monotonic_ms();
    clients_.push_back(std::move(client));
    clients_.back().stream->take_over(*clients_.back().protocol);
    tell_attached();
    tell_viewer(clients_.back());
    wake(); // what it needs is asked in the next round
}

// Its process says it to whoever started it: the address it asked for may not be the one there is.
void Owner::tell_viewer(const Client& client) const {
    if (client.connection && client.request.viewer && !viewer_address_.empty())
        (void)send_packet(client.connection.get(), cat("viewer ", viewer_address_));
}

void Owner::hear(Client& client) {
    bool gone = false;
    while (const auto packet = receive_packet(client.connection.get(), gone))
        if (packet->text == "stop") {
            client.request.stay = false;
            client.stream->stop_reading();
        }
    if (!gone)
        return;
    // Its process was killed: what it had asked for is still done, but there is nobody to tell.
    client.protocol->forget(client.stream.get());
    client.stream->close();
    client.gone = true;
    last_seen_ms_ = monotonic_ms();
}

void Owner::step(Client& client) {
    if (client.gone || client.left)
        return;
    auto& stream = *client.stream;
    stream.handle_waiting(*client.protocol);
    if (client.stage == Stage::serving && stream.ended()) {
        client.stage = Stage::draining;
        client.committed = barrier();
    }
    if (client.stage == Stage::draining && stream.settled() && *client.committed) {
        client.stage = Stage::flushing;
        client.flush_until_ms = monotonic_ms() + flush_ms;
    }
    if (client.stage == Stage::flushing && (stream.flushed() || monotonic_ms() >= client.flush_until_ms)) {
        client.stage = Stage::resting;
        last_seen_ms_ = monotonic_ms();
    }
    if (client.stage != Stage::resting)
        return;
    if (client.own)
        own_done_ = true;
    else if (!client.request.stay || shutdown_asked_)
        finish(client);
}

void Owner::finish(Client& client) {
    client.protocol->forget(client.stream.get());
    client.stream->close();
    (void)send_packet(client.connection.get(), service_->failure().empty() ? "done 0" : "done 1");
    client.gone = true;
}

RunEnd Owner::close() {
    RunEnd end;
    end.message = leave_reason_;
    if (!(all_settled() && leave_committed_ && *leave_committed_ && own_done_)) {
        // What is not finished is known to the ledgers of those who asked: the next owner tells them.
        end.code = 1;
        end.at_once = true;
        end.message += cat(end.message.empty() ? "" : "; ", service_->pending(),
                           " requests were not finished within ", drain_bound.count(), " ms");
        return end;
    }
    const auto failure = service_->failure();
    if (failure.empty() && !service_->is_open()) {
        // Nobody wants anything, and the store is still being opened: whoever comes next opens it.
        end.code = lost_ ? 1 : 0;
        end.at_once = true;
        return end;
    }
    service_->close();
    // One that asked too late has no answer to show.
    const bool told = options_.told_by_client && std::ranges::any_of(clients_, [](const Client& client) {
                          return client.own && client.stream->answered();
                      });
    clients_.clear(); // their connections end: they look for the next owner
    slot_.release();
    if (!failure.empty() && !stopped_) {
        end.code = exit_code_of(service_->failed());
        end.message = told ? "" : failure;
    }
    if (lost_)
        end.code = 1;
    return end;
}

} // namespace holdfast::memory
