// A conversation in which everything happens in any order, while the helper writes any bytes. Each accepted
// call is answered exactly once, what is written is always well-formed, and memory stays within the bounds.
#include "expect.hpp"

#include "rpc/peer.hpp"
#include "json/json_scan.hpp"

#include <map>
#include <string>
#include <vector>

using namespace holdfast;
using namespace holdfast::json;
using namespace holdfast::rpc;

namespace {

struct Events : PeerEvents {
    std::map<std::uint64_t, int> open; // by token: accepted and not answered
    std::vector<std::pair<HoldTag, RequestId>> requests;
    Peer* peer = nullptr;
    bool answer_at_once = false;

    void on_answer(CallId, std::uint64_t token, const Answer& answer) override {
        const auto at = open.find(token);
        FUZZ_EXPECT(at != open.end());
        open.erase(at);
        FUZZ_EXPECT(answer.kind == Answer::Kind::failed || is_json(answer.json));
    }
    void on_notification(RegistrationId, HoldTag hold, std::string_view, std::string_view params) override {
        FUZZ_EXPECT(hold != 0 && (params.empty() || is_json(params)));
    }
    void on_request(RegistrationId, HoldTag hold, RequestId request, std::string_view,
                    std::string_view) override {
        if (answer_at_once)
            FUZZ_EXPECT(peer->reply(hold, request, "true").has_value() ||
                        peer->counters().dropped_answers > 0);
        else
            requests.emplace_back(hold, request);
    }
    void on_request_gone(HoldTag, RequestId) override {}
    void on_noise(std::string_view, std::string_view excerpt) override { FUZZ_EXPECT(excerpt.size() <= 256); }
};

struct Input {
    const unsigned char* at;
    const unsigned char* end;
    unsigned next() { return at == end ? 0 : *at++; }
    std::string_view bytes(std::size_t wanted) {
        const auto size = std::min<std::size_t>(wanted, static_cast<std::size_t>(end - at));
        const std::string_view view(reinterpret_cast<const char*>(at), size);
        at += size;
        return view;
    }
};

struct Conversation {
    Registrations registrations;
    Events events;
    Peer peer;
    FrameReader written;
    base::Moment now{1000};
    std::uint64_t token = 0;

    explicit Conversation(PeerOptions options)
        : peer(options, 1, registrations, events)
        , written(options.framing, std::size_t{1} << 20) {
        events.peer = &peer;
    }

    void call(HoldTag hold, std::string_view params, base::Moment deadline) {
        events.open[++token] = 1; // before: nothing may be answered that is not open
        if (!peer.call(hold, "m", params, deadline, token))
            events.open.erase(token);
    }

    // The helper reads so many bytes: every frame it gets whole is a message.
    void read(std::size_t wanted) {
        const std::string piece(peer.output().substr(0, wanted));
        peer.consume(piece.size());
        written.feed(piece);
        while (const auto frame = written.next()) {
            FUZZ_EXPECT(frame->kind == Frame::Kind::message);
            FUZZ_EXPECT(classify(frame->text).kind != MessageKind::noise);
        }
    }

    void reply(unsigned which) {
        if (events.requests.empty())
            return;
        const std::size_t index = which % events.requests.size();
        const auto [hold, request] = events.requests[index];
        events.requests.erase(events.requests.begin() + static_cast<std::ptrdiff_t>(index));
        if (which % 2 == 0)
            static_cast<void>(peer.reply(hold, request, "{\"n\":1}"));
        else
            static_cast<void>(peer.reply_error(hold, request, server_error, "no"));
    }
};

// A well-formed message that uses what the bytes say, since random bytes seldom are one.
std::string plausible(unsigned kind, unsigned number) {
    const std::string id = std::to_string(number % 16);
    switch (kind % 5) {
    case 0:
        return R"({"jsonrpc":"2.0","id":)" + id + R"(,"result":[1]})";
    case 1:
        return R"({"jsonrpc":"2.0","id":)" + id + R"(,"error":{"code":1,"message":"x"}})";
    case 2:
        return R"({"jsonrpc":"2.0","id":"s)" + id + R"(","method":"r)" + std::to_string(number % 3) + R"("})";
    case 3:
        return R"({"jsonrpc":"2.0","method":"n","params":{}})";
    default:
        return R"({"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":"s)" + id + R"("}})";
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    Input input{data, data + size};
    const unsigned setup = input.next();
    PeerOptions options;
    options.framing = setup & 1 ? Framing::newline : Framing::content_length;
    options.cancel = static_cast<CancelStyle>(setup / 2 % 3);
    options.serve_within = std::chrono::milliseconds(setup & 8 ? 0 : 1);
    options.limits = {512, 64, 4096, 8, 512};
    Conversation talk(options);
    talk.events.answer_at_once = (setup & 16) != 0;

    while (input.at != input.end) {
        const unsigned action = input.next();
        const unsigned number = input.next();
        const HoldTag hold = 1 + number % 3;
        switch (action % 12) {
        case 0:
            talk.call(hold, "{}", base::never);
            break;
        case 1:
            talk.call(hold, "[1,\n2]", talk.now + base::Moment(number));
            break;
        case 2:
            talk.call(hold, input.bytes(number), base::never);
            break;
        case 3:
            static_cast<void>(talk.peer.notify(hold, "note", "{}"));
            break;
        case 4:
            talk.peer.cancel(number % 16);
            break;
        case 5:
            talk.peer.receive(input.bytes(number), talk.now);
            break;
        case 6: {
            std::string frame;
            append_frame(frame, options.framing, plausible(number, input.next()));
            talk.peer.receive(frame, talk.now);
            break;
        }
        case 7:
            talk.read(number * 4);
            break;
        case 8:
            talk.now += base::Moment(number * 10000);
            talk.peer.expire(talk.now);
            FUZZ_EXPECT(talk.peer.next_deadline() > talk.now);
            break;
        case 9:
            if (number & 64)
                talk.registrations.serve(hold, "r" + std::to_string(number % 3));
            else
                talk.registrations.subscribe(hold, number & 32 ? "*" : "n");
            break;
        case 10:
            talk.registrations.remove_all_of(hold);
            talk.peer.registrations_changed(talk.now);
            break;
        case 11:
            talk.reply(number);
            break;
        default:
            break;
        }
        FUZZ_EXPECT(talk.peer.in_flight() == talk.events.open.size());
        FUZZ_EXPECT(talk.peer.in_flight() <= options.limits.max_in_flight);
        FUZZ_EXPECT(talk.peer.unsent_bytes() <= (std::size_t{64} << 10) + 4096 + 2 * 512 + 1024);
    }
    talk.read(std::size_t{1} << 20);
    talk.peer.finish(talk.now);
    talk.peer.fail_all("");
    FUZZ_EXPECT(talk.events.open.empty());
    FUZZ_EXPECT(talk.peer.output().empty());
    return 0;
}
