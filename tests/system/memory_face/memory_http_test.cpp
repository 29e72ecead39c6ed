// The pages' server from outside, with a socket: who gets in, what is refused, and that nobody can make it
// hold much.
#include "face.hpp"

#include "memory/viewer/http_request.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <csignal>

namespace holdfast::harness {

namespace {

using memory::HttpLimits;
using memory::HttpReader;

TEST(MemoryHttpRequest, a_request_is_the_same_in_any_pieces) {
    const std::string text = "POST /api/call?x=1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\ncontent-length: "
                             "5\r\nAuthorization: Bearer t\r\n\r\nhelloGET / HTTP/1.1\r\n"
                             "Host: h\r\nConnection: close\r\n\r\n";
    for (std::size_t piece = 1; piece <= text.size(); ++piece) {
        HttpReader reader;
        std::vector<memory::HttpRequest> got;
        for (std::size_t at = 0; at < text.size(); at += piece) {
            reader.feed(std::string_view(text).substr(at, piece));
            while (auto request = reader.next())
                got.push_back(std::move(*request));
        }
        ASSERT_EQ(got.size(), 2U) << piece;
        EXPECT_EQ(got[0].method + got[0].path + got[0].query + got[0].body, "POST/api/callx=1hello");
        EXPECT_EQ(got[0].authorization, "Bearer t");
        EXPECT_TRUE(got[0].keep_alive);
        EXPECT_FALSE(got[1].keep_alive);
        EXPECT_TRUE(reader.idle());
        EXPECT_EQ(reader.refusal(), 0);
    }
}

TEST(MemoryHttpRequest, what_is_off_is_refused_with_its_code) {
    const std::vector<std::pair<std::string, int>> cases{
        {"GET / HTTP/1.1\r\n\r\n", 400}, // no host
        {"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\nHost: a\r\n\r\n", 505},
        {"GET http://x/ HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET /\r\nHost: a\r\n\r\n", 400},
        {"GE T / HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: a\r\n folded: x\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 501},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999999999999\r\n\r\n", 400},
        {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2000000\r\n\r\n", 413},
        {"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\n\r\n", 417},
        {"GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(9000, 'x') + "\r\n\r\n", 431},
        {std::string(9000, 'x'), 431},
        {std::string("GET / HTTP/1.1\r\nHost: a\0b\r\n\r\n", 30), 400},
    };
    for (const auto& [text, status] : cases) {
        HttpReader reader;
        reader.feed(text);
        EXPECT_FALSE(reader.next()) << text;
        EXPECT_EQ(reader.refusal(), status) << text;
    }
}

class Viewer : public MemoryFace {
protected:
    void SetUp() override { serve_pages(); }
    void serve_pages() {
        start_daemon({"--port", "0"});
        if (HasFatalFailure())
            return;
        ASSERT_TRUE(eventually(Deadline::in(patience), [&] {
            const auto status = as_json({"status"});
            if (!status.at("viewer").is_string())
                return false;
            address = std::string(status.at("viewer").as_string());
            return true;
        }));
        token = address.substr(address.find("#token=") + 7);
        const auto colon = address.rfind(':', address.find("/#"));
        host = "127.0.0.1" + address.substr(colon, address.find("/#") - colon);
        std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
    }
    [[nodiscard]] sys::Fd connect() const {
        sys::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
        sockaddr_in to{};
        to.sin_family = AF_INET;
        to.sin_port = htons(port);
        to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
        return socket;
    }
    static void send_all(const sys::Fd& socket, std::string_view text) {
        while (!text.empty()) {
            const auto n = ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL);
            if (n <= 0)
                return;
            text.remove_prefix(static_cast<std::size_t>(n));
        }
    }
    // What comes until the other side closes, or until `enough` is in it.
    static std::string receive(const sys::Fd& socket, const std::string& enough = {}) {
        std::string text;
        const auto deadline = std::chrono::steady_clock::now() + test::patient(patience);
        while (enough.empty() || text.find(enough) == std::string::npos) {
            const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
                deadline - std::chrono::steady_clock::now());
            pollfd ready{socket.get(), POLLIN, 0};
            if (left.count() <= 0 || ::poll(&ready, 1, static_cast<int>(left.count())) <= 0)
                return text + "<timeout>";
            char chunk[65536];
            const auto n = ::recv(socket.get(), chunk, sizeof chunk, 0);
            if (n <= 0)
                break;
            text.append(chunk, static_cast<std::size_t>(n));
        }
        return text;
    }
    [[nodiscard]] std::string ask(const std::string& request) const {
        const auto socket = connect();
        send_all(socket, request);
        return receive(socket);
    }
    [[nodiscard]] std::string get(const std::string& path, const std::string& more = {}) const {
        return ask("GET " + path + " HTTP/1.1\r\nHost: " + host + "\r\n" + more +
                   "Connection: close\r\n\r\n");
    }
    [[nodiscard]] std::string post(const std::string& path, const std::string& body,
                                   const std::string& more) const {
        return ask("POST " + path + " HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\n" +
                   more + "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" +
                   body);
    }
    [[nodiscard]] std::string bearer() const { return "Authorization: Bearer " + token + "\r\n"; }
    [[nodiscard]] std::string call(const std::string& method, const std::string& params = "{}") const {
        return post("/api/call", R"({"method":")" + method + R"(","params":)" + params + "}", bearer());
    }
    static bool is(const std::string& answer, int status) {
        return answer.starts_with("HTTP/1.1 " + std::to_string(status) + " ");
    }

    std::string address;
    std::string token;
    std::string host;
    std::uint16_t port = 0;
};

TEST_F(Viewer, pages_are_served_with_the_headers_that_keep_others_out) {
    for (const std::string path :
         {"/", "/viewer.js", "/viewer.css", "/talk.js", "/parts.js", "/theme.js", "/icon.svg"}) {
        const auto page = get(path);
        EXPECT_TRUE(is(page, 200)) << path;
        EXPECT_NE(page.find("Content-Security-Policy: default-src 'none'; script-src 'self'"),
                  std::string::npos);
        EXPECT_NE(page.find("frame-ancestors 'none'"), std::string::npos);
        EXPECT_NE(page.find("X-Content-Type-Options: nosniff"), std::string::npos);
        EXPECT_EQ(page.find("Access-Control-Allow"), std::string::npos);
        EXPECT_EQ(page.find(token), std::string::npos);
    }
    EXPECT_TRUE(is(get("/../etc/passwd"), 404));
    EXPECT_TRUE(is(get("/nothing"), 404));
    const auto head = ask("HEAD / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(is(head, 200));
    EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST_F(Viewer, only_the_token_opens_and_only_for_what_pages_may_ask) {
    EXPECT_TRUE(is(call("core.health"), 200));
    const std::string body = R"({"method":"core.health"})";
    EXPECT_TRUE(is(post("/api/call", body, ""), 401));
    EXPECT_TRUE(
        is(post("/api/call", body, "Authorization: Bearer " + std::string(token.size(), '0') + "\r\n"), 401));
    EXPECT_TRUE(is(post("/api/call", body, "Authorization: Bearer " + token + "0\r\n"), 401));
    EXPECT_TRUE(is(post("/api/live", "{}", ""), 401));
    EXPECT_TRUE(is(post("/api/ticket", "{}", ""), 401));
    EXPECT_TRUE(is(get("/api/call", bearer()), 405));
    for (const std::string method :
         {"core.shutdown", "transfer.import", "turn.end", "session.open", "memory.add", ""})
        EXPECT_TRUE(is(call(method), 400)) << method;
    EXPECT_TRUE(is(post("/api/call", "not json", bearer()), 400));
    const auto form =
        ask("POST /api/call HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: text/plain\r\n" + bearer() +
            "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body);
    EXPECT_TRUE(is(form, 415));
    struct stat info {};
    ASSERT_EQ(::stat(file("memory/viewer.token").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST_F(Viewer, other_names_and_other_pages_are_refused) {
    for (const std::string name : {"evil.example", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:80"})
        EXPECT_TRUE(is(ask("GET / HTTP/1.1\r\nHost: " + name + "\r\nConnection: close\r\n\r\n"), 421))
            << name;
    EXPECT_TRUE(
        is(ask("GET / HTTP/1.1\r\nHost: localhost:" + std::to_string(port) + "\r\nConnection: close\r\n\r\n"),
           200));
    EXPECT_TRUE(is(get("/", "Origin: http://evil.example\r\n"), 403));
    EXPECT_TRUE(is(get("/", "Origin: null\r\n"), 403));
    EXPECT_TRUE(is(get("/", "Sec-Fetch-Site: cross-site\r\n"), 403));
    EXPECT_TRUE(is(get("/", "Sec-Fetch-Site: same-site\r\n"), 403));
    EXPECT_TRUE(is(get("/", "Origin: http://" + host + "\r\nSec-Fetch-Site: same-origin\r\n"), 200));
    EXPECT_TRUE(is(get("/", "Sec-Fetch-Site: none\r\n"), 200));
}

TEST_F(Viewer, the_lists_come_in_pages_and_each_row_once) {
    std::string all;
    for (int i = 0; i < 130; ++i)
        all += R"({"type":"trace","ts":)" + std::to_string(1000 + i / 3) + R"(,"sessionId":"se_)" +
               std::to_string(i % 7) + R"(","episodeId":"ep_)" + std::to_string(i) + R"(","text":"turn )" +
               std::to_string(i) + "\"}\n";
    for (int i = 0; i < 70; ++i)
        all += R"({"type":"trace","ts":)" + std::to_string(5000 + i / 2) +
               R"(,"sessionId":"se_long","episodeId":"ep_long","text":"long )" + std::to_string(i) + "\"}\n";
    ASSERT_TRUE(memory({"import", "-"}, all).status.exited_with(0));
    const auto walk = [&](const std::string& method, const std::string& name, const std::string& params,
                          const std::string& turn) {
        std::set<std::string> seen;
        std::string place;
        for (int pages = 0; pages < 100; ++pages) {
            const auto answer =
                call(method, "{\"limit\":9" + params +
                                 (place.empty() ? "" : ",\"" + turn + "\":\"" + place + "\"") + "}");
            const auto body =
                boost::json::parse(answer.substr(answer.find("\r\n\r\n") + 4)).at("result").as_object();
            for (const auto& row : body.at(name).as_array())
                EXPECT_TRUE(seen.insert(std::string(row.at("id").as_string())).second)
                    << method << row.at("id");
            if (!body.contains("next"))
                return seen.size();
            place = body.at("next").as_string();
        }
        return std::size_t{0};
    };
    EXPECT_EQ(walk("memory.episodes", "episodes", "", "before"), 131U);
    EXPECT_EQ(walk("memory.episodes", "episodes", ",\"sessionId\":\"se_3\"", "before"), 19U);
    EXPECT_EQ(walk("memory.sessions", "sessions", "", "before"), 8U);
    EXPECT_EQ(walk("memory.timeline", "traces", ",\"episodeId\":\"ep_long\"", "after"), 70U);
}

TEST_F(Viewer, an_export_is_the_same_as_the_commands_and_its_link_is_good_once) {
    std::string all;
    for (int i = 0; i < 4000; ++i)
        all += "{\"ts\":" + std::to_string(i + 1) + ",\"userText\":\"" + std::string(600, 'y') + " " +
               std::to_string(i) + "\"}\n";
    ASSERT_TRUE(memory({"import", "-"}, all).status.exited_with(0));
    const auto answer = post("/api/ticket", "{}", bearer());
    const std::string ticket(
        boost::json::parse(answer.substr(answer.find("\r\n\r\n") + 4)).at("result").at("ticket").as_string());
    EXPECT_TRUE(is(get("/export/" + std::string(ticket.size(), 'x')), 403));
    // Who only asks what there would be (a browser's download manager) has not used it.
    const auto head =
        ask("HEAD /export/" + ticket + " HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(is(head, 200));
    EXPECT_TRUE(head.ends_with("\r\n\r\n"));
    const auto sent = get("/export/" + ticket);
    ASSERT_TRUE(is(sent, 200));
    EXPECT_NE(sent.find("Content-Disposition: attachment"), std::string::npos);
    std::string body; // out of its chunks
    for (auto at = sent.find("\r\n\r\n") + 4; at < sent.size();) {
        std::size_t length = 0;
        std::from_chars(sent.data() + at, sent.data() + sent.size(), length, 16);
        at = sent.find("\r\n", at) + 2;
        body += sent.substr(at, length);
        at += length + 2;
    }
    EXPECT_EQ(body, memory({"export"}).out);
    EXPECT_TRUE(is(get("/export/" + ticket), 403));
}

// A download has nothing but its end to say that it is whole.
TEST_F(Viewer, an_export_of_a_damaged_store_breaks_off_and_is_not_taken_for_the_whole) {
    std::string all;
    for (int i = 0; i < 3000; ++i)
        all += "{\"ts\":" + std::to_string(1000 + i) + ",\"userText\":\"row " + std::to_string(i) + " " +
               std::string(300, 'x') + "\"}\n";
    ASSERT_TRUE(memory({"import", "-"}, all).status.exited_with(0));
    ASSERT_TRUE(daemon.signal(SIGTERM));
    ASSERT_TRUE(daemon.wait(Deadline::in(patience)));
    auto bytes = read_file(file("memory/data/memory.db")).value();
    const auto middle = bytes.find("row 1500 ");
    ASSERT_NE(middle, std::string::npos);
    std::memset(bytes.data() + middle / 4096 * 4096, 0xa5, 4096);
    write("memory/data/memory.db", bytes);
    serve_pages();
    ASSERT_FALSE(HasFatalFailure());
    const auto answer = post("/api/ticket", "{}", bearer());
    const std::string ticket(
        boost::json::parse(answer.substr(answer.find("\r\n\r\n") + 4)).at("result").at("ticket").as_string());
    const auto sent = get("/export/" + ticket);
    ASSERT_TRUE(is(sent, 200));
    EXPECT_LT(sent.size(), std::size_t{3} << 20) << "the same lines again and again";
    EXPECT_NE(sent.find("row 0 "), std::string::npos) << "what stands before the damage is there";
    EXPECT_EQ(sent.find("row 1500 "), std::string::npos);
    EXPECT_FALSE(sent.ends_with("<timeout>"));
    EXPECT_FALSE(sent.ends_with("0\r\n\r\n")) << "it says that it is the whole";
}

TEST_F(Viewer, rude_clients_hold_up_nobody) {
    std::vector<sys::Fd> rude;
    for (int i = 0; i < 40; ++i) {
        rude.push_back(connect());
        send_all(rude.back(), i % 2 == 0 ? "GET / HT" : ""); // half a request, or nothing
    }
    auto pipelined = connect();
    std::string many;
    for (int i = 0; i < 200; ++i)
        many += "GET /viewer.js HTTP/1.1\r\nHost: " + host + "\r\n\r\n";
    send_all(pipelined, many.substr(0, 4000)); // never reads the answers
    EXPECT_TRUE(is(call("core.health"), 200));
    // Beyond the limit of connections a newcomer is told so, and the next one gets in when there is room
    // again.
    std::string told;
    for (int i = 0; i < 60 && told.empty(); ++i) {
        rude.push_back(connect());
        pollfd ready{rude.back().get(), POLLIN, 0};
        if (::poll(&ready, 1, 50) == 1)
            told = receive(rude.back());
    }
    EXPECT_TRUE(is(told, 503)) << told;
    rude.clear();
    EXPECT_TRUE(eventually(Deadline::in(patience), [&] { return is(call("core.health"), 200); }));
    EXPECT_TRUE(is(ask(std::string(20000, 'A')), 431));
    EXPECT_TRUE(is(post("/api/call", std::string(10, 'x'), bearer() + "Content-Length: 5\r\n"), 400));
    EXPECT_TRUE(is(call("core.health"), 200));
}

TEST_F(Viewer, a_port_that_is_taken_gives_the_next_and_the_record_says_which) {
    HoldfastHome second_home;
    auto spec = second_home.command({"memory", "daemon", "--port", std::to_string(port)});
    spec.err = Stdio::pipe;
    auto second = Child::spawn(spec);
    ASSERT_TRUE(second);
    const auto line = second->err().read_until("viewer at http://127.0.0.1:", Deadline::in(patience));
    ASSERT_TRUE(line) << line.error().message;
    const auto rest = second->err().read_line(Deadline::in(patience));
    ASSERT_TRUE(rest);
    int other = 0;
    std::from_chars(rest->data(), rest->data() + rest->size(), other);
    EXPECT_NE(other, port);
    EXPECT_GT(other, 0);
    EXPECT_TRUE(second->alive());
    EXPECT_TRUE(eventually(Deadline::in(patience), [&] {
        const auto status = second_home.run({"memory", "status"}, Deadline::in(patience));
        return status && status->out.find("127.0.0.1:" + std::to_string(other) + "/") != std::string::npos;
    }));
    ASSERT_TRUE(second->signal(SIGTERM));
    EXPECT_TRUE(second->wait(Deadline::in(patience)));
}

TEST_F(Viewer, the_address_stays_the_same_over_a_restart_and_nothing_is_served_without_the_viewer) {
    ASSERT_TRUE(daemon.signal(SIGTERM));
    ASSERT_TRUE(daemon.wait(Deadline::in(patience)));
    start_daemon({"--port", std::to_string(port)});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(eventually(Deadline::in(patience), [&] {
        const auto status = as_json({"status"});
        return status.at("viewer").is_string() && status.at("viewer").as_string() == address;
    }));
    EXPECT_TRUE(is(call("core.health"), 200));
    ASSERT_TRUE(daemon.signal(SIGTERM));
    ASSERT_TRUE(daemon.wait(Deadline::in(patience)));
    start_daemon({"--no-viewer"});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(as_json({"status"}).at("viewer").is_null());
}

// The owner serves the pages, and there is one address: who asks for another one hears which it is.
TEST_F(Viewer, an_attached_process_with_another_port_hears_where_the_pages_are) {
    const auto hears = [&](std::vector<std::string> words, const std::string& expected) {
        auto spec = home.command(words);
        spec.in = spec.err = Stdio::pipe;
        auto second = Child::spawn(spec);
        ASSERT_TRUE(second);
        const auto line = second->err().read_line(Deadline::in(patience));
        ASSERT_TRUE(line) << line.error().message;
        EXPECT_EQ(*line, "memory: viewer at http://" + host +
                             "/ (the whole address: holdfast memory status) " + expected);
        second->close_in();
        const auto end = second->wait(Deadline::in(patience));
        EXPECT_TRUE(end && end->exited_with(0));
    };
    const int other = port > 30000 ? port - 1000 : port + 1000;
    hears({"memory", "serve", "--port", std::to_string(other)},
          "(served there by the owner of the home; --port=" + std::to_string(other) + " is not used)");
    hears({"memory", "serve", "--port", std::to_string(port)}, "(served by the owner of the home)");
    hears({"memory", "mcp"}, "(served by the owner of the home)");
    EXPECT_EQ(as_json({"status"}).at("viewer").as_string(), address);
}

TEST_F(MemoryFace, an_owner_without_pages_serves_them_for_an_attached_process_where_that_wants_them) {
    start_daemon({"--no-viewer"});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(as_json({"status"}).at("viewer").is_null());
    // A port that was free a moment ago; should somebody take it meanwhile, it is one of the next.
    sys::Fd probe(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof at;
    ASSERT_EQ(::bind(probe.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    ASSERT_EQ(::getsockname(probe.get(), reinterpret_cast<sockaddr*>(&at), &length), 0);
    const int wanted = ntohs(at.sin_port);
    probe.reset();
    auto spec = home.command({"memory", "serve", "--port", std::to_string(wanted)});
    spec.in = spec.err = Stdio::pipe;
    auto second = Child::spawn(spec);
    ASSERT_TRUE(second);
    ASSERT_TRUE(second->err().read_until("viewer at http://127.0.0.1:", Deadline::in(patience)));
    const auto line = second->err().read_line(Deadline::in(patience));
    ASSERT_TRUE(line);
    int given = 0;
    std::from_chars(line->data(), line->data() + line->size(), given);
    EXPECT_GE(given, wanted);
    EXPECT_LE(given, wanted + 64);
    const auto viewer = std::string(as_json({"status"}).at("viewer").as_string());
    EXPECT_TRUE(viewer.starts_with("http://127.0.0.1:" + std::to_string(given) + "/#token=")) << viewer;
    // They go with the one who wanted them.
    second->close_in();
    const auto end = second->wait(Deadline::in(patience));
    EXPECT_TRUE(end && end->exited_with(0));
    EXPECT_TRUE(
        eventually(Deadline::in(patience), [&] { return as_json({"status"}).at("viewer").is_null(); }));
}

TEST_F(Viewer, it_stays_small_with_its_pages_open) {
    ASSERT_TRUE(memory({"add", "one"}).status.exited_with(0));
    for (int i = 0; i < 50; ++i)
        EXPECT_TRUE(is(call("memory.search", R"({"query":"one"})"), 200));
    auto page = connect();
    send_all(page, "POST /api/live HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\n" +
                       bearer() + "Content-Length: 2\r\n\r\n{}");
    EXPECT_NE(receive(page, "\"phase\"").find("\"phase\""), std::string::npos);
    const auto status = read_file("/proc/" + std::to_string(daemon.pid()) + "/status").value();
    const auto at = status.find("VmRSS:");
    ASSERT_NE(at, std::string::npos);
    EXPECT_LT(std::stol(status.substr(at + 6)), 12 * 1024) << "kB resident";
}

// An open page holds the owner, although its own client has gone; when the page goes, so does the owner.
TEST_F(Viewer, an_open_page_holds_the_owner) {
    ASSERT_TRUE(daemon.signal(SIGTERM));
    ASSERT_TRUE(daemon.wait(Deadline::in(patience)));
    auto spec = home.command({"memory", "serve", "--port", std::to_string(port)});
    spec.in = Stdio::pipe;
    spec.err = Stdio::pipe;
    auto served = Child::spawn(spec);
    ASSERT_TRUE(served);
    ASSERT_TRUE(served->err().read_until("viewer at", Deadline::in(patience)));
    auto page = connect();
    send_all(page, "POST /api/live HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\n" +
                       bearer() + "Content-Length: 2\r\n\r\n{}");
    EXPECT_NE(receive(page, "\"phase\"").find("\"phase\""), std::string::npos);
    served->close_in();
    EXPECT_FALSE(served->wait_ended(Deadline::exactly(2s))) << "it left although a page is open";
    EXPECT_TRUE(is(call("core.health"), 200));
    page.reset();
    const auto end = served->wait(Deadline::in(patience));
    ASSERT_TRUE(end) << "it stayed although nobody is there";
    EXPECT_TRUE(end->exited_with(0));
}

} // namespace

} // namespace holdfast::harness
