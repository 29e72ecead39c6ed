// Pages and their server, and whoever comes between them.
#include "base/text.hpp"
#include "core/page_sessions.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace holdfast::core {
using namespace base;

namespace {

constexpr std::int64_t minute = 60'000;
const std::string page_nonce(32, 'p');

std::string next_word() {
    static int number = 0;
    return cat("word", ++number);
}

// The page's side, as the JavaScript has it.
struct Page {
    std::string port;
    std::string id;
    std::string key;
    std::string nonce; // the server's, once it has proven itself
    int sequence = 0;

    // False: the server does not know the secret, or listens on another port.
    bool challenge(PageSessions& server, std::int64_t now_ms = 0) {
        const auto proof = server.prove(id, page_nonce, now_ms);
        if (!proof || proof->mac != PageSessions::mac(key, "server", port, id, page_nonce, proof->nonce))
            return false;
        nonce = proof->nonce;
        sequence = 0;
        return true;
    }
    std::string sign(std::string_view path, std::string_view body) {
        return sign(path, body, std::to_string(++sequence));
    }
    [[nodiscard]] std::string sign(std::string_view path, std::string_view body,
                                   const std::string& number) const {
        return cat("Holdfast ", id, ' ', nonce, ' ', number, ' ',
                   PageSessions::mac(key, "request", port, id, nonce, number, path, body));
    }
    bool log_in(PageSessions& server, std::int64_t now_ms = 0) {
        const auto session = server.log_in({sign("/login", "{}"), "/login", "{}"}, now_ms);
        if (!session || session->proof != answer_proof())
            return false;
        key = PageSessions::mac(key, "session", port, id, page_nonce, nonce);
        id = session->session;
        return true;
    }
    bool call(PageSessions& server, std::string_view body = "{}") {
        const auto proof = server.accept({sign("/call", body), "/call", body});
        return proof && *proof == answer_proof();
    }
    // What the answer to the last request has to come with.
    [[nodiscard]] std::string answer_proof() const {
        return PageSessions::mac(key, "answer", port, id, nonce, std::to_string(sequence));
    }
};

Page with(const PageSessions::Ticket& ticket, std::string port = "8377") {
    return {std::move(port), ticket.id, ticket.secret, "", 0};
}

Page opened(PageSessions& server) {
    auto page = with(server.new_ticket(0, minute));
    EXPECT_TRUE(page.challenge(server) && page.log_in(server) && page.challenge(server));
    return page;
}

TEST(PageSessions, ATicketOpensAPage) {
    PageSessions server(8377, next_word);
    const auto ticket = server.new_ticket(0, minute);
    EXPECT_EQ(server.ticket_state(ticket.id, 0), PageSessions::TicketState::open);
    auto page = with(ticket);
    ASSERT_TRUE(page.challenge(server));
    ASSERT_TRUE(page.log_in(server));
    EXPECT_EQ(server.ticket_state(ticket.id, 0), PageSessions::TicketState::used);
    ASSERT_TRUE(page.challenge(server));
    EXPECT_TRUE(page.call(server));
    EXPECT_TRUE(page.call(server, "other words"));
    EXPECT_TRUE(page.challenge(server)) << "a page that is loaded again";
    EXPECT_TRUE(page.call(server));
}

TEST(PageSessions, ATicketIsGoodOnce) {
    PageSessions server(8377, next_word);
    auto first = with(server.new_ticket(0, minute));
    auto second = first;
    ASSERT_TRUE(first.challenge(server));
    ASSERT_TRUE(second.challenge(server)) << "a challenge alone uses nothing up";
    ASSERT_TRUE(first.log_in(server));
    EXPECT_FALSE(second.log_in(server));
    EXPECT_FALSE(second.challenge(server));
}

TEST(PageSessions, ATicketGetsTooOld) {
    PageSessions server(8377, next_word);
    const auto ticket = server.new_ticket(1000, minute);
    auto page = with(ticket);
    EXPECT_TRUE(page.challenge(server, 1000 + minute - 1));
    EXPECT_FALSE(page.log_in(server, 1000 + minute));
    EXPECT_FALSE(page.challenge(server, 1000 + minute));
    EXPECT_EQ(server.ticket_state(ticket.id, 1000 + minute), PageSessions::TicketState::gone);
}

TEST(PageSessions, ATicketIsNoSession) {
    PageSessions server(8377, next_word);
    auto page = with(server.new_ticket(0, minute));
    ASSERT_TRUE(page.challenge(server));
    EXPECT_FALSE(page.call(server));
    auto open = opened(server);
    EXPECT_FALSE(server.log_in({open.sign("/login", "{}"), "/login", "{}"}, 0)) << "nor the other way round";
}

TEST(PageSessions, TheNextServerKnowsNothingOfIt) {
    PageSessions dead(8377, next_word);
    auto page = opened(dead);
    const auto caught = page.sign("/call", "{}");
    PageSessions next(8377, next_word);
    EXPECT_FALSE(page.challenge(next));
    EXPECT_FALSE(next.accept({caught, "/call", "{}"}));
    EXPECT_FALSE(page.call(next));
}

// Somebody on another port who hands everything on to the server.
TEST(PageSessions, ARelayProvesNothing) {
    PageSessions server(8400, next_word);
    const auto ticket = server.new_ticket(0, minute);
    auto page = with(ticket, "8377"); // the port in the page's address
    EXPECT_FALSE(page.challenge(server));
    // Should a page sign all the same, the server does not take it.
    const auto proof = server.prove(ticket.id, page_nonce, 0);
    ASSERT_TRUE(proof);
    page.nonce = proof->nonce;
    EXPECT_FALSE(page.log_in(server));
    auto honest = with(ticket, "8400");
    EXPECT_TRUE(honest.challenge(server) && honest.log_in(server)) << "and the ticket is not used up";
}

TEST(PageSessions, AProofIsNoSignature) {
    PageSessions server(8377, next_word);
    const auto ticket = server.new_ticket(0, minute);
    const auto proof = server.prove(ticket.id, page_nonce, 0);
    ASSERT_TRUE(proof);
    const auto header = cat("Holdfast ", ticket.id, ' ', proof->nonce, " 1 ", proof->mac);
    EXPECT_FALSE(server.log_in({header, "/login", "{}"}, 0));
    EXPECT_FALSE(server.log_in({header, "", ""}, 0));
}

TEST(PageSessions, ARequestIsTakenOnceInAnyOrder) {
    PageSessions server(8377, next_word);
    auto page = opened(server);
    std::vector<std::string> sent;
    for (int i = 0; i < 200; ++i)
        sent.push_back(page.sign("/call", "{}"));
    const auto arrives = [&](std::size_t number) {
        return server.accept({sent[number], "/call", "{}"}).has_value();
    };
    for (const std::size_t number : {3U, 0U, 2U, 1U, 66U, 5U, 65U, 4U, 199U, 150U})
        EXPECT_TRUE(arrives(number)) << number;
    for (const std::size_t number : {3U, 0U, 66U, 65U, 199U, 150U})
        EXPECT_FALSE(arrives(number)) << number;
    EXPECT_FALSE(arrives(100)) << "too late to know whether it had come";
    EXPECT_TRUE(arrives(198));
}

TEST(PageSessions, ASignatureCoversThePathAndTheBody) {
    PageSessions server(8377, next_word);
    auto page = opened(server);
    const auto header = page.sign("/call", "words");
    EXPECT_FALSE(server.accept({header, "/call", "other words"}));
    EXPECT_FALSE(server.accept({header, "/live", "words"}));
    EXPECT_FALSE(server.accept({header + "0", "/call", "words"}));
    EXPECT_TRUE(server.accept({header, "/call", "words"})) << "those did not use it up";
}

TEST(PageSessions, WhatIsNoSignatureIsRefused) {
    PageSessions server(8377, next_word);
    auto page = opened(server);
    const auto good = page.sign("/call", "{}");
    for (const auto& header :
         {std::string(), std::string("Holdfast"), std::string("Bearer x"), " " + good, good + " ",
          "Holdfast  " + good.substr(9), good.substr(1), page.sign("/call", "{}", "0"),
          page.sign("/call", "{}", "-1"), page.sign("/call", "{}", "01x"),
          page.sign("/call", "{}", "99999999999999999999")})
        EXPECT_FALSE(server.accept({header, "/call", "{}"})) << header;
    EXPECT_TRUE(server.accept({good, "/call", "{}"}));
}

TEST(PageSessions, AChallengeNeedsAKnownNameAndANonce) {
    PageSessions server(8377, next_word);
    const auto ticket = server.new_ticket(0, minute);
    EXPECT_FALSE(server.prove("", page_nonce, 0));
    EXPECT_FALSE(server.prove("word", page_nonce, 0));
    EXPECT_FALSE(server.prove(ticket.id, "", 0));
    EXPECT_FALSE(server.prove(ticket.id, std::string(15, 'p'), 0));
    EXPECT_FALSE(server.prove(ticket.id, std::string(65, 'p'), 0));
    EXPECT_FALSE(server.prove(ticket.id, page_nonce + "\n", 0));
    EXPECT_TRUE(server.prove(ticket.id, page_nonce, 0));
}

TEST(PageSessions, WhatItKeepsIsBounded) {
    PageSessions server(8377, next_word);
    auto page = opened(server);
    const auto first = server.new_ticket(0, minute);
    for (int i = 0; i < 16; ++i)
        (void)server.new_ticket(0, minute);
    EXPECT_EQ(server.ticket_state(first.id, 0), PageSessions::TicketState::gone);
    // A page that is in use stays, whatever others do; one that was pushed out asks for another proof.
    auto other = opened(server);
    for (int i = 0; i < 400; ++i)
        EXPECT_TRUE(page.call(server) && other.challenge(server));
    auto idle = page;
    ASSERT_TRUE(idle.challenge(server));
    for (int i = 0; i < 600; ++i)
        ASSERT_TRUE(other.challenge(server));
    EXPECT_FALSE(idle.call(server));
    EXPECT_TRUE(idle.challenge(server) && idle.call(server));
}

} // namespace

} // namespace holdfast::core
