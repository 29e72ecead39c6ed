#include "core/page_sessions.hpp"

#include "base/sha256.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace holdfast::core {

namespace {

// Far more than one user's pages need. What is pushed out costs its page another proof, or its user a new
// link.
constexpr std::size_t most_tickets = 16;
constexpr std::size_t most_sessions = 256;
constexpr std::size_t most_exchanges = 512;
constexpr std::uint64_t window = 64; // requests overtake each other on their connections, but not by more

bool is_word(std::string_view text, std::size_t least, std::size_t most) {
    return text.size() >= least && text.size() <= most && std::ranges::all_of(text, [](char c) {
               return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
           });
}

} // namespace

// The words of an Authorization header.
struct PageSessions::Signed {
    std::string_view id;
    std::string_view nonce;
    std::string_view sequence;
    std::string_view mac;
    std::uint64_t number = 0;

    static std::optional<Signed> read(std::string_view header) {
        std::array<std::string_view, 5> words;
        for (std::size_t i = 0; i < words.size(); ++i) {
            const auto end = header.find(' ');
            if ((end == header.npos) != (i + 1 == words.size()))
                return std::nullopt;
            words[i] = header.substr(0, end);
            header.remove_prefix(end == header.npos ? header.size() : end + 1);
        }
        Signed out{words[1], words[2], words[3], words[4]};
        const auto* const past = out.sequence.data() + out.sequence.size();
        const auto number = std::from_chars(out.sequence.data(), past, out.number);
        if (words[0] != "Holdfast" || number.ec != std::errc{} || number.ptr != past || out.number == 0)
            return std::nullopt;
        return out;
    }
};

std::string PageSessions::mac(std::string_view key, std::string_view purpose, std::string_view port,
                              std::string_view id, std::string_view first, std::string_view second,
                              std::string_view path, std::string_view body) {
    // Every part but the last is free of line ends, so no two lists of parts make the same text.
    return base::hex(base::hmac_sha256(key, {"holdfast page 1\n", purpose, "\n", port, "\n", id, "\n", first,
                                             "\n", second, "\n", path, "\n", body}));
}

PageSessions::Ticket PageSessions::new_ticket(std::int64_t now_ms, std::int64_t valid_ms) {
    std::erase_if(tickets_, [&](const Secret& ticket) { return ticket.until_ms <= now_ms; });
    if (tickets_.size() >= most_tickets)
        tickets_.pop_front();
    const auto& made = tickets_.emplace_back(Secret{new_word_(), new_word_(), now_ms + valid_ms});
    return {made.id, made.key};
}

PageSessions::TicketState PageSessions::ticket_state(std::string_view id, std::int64_t now_ms) const {
    return find_ticket(id, now_ms) != nullptr                            ? TicketState::open
           : std::ranges::find(used_tickets_, id) != used_tickets_.end() ? TicketState::used
                                                                         : TicketState::gone;
}

const PageSessions::Secret* PageSessions::find_ticket(std::string_view id, std::int64_t now_ms) const {
    const auto found = std::ranges::find(tickets_, id, &Secret::id);
    return found != tickets_.end() && found->until_ms > now_ms ? &*found : nullptr;
}

std::optional<PageSessions::Proof> PageSessions::prove(std::string_view id, std::string_view page_nonce,
                                                       std::int64_t now_ms) {
    const auto* secret = find_ticket(id, now_ms);
    if (const auto session = std::ranges::find(sessions_, id, &Secret::id); session != sessions_.end())
        secret = &*session;
    if (secret == nullptr || !is_word(page_nonce, 16, 64))
        return std::nullopt;
    if (exchanges_.size() >= most_exchanges)
        exchanges_.pop_front();
    const auto& made = exchanges_.emplace_back(Exchange{secret->id, std::string(page_nonce), new_word_()});
    return Proof{made.nonce, mac(secret->key, "server", port_, id, page_nonce, made.nonce)};
}

// The exchange that the request belongs to, when its signature holds and it is the first of its number.
PageSessions::Exchange* PageSessions::verify(const PageRequest& request, const Secret& secret,
                                             const Signed& words) {
    const auto found = std::ranges::find_if(
        exchanges_, [&](const Exchange& one) { return one.nonce == words.nonce && one.id == secret.id; });
    if (found == exchanges_.end() ||
        !base::same_secret(words.mac, mac(secret.key, "request", port_, secret.id, words.nonce,
                                          words.sequence, request.path, request.body)))
        return nullptr;
    auto& exchange = *found;
    if (words.number > exchange.highest) {
        const auto step = words.number - exchange.highest;
        exchange.came = step < window ? exchange.came << step : 0;
        exchange.came |= 1;
        exchange.highest = words.number;
    } else {
        const auto back = exchange.highest - words.number;
        if (back >= window || (exchange.came >> back & 1U) != 0)
            return nullptr;
        exchange.came |= std::uint64_t{1} << back;
    }
    exchanges_.splice(exchanges_.end(), exchanges_, found);
    return &exchange;
}

std::optional<PageSessions::LogIn> PageSessions::log_in(const PageRequest& request, std::int64_t now_ms) {
    const auto words = Signed::read(request.authorization);
    const auto* ticket = words ? find_ticket(words->id, now_ms) : nullptr;
    const auto* exchange = ticket != nullptr ? verify(request, *ticket, *words) : nullptr;
    if (exchange == nullptr)
        return std::nullopt;
    if (sessions_.size() >= most_sessions)
        sessions_.pop_front();
    auto key = mac(ticket->key, "session", port_, ticket->id, exchange->page_nonce, exchange->nonce);
    auto proof = proof_of_answer(*ticket, *words);
    const auto used = ticket->id;
    std::erase_if(exchanges_, [&](const Exchange& one) { return one.id == used; });
    std::erase_if(tickets_, [&](const Secret& one) { return one.id == used; });
    used_tickets_.push_back(used);
    if (used_tickets_.size() > most_tickets)
        used_tickets_.pop_front();
    return LogIn{sessions_.emplace_back(Secret{new_word_(), std::move(key)}).id, std::move(proof)};
}

std::optional<std::string> PageSessions::accept(const PageRequest& request) {
    const auto words = Signed::read(request.authorization);
    const auto session = words ? std::ranges::find(sessions_, words->id, &Secret::id) : sessions_.end();
    if (session == sessions_.end() || verify(request, *session, *words) == nullptr)
        return std::nullopt;
    sessions_.splice(sessions_.end(), sessions_, session);
    return proof_of_answer(*session, *words);
}

std::string PageSessions::proof_of_answer(const Secret& secret, const Signed& words) const {
    return mac(secret.key, "answer", port_, secret.id, words.nonce, words.sequence);
}

} // namespace holdfast::core
