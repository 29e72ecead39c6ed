// Which pages may talk to a server on the loopback address, and how each side proves to the other that it
// knows the secret that both share. The protocol and the attackers it was made for: docs/page-security.md.
//
// Any user of the machine may take a port that its server has left. So a page sends nothing that is worth
// anything before the server has proven itself, and what it sends then is signed and worth nothing elsewhere:
// each secret belongs to one server (this object), and each proof and signature covers the server's port.
// Secrets never leave this process, but for a ticket's, which whoever may open a page puts behind the '#' of
// its address.
//
// No clock, no randomness, no locking of its own: the caller has them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <optional>
#include <string>
#include <string_view>

namespace holdfast::core {

// A request as its signature covers it. `authorization`: the header's value, "Holdfast ID NONCE SEQUENCE
// MAC".
struct PageRequest {
    std::string_view authorization;
    std::string_view path;
    std::string_view body;
};

class PageSessions {
public:
    using NewWord = std::string (*)(); // unguessable; letters and digits only

    // `port`: the one that the server listens on.
    PageSessions(std::uint16_t port, NewWord new_word)
        : port_(std::to_string(port))
        , new_word_(new_word) {}

    // Opens one page, once. At most 16 wait to be used; a further one takes the place of the oldest.
    struct Ticket {
        std::string id;
        std::string secret;
    };
    Ticket new_ticket(std::int64_t now_ms, std::int64_t valid_ms);
    enum class TicketState : std::uint8_t { open, used, gone }; // gone: too old, replaced, or never known
    [[nodiscard]] TicketState ticket_state(std::string_view id, std::int64_t now_ms) const;

    // The answer to a page's challenge: shows that this server knows the secret of `id`, a ticket or a
    // session, and allows requests that are signed for its nonce. Nothing when `id` is unknown or too old, or
    // when `page_nonce` is no word of 16 to 64 letters and digits.
    struct Proof {
        std::string nonce;
        std::string mac;
    };
    std::optional<Proof> prove(std::string_view id, std::string_view page_nonce, std::int64_t now_ms);

    // A request that is signed with a ticket uses the ticket up, and opens a session; both sides derive its
    // key. `proof` goes with the answer, in a header: by it the page knows that the answer is this server's.
    struct LogIn {
        std::string session;
        std::string proof;
    };
    std::optional<LogIn> log_in(const PageRequest& request, std::int64_t now_ms);
    // The proof for the answer, when the request is signed with the key of a session and has not come before.
    std::optional<std::string> accept(const PageRequest& request);

    // What both sides compute; a page has the same in JavaScript. `purpose` keeps a value that was made for
    // one step from being of use in another.
    static std::string mac(std::string_view key, std::string_view purpose, std::string_view port,
                           std::string_view id, std::string_view first, std::string_view second,
                           std::string_view path = {}, std::string_view body = {});

private:
    struct Secret {
        std::string id;
        std::string key;
        std::int64_t until_ms = 0; // tickets only
    };
    // From a proof on: the requests that may be signed for its nonce.
    struct Exchange {
        std::string id;
        std::string page_nonce;
        std::string nonce;
        std::uint64_t highest = 0; // sequence number that came
        std::uint64_t came = 0;    // bit n: highest - n came
    };
    struct Signed;

    [[nodiscard]] const Secret* find_ticket(std::string_view id, std::int64_t now_ms) const;
    Exchange* verify(const PageRequest& request, const Secret& secret, const Signed& words);
    [[nodiscard]] std::string proof_of_answer(const Secret& secret, const Signed& words) const;

    std::string port_;
    NewWord new_word_;
    std::deque<Secret> tickets_;
    std::deque<std::string> used_tickets_;
    std::list<Secret> sessions_;    // the one that was used last is last
    std::list<Exchange> exchanges_; // likewise
};

} // namespace holdfast::core
