// A server while its client writes any lines, cancels, and lets deadlines pass. Each request that was begun
// has exactly one end, each line that is written is well-formed, and nothing is left at the end.
#include "expect.hpp"

#include "rpc/dispatcher.hpp"
#include "json/json_scan.hpp"

#include <array>
#include <memory>
#include <string>
#include <vector>

using namespace holdfast;
using namespace holdfast::rpc;
using namespace std::chrono_literals;

namespace {

struct Wire : Connection {
    std::vector<int> ends; // by ticket
    std::string state;

    void send(std::string_view message) override { FUZZ_EXPECT(json::is_json(message)); }
    Ticket begin(std::string_view raw_id) override {
        FUZZ_EXPECT(raw_id.size() <= longest_id && json::is_json(raw_id));
        ends.push_back(0);
        return static_cast<Ticket>(ends.size());
    }
    void answer(Ticket ticket, std::string_view message) override {
        FUZZ_EXPECT(++ends.at(ticket - 1) == 1);
        send(message);
    }
    void withdraw(Ticket ticket) override { FUZZ_EXPECT(++ends.at(ticket - 1) == 1); }
};

struct Server : Handlers {
    std::vector<Request> kept;
    bool batches = false;

    static constexpr Method now{.name = "a"};
    static constexpr Method later{.name = "k", .cancellable = true, .within = 20ms};

    const Method* find(const std::shared_ptr<Connection>&, std::string_view name) override {
        return name == "a" ? &now : name == "k" ? &later : nullptr;
    }
    void serve(const Method& method, Request request) override {
        if (method.cancellable)
            kept.push_back(std::move(request));
        else
            request.responder.result(std::move(request.params));
    }
    std::string refuse_batch(const std::shared_ptr<Connection>& connection) override {
        return batches ? std::string() : Handlers::refuse_batch(connection);
    }
};

} // namespace

// The first byte chooses the dialect; a line that begins with '!' is an event: !t passes time, !r answers
// what is kept, !f is the client's end.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
    if (size == 0)
        return 0;
    constexpr std::array styles = {CancelStyle::silent, CancelStyle::lsp, CancelStyle::mcp};
    const Dialect dialect{plain_error, (*data & 4U) != 0, styles.at((*data & 3U) % styles.size())};
    Server server;
    server.batches = (*data & 8U) != 0;
    Dispatcher dispatcher(server, dialect);
    const auto wire = std::make_shared<Wire>();
    std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
    base::Moment time{};
    while (!rest.empty()) {
        const auto end = std::min(rest.find('\n'), rest.size());
        const auto line = rest.substr(0, end);
        rest.remove_prefix(std::min(end + 1, rest.size()));
        if (line.empty())
            continue;
        if (line == "!t")
            dispatcher.expire(time += 15ms);
        else if (line == "!r" && !server.kept.empty())
            server.kept.erase(server.kept.begin());
        else if (line == "!f")
            dispatcher.forget(wire.get());
        else if (line == "!o")
            dispatcher.refuse_oversize(wire, 10);
        else
            dispatcher.handle(wire, line, time);
        FUZZ_EXPECT(json::is_json(dispatcher.lost("1")));
    }
    server.kept.clear();
    FUZZ_EXPECT(dispatcher.next_deadline() == base::never);
    for (const int ends : wire->ends)
        FUZZ_EXPECT(ends == 1);
    return 0;
}
