// The pages' server from outside, with a socket: who gets in, what is refused, and that nobody can make it
// hold much.
#include "face.hpp"

#include "core/page_sessions.hpp"
#include "memory/viewer/http_request.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <filesystem>

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
        const auto colon = address.rfind(':');
        host = "127.0.0.1" + address.substr(colon, address.size() - 1 - colon);
        std::from_chars(address.data() + colon + 1, address.data() + address.size(), port);
        page = open_page();
    }
    // What a page has: after a link, and after the proof that it asks of the server.
    struct Page {
        std::string id;
        std::string key;
        std::string nonce; // the server's
        int sequence = 0;
    };
    static std::string mac(const Page& who, const std::string& purpose, const std::string& port,
                           const std::string& first, const std::string& second, const std::string& path = {},
                           const std::string& body = {}) {
        return core::PageSessions::mac(who.key, purpose, port, who.id, first, second, path, body);
    }
    static boost::json::value body_of(const std::string& answer) {
        boost::system::error_code failed;
        auto body =
            boost::json::parse(answer.substr(std::min(answer.size(), answer.find("\r\n\r\n") + 4)), failed);
        return failed ? boost::json::object() : body;
    }
    // Signs for the nonce that it got, whether the server has proven itself or not. Returns whether it has.
    bool challenge(Page& who, const std::string& port_of_page = {}) const {
        const std::string mine(32, 'a');
        const auto answer =
            body_of(post("/api/prove", R"({"id":")" + who.id + R"(","nonce":")" + mine + "\"}", ""));
        const auto* result = answer.as_object().if_contains("result");
        if (result == nullptr)
            return false;
        who.nonce = result->at("nonce").as_string();
        who.sequence = 0;
        return result->at("proof").as_string() ==
               mac(who, "server", port_of_page.empty() ? std::to_string(port) : port_of_page, mine,
                   who.nonce);
    }
    [[nodiscard]] std::string signature(Page& who, const std::string& path, const std::string& body) const {
        const auto number = std::to_string(++who.sequence);
        return "Authorization: Holdfast " + who.id + " " + who.nonce + " " + number + " " +
               mac(who, "request", std::to_string(port), who.nonce, number, path, body) + "\r\n";
    }
    // The ticket of a link: not used yet.
    Page new_ticket(const std::vector<std::string>& more = {}) const {
        std::vector<std::string> words{"open", "--print"};
        words.insert(words.end(), more.begin(), more.end());
        const auto done = memory(words);
        EXPECT_TRUE(done.status.exited_with(0)) << done.err;
        const auto ticket = done.out.find("/#ticket=");
        EXPECT_NE(ticket, std::string::npos) << done.out;
        const auto dot = done.out.find('.', ticket);
        if (ticket == std::string::npos || dot == std::string::npos)
            return {};
        return {done.out.substr(ticket + 9, dot - ticket - 9),
                done.out.substr(dot + 1, done.out.size() - dot - 2), "", 0};
    }
    // False: the ticket was not taken.
    bool log_in(Page& who) const {
        const auto answer = post("/api/login", "{}", signature(who, "/api/login", "{}"));
        if (!is(answer, 200))
            return false;
        const auto key = mac(who, "session", std::to_string(port), std::string(32, 'a'), who.nonce);
        who.id = body_of(answer).at("result").at("session").as_string();
        who.key = key;
        return true;
    }
    Page open_page() const {
        auto opened = new_ticket();
        EXPECT_TRUE(challenge(opened));
        EXPECT_TRUE(log_in(opened));
        EXPECT_TRUE(challenge(opened));
        return opened;
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
    [[nodiscard]] std::string signed_post(const std::string& path, const std::string& body) {
        return post(path, body, signature(page, path, body));
    }
    [[nodiscard]] std::string call(const std::string& method, const std::string& params = "{}") {
        return signed_post("/api/call", R"({"method":")" + method + R"(","params":)" + params + "}");
    }
    [[nodiscard]] std::string live_request() {
        return "POST /api/live HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: application/json\r\n" +
               signature(page, "/api/live", "{}") + "Content-Length: 2\r\n\r\n{}";
    }
    static bool is(const std::string& answer, int status) {
        return answer.starts_with("HTTP/1.1 " + std::to_string(status) + " ");
    }

    // holdfast memory open, at a display, with this for a browser.
    [[nodiscard]] SpawnSpec open_with(const std::string& script) const {
        std::filesystem::create_directories(file("bin"));
        write("bin/xdg-open", "#!/bin/sh\n" + script);
        EXPECT_EQ(::chmod(file("bin/xdg-open").c_str(), 0755), 0);
        auto spec = home.command({"memory", "open"});
        std::erase_if(spec.env, [](const std::string& one) {
            return one.starts_with("PATH=") || one.starts_with("DISPLAY=");
        });
        spec.env.insert(spec.env.end(), {"DISPLAY=:77", "PATH=" + file("bin") + ":/usr/bin:/bin"});
        return spec;
    }

    std::string address;
    Page page;
    std::string host;
    std::uint16_t port = 0;
};

TEST_F(Viewer, pages_are_served_with_the_headers_that_keep_others_out) {
    for (const std::string path : {"/", "/viewer.js", "/viewer.css", "/talk.js", "/session.js", "/parts.js",
                                   "/theme.js", "/icon.svg"}) {
        const auto answer = get(path);
        EXPECT_TRUE(is(answer, 200)) << path;
        EXPECT_NE(answer.find("Content-Security-Policy: default-src 'none'; script-src 'self'"),
                  std::string::npos);
        EXPECT_NE(answer.find("frame-ancestors 'none'"), std::string::npos);
        EXPECT_NE(answer.find("X-Content-Type-Options: nosniff"), std::string::npos);
        EXPECT_EQ(answer.find("Access-Control-Allow"), std::string::npos);
    }
    EXPECT_TRUE(is(get("/../etc/passwd"), 404));
    EXPECT_TRUE(is(get("/nothing"), 404));
    const auto head = ask("HEAD / HTTP/1.1\r\nHost: " + host + "\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(is(head, 200));
    EXPECT_TRUE(head.ends_with("\r\n\r\n"));
}

TEST_F(Viewer, only_a_page_that_was_let_in_is_answered_and_only_what_pages_may_ask) {
    EXPECT_TRUE(is(call("core.health"), 200));
    const std::string body = R"({"method":"core.health"})";
    EXPECT_TRUE(is(post("/api/call", body, ""), 401));
    EXPECT_TRUE(is(post("/api/call", body, "Authorization: Bearer " + page.key + "\r\n"), 401));
    EXPECT_TRUE(is(post("/api/call", body, signature(page, "/api/call", "{}")), 401)) << "of another body";
    EXPECT_TRUE(is(post("/api/call", body, signature(page, "/api/live", body)), 401)) << "of another path";
    EXPECT_TRUE(is(post("/api/live", "{}", ""), 401));
    EXPECT_TRUE(is(post("/api/export", "{}", ""), 401));
    EXPECT_TRUE(is(get("/api/call"), 405));
    const auto once = signature(page, "/api/call", body);
    EXPECT_TRUE(is(post("/api/call", body, once), 200));
    EXPECT_TRUE(is(post("/api/call", body, once), 401)) << "said again by somebody who heard it";
    for (const std::string method :
         {"core.shutdown", "transfer.import", "turn.end", "session.open", "memory.add", "viewer.link", ""})
        EXPECT_TRUE(is(call(method), 400)) << method;
    EXPECT_TRUE(is(signed_post("/api/call", "not json"), 400));
    const auto form =
        ask("POST /api/call HTTP/1.1\r\nHost: " + host + "\r\nContent-Type: text/plain\r\n" +
            signature(page, "/api/call", body) + "Content-Length: " + std::to_string(body.size()) +
            "\r\nConnection: close\r\n\r\n" + body);
    EXPECT_TRUE(is(form, 415));
}

TEST_F(Viewer, an_answer_comes_with_its_proof) {
    const std::string body = R"({"method":"core.health"})";
    const auto answer = call("core.health");
    EXPECT_NE(answer.find("X-Holdfast-Proof: " + mac(page, "answer", std::to_string(port), page.nonce,
                                                     std::to_string(page.sequence))),
              std::string::npos);
}

TEST_F(Viewer, a_link_opens_once) {
    auto ticket = new_ticket();
    auto other = ticket;
    ASSERT_TRUE(challenge(ticket));
    ASSERT_TRUE(challenge(other));
    EXPECT_TRUE(log_in(ticket));
    EXPECT_FALSE(log_in(other));
    EXPECT_FALSE(challenge(other));
    auto reread = new_ticket();
    EXPECT_TRUE(challenge(reread) && log_in(reread)) << "and the next link opens another page";
}

TEST_F(Viewer, a_link_that_waited_too_long_opens_nothing) {
    auto ticket = new_ticket({"--valid", "1ms"});
    EXPECT_TRUE(eventually(Deadline::in(patience), [&] { return !challenge(ticket); }));
    EXPECT_FALSE(log_in(ticket));
    const auto refused = memory({"open", "--print", "--valid", "25h"});
    EXPECT_TRUE(refused.status.exited_with(64)) << refused.err;
}

// Somebody on another port hands everything on: the proof names the port of the server, and the page has
// another one in its address.
TEST_F(Viewer, a_relay_does_not_get_the_proof_that_its_page_needs) {
    auto ticket = new_ticket();
    EXPECT_FALSE(challenge(ticket, std::to_string(port + 1)));
    EXPECT_TRUE(challenge(ticket));
}

// All that a squatter can catch of a page: what it asks, what it signs, and what its origin has stored.
TEST_F(Viewer, what_was_for_one_owner_is_nothing_to_the_next) {
    const auto ticket = new_ticket();
    const std::string body = R"({"method":"core.health"})";
    const auto caught = signature(page, "/api/call", body);
    ASSERT_TRUE(daemon.signal(SIGKILL));
    ASSERT_TRUE(daemon.wait(Deadline::in(patience)));
    const auto before = page;
    start_daemon({"--port", std::to_string(port)});
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_TRUE(eventually(Deadline::in(patience), [&] {
        const auto viewer = as_json({"status"}).at("viewer");
        return viewer.is_string() && viewer.as_string() == address;
    })) << "on the same port";
    EXPECT_TRUE(is(post("/api/call", body, caught), 401));
    auto old_page = before;
    EXPECT_FALSE(challenge(old_page));
    EXPECT_TRUE(is(post("/api/call", body, signature(old_page, "/api/call", body)), 401));
    auto old_ticket = ticket;
    EXPECT_FALSE(challenge(old_ticket));
    EXPECT_TRUE(is(post("/api/call", body, "Authorization: Bearer " + before.key + "\r\n"), 401));
    page = open_page();
    EXPECT_TRUE(is(call("core.health"), 200));
}

TEST_F(Viewer, no_secret_lies_in_the_home) {
    write("memory/viewer.token", "of an earlier version\n");
    ASSERT_TRUE(daemon.signal(SIGTERM));
    ASSERT_TRUE(daemon.wait(Deadline::in(patience)));
    serve_pages();
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_FALSE(std::filesystem::exists(file("memory/viewer.token")));
    const auto link = memory({"open", "--print"}).out;
    const auto secret = link.substr(link.find('.', link.find("#ticket=")) + 1, 32);
    ASSERT_EQ(secret.size(), 32U);
    for (const auto& entry : std::filesystem::recursive_directory_iterator(home.dir().path()))
        if (entry.is_regular_file()) {
            const auto text = read_file(entry.path().string());
            EXPECT_TRUE(!text || text->find(secret) == std::string::npos) << entry.path();
        }
    EXPECT_EQ(memory({"status"}).out.find(secret), std::string::npos);
}

// Every user of the machine may read command lines. The browser gets a file of ours, and that is gone when it
// was used.
TEST_F(Viewer, a_browser_is_started_without_the_link_on_its_command_line) {
    auto spec = open_with("stat -c %a \"$1\" >\"$OUT.mode\"\ncp \"$1\" \"$OUT.page\"\n"
                          "printf '%s\\n' \"$@\" >\"$OUT.tmp\" && mv \"$OUT.tmp\" \"$OUT\"\n");
    spec.env.push_back("OUT=" + file("seen"));
    spec.out = spec.err = Stdio::pipe;
    auto opening = Child::spawn(spec);
    ASSERT_TRUE(opening);
    const auto link = opening->out().read_line(Deadline::in(patience));
    ASSERT_TRUE(link);
    ASSERT_TRUE(eventually(Deadline::in(patience), [&] { return std::filesystem::exists(file("seen")); }));
    const auto words = read_file(file("seen")).value();
    EXPECT_EQ(words, file("memory/open.html") + "\n");
    EXPECT_EQ(read_file(file("seen.mode")).value(), "600\n");
    const auto leads_to = read_file(file("seen.page")).value();
    EXPECT_NE(leads_to.find("url=" + *link + "\""), std::string::npos) << leads_to;
    EXPECT_TRUE(opening->alive()) << "until the browser has used the link";
    const auto ticket = link->substr(link->find("#ticket=") + 8);
    Page opened{ticket.substr(0, ticket.find('.')), ticket.substr(ticket.find('.') + 1), "", 0};
    EXPECT_TRUE(challenge(opened) && log_in(opened));
    const auto end = opening->wait(Deadline::in(patience));
    EXPECT_TRUE(end && end->exited_with(0));
    EXPECT_FALSE(std::filesystem::exists(file("memory/open.html")));
}

TEST_F(Viewer, without_a_browser_the_link_is_printed) {
    const auto spec = open_with("exit 3\n");
    const auto done = run_to_end(spec, Deadline::in(patience));
    ASSERT_TRUE(done);
    EXPECT_TRUE(done->status.exited_with(0));
    EXPECT_NE(done->out.find("/#ticket="), std::string::npos);
    EXPECT_NE(done->err.find("xdg-open ended with status 3"), std::string::npos) << done->err;
    EXPECT_FALSE(std::filesystem::exists(file("memory/open.html")));
    const auto json = as_json({"open", "--print"});
    EXPECT_FALSE(json.at("browser").as_bool());
    EXPECT_EQ(json.at("validMs").as_int64(), 600'000);
    EXPECT_TRUE(json.at("url").as_string().starts_with("http://m"));
    ASSERT_TRUE(daemon.signal(SIGTERM));
    ASSERT_TRUE(daemon.wait(Deadline::in(patience)));
    const auto refused = memory({"open", "--print"});
    EXPECT_TRUE(refused.status.exited_with(3));
    EXPECT_NE(refused.err.find("holdfast memory daemon"), std::string::npos) << refused.err;
}

TEST_F(Viewer, other_loopback_addresses_of_its_port_are_its_own) {
    sys::Fd other(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in6 at{};
    at.sin6_family = AF_INET6;
    at.sin6_port = htons(port);
    at.sin6_addr = in6addr_loopback;
    if (!other || (::bind(other.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 &&
                   errno == EADDRNOTAVAIL))
        GTEST_SKIP() << "there is no IPv6 here";
    EXPECT_NE(::bind(other.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    ASSERT_EQ(::connect(other.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    send_all(other,
             "GET / HTTP/1.1\r\nHost: localhost:" + std::to_string(port) + "\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(is(receive(other), 200));
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
    // A link that is followed comes from elsewhere; what a page of another site loads by itself does not get
    // in.
    EXPECT_TRUE(is(get("/", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"), 200));
    EXPECT_TRUE(is(get("/viewer.js", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\n"), 403));
    EXPECT_TRUE(is(get("/export/x", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\n"), 403));
    // The pages of an owner that has ended: said to a person, and no page.
    const auto old = ask("GET / HTTP/1.1\r\nHost: m0123.localhost:" + std::to_string(port) +
                         "\r\nConnection: close\r\n\r\n");
    EXPECT_TRUE(is(old, 421));
    EXPECT_NE(old.find("holdfast memory open"), std::string::npos);
    EXPECT_EQ(old.find("<script"), std::string::npos);
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
    const std::string ticket(
        body_of(signed_post("/api/export", "{}")).at("result").at("download").as_string());
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
    const std::string ticket(
        body_of(signed_post("/api/export", "{}")).at("result").at("download").as_string());
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
    rude.clear();
    EXPECT_TRUE(eventually(Deadline::in(patience), [&] { return is(call("core.health"), 200); }));
    EXPECT_TRUE(is(ask(std::string(20000, 'A')), 431));
    EXPECT_TRUE(is(post("/api/call", std::string(10, 'x'), "Content-Length: 5\r\n"), 400));
    EXPECT_TRUE(is(call("core.health"), 200));
}

// Whoever says nothing makes room for whoever has something to say.
TEST_F(Viewer, idle_connections_keep_nobody_out) {
    auto stream = connect();
    send_all(stream, live_request());
    EXPECT_NE(receive(stream, "\"phase\"").find("\"phase\""), std::string::npos);
    std::vector<sys::Fd> idle;
    for (int i = 0; i < 64; ++i)
        idle.push_back(connect());
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(is(call("core.health"), 200)) << "at once, beside 64 idle connections";
    EXPECT_EQ(receive(idle.front()), "") << "the oldest was closed";
    pollfd newest{idle.back().get(), POLLIN, 0};
    EXPECT_EQ(::poll(&newest, 1, 0), 0) << "and the newest was not";
    EXPECT_NE(receive(stream, "\"phase\"").find("\"phase\""), std::string::npos) << "nor a page";
}

// Connections of pages are not given up: a further one is told so, and gets in when there is room again.
TEST_F(Viewer, connections_of_pages_are_kept) {
    std::vector<sys::Fd> pages;
    for (int i = 0; i < 64; ++i) {
        pages.push_back(connect());
        send_all(pages.back(), live_request());
        ASSERT_NE(receive(pages.back(), "\"phase\"").find("\"phase\""), std::string::npos) << i;
    }
    EXPECT_TRUE(is(get("/"), 503));
    EXPECT_NE(receive(pages.front(), "\"phase\"").find("\"phase\""), std::string::npos);
    pages.clear();
    EXPECT_TRUE(eventually(Deadline::in(patience), [&] { return is(get("/"), 200); }));
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
    page = open_page();
    EXPECT_TRUE(is(call("core.health"), 200));
    ASSERT_TRUE(daemon.signal(SIGTERM));
    ASSERT_TRUE(daemon.wait(Deadline::in(patience)));
    start_daemon({"--no-viewer"});
    ASSERT_FALSE(HasFatalFailure());
    EXPECT_TRUE(as_json({"status"}).at("viewer").is_null());
    const auto refused = memory({"open"});
    EXPECT_TRUE(refused.status.exited_with(3));
    EXPECT_NE(refused.err.find("without its pages"), std::string::npos) << refused.err;
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
        EXPECT_EQ(*line,
                  "memory: viewer at http://" + host + "/ (open it with: holdfast memory open) " + expected);
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
    EXPECT_EQ(viewer, "http://127.0.0.1:" + std::to_string(given) + "/");
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
    auto stream = connect();
    send_all(stream, live_request());
    EXPECT_NE(receive(stream, "\"phase\"").find("\"phase\""), std::string::npos);
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
    ASSERT_TRUE(
        eventually(Deadline::in(patience), [&] { return as_json({"status"}).at("viewer").is_string(); }));
    page = open_page();
    auto stream = connect();
    send_all(stream, live_request());
    EXPECT_NE(receive(stream, "\"phase\"").find("\"phase\""), std::string::npos);
    served->close_in();
    EXPECT_FALSE(served->wait_ended(Deadline::exactly(2s))) << "it left although a page is open";
    EXPECT_TRUE(is(call("core.health"), 200));
    stream.reset();
    const auto end = served->wait(Deadline::in(patience));
    ASSERT_TRUE(end) << "it stayed although nobody is there";
    EXPECT_TRUE(end->exited_with(0));
}

} // namespace

} // namespace holdfast::harness
