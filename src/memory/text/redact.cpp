#include "memory/text/redact.hpp"

#include "base/text.hpp"
#include "memory/text/command_secrets.hpp"
#include "memory/text/hidden_letters.hpp"
#include "memory/text/secret_shapes.hpp"
#include "memory/text/secret_values.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

namespace holdfast::memory {

using base::cat;

namespace {

bool is_value_char(char c) {
    return is_token_char(c) || c == '+' || c == '/' || c == '=' || c == '.' || c == '~' || c == '!' ||
           c == '$' || c == '%' || c == '^' || c == '*' || c == '@' || c == '#' || c == '&' || c == '?';
}

bool is_dotted_char(char c) {
    return is_token_char(c) || c == '.';
}
bool is_encoded_char(char c) {
    return is_token_char(c) || c == '%' || c == '.' || c == '+' || c == '/' || c == '=';
}

// What a value is told by stands at its beginning.
std::string_view judged(std::string_view value) {
    constexpr std::size_t enough = 512;
    return value.substr(0, enough);
}

constexpr char wide_lead = '\xEF'; // of full-width signs

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
    return text.size() == lower.size() && std::ranges::equal(text, lower, [](char a, char b) {
               return std::tolower(static_cast<unsigned char>(a)) == b;
           });
}

// The kind by which a value that was assigned to a secret's name is shown: its own, if it has one.
std::string_view kind_of_value(std::string_view value) {
    const auto known = known_token(value);
    return known.length > 0 ? known.kind : "secret";
}

class Redactor {
public:
    explicit Redactor(std::string_view text)
        : text_(text) {}

    Redacted run_all() {
        while (at_ < text_.size()) {
            cookies_ = cookies_ && text_[at_] != '\n';
            command_.pass(text_, at_);
            if (!(at_word_start() && (option() || token() || credentials() || assignment() || flag() ||
                                      element() || unnamed())) &&
                !key_block() && !url_password() && !assignment_to_foreign_name())
                copy();
        }
        return {std::move(out_), count_};
    }
    // What was replaced by run_all(), in order.
    [[nodiscard]] const std::vector<Cut>& cuts() const { return cuts_; }

private:
    [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

    // Everything that is looked for at the start of a word begins with such a character. Behind "\n" written
    // as two characters a word begins, too, although n is a letter.
    [[nodiscard]] bool at_word_start() const {
        return is_token_char(text_[at_]) &&
               (at_ == 0 || !is_token_char(text_[at_ - 1]) || is_escape(at_ - 1));
    }
    [[nodiscard]] bool is_escape(std::size_t at) const {
        return at > 0 && text_[at - 1] == '\\' &&
               std::string_view("nrtbf").find(text_[at]) != std::string_view::npos;
    }

    // Copies the character at `at_`, and with it the rest of its word, in which nothing begins but a key
    // block.
    void copy() {
        auto end = at_ + 1;
        if (is_token_char(text_[at_]) && !is_escape(at_))
            while (end < text_.size() && is_token_char(text_[end]) && text_[end] != '-')
                ++end;
        out_.append(text_, at_, end - at_);
        at_ = end;
    }

    // Behind quotes, with however many backslashes JSON in JSON has put before them.
    [[nodiscard]] std::size_t past_quotes(std::size_t at) const {
        while (at < text_.size() && (text_[at] == '"' || text_[at] == '\'' || text_[at] == '\\'))
            ++at;
        return at;
    }
    [[nodiscard]] std::size_t past_blanks(std::size_t at) const {
        while (at < text_.size() && (text_[at] == ' ' || text_[at] == '\t'))
            ++at;
        return at;
    }

    // The end of the run of such characters that begins at `at`. Many words of one run may ask, so it is
    // walked through once: the time would grow with the square of the text otherwise.
    struct Run {
        bool (*accept)(char);
        std::size_t begin = 0;
        std::size_t end = 0;
    };
    [[nodiscard]] std::size_t end_of(Run& run, std::size_t at) const {
        if (at < run.begin || at >= run.end) {
            run.begin = at;
            run.end = at + run_of(text_, at, run.accept);
        }
        return run.end;
    }

    bool replace(std::size_t keep, std::size_t length, std::string_view kind) {
        out_ += text_.substr(at_, keep);
        out_ += cat("[redacted:", kind, "]");
        cuts_.push_back({at_ + keep, at_ + keep + length, cat("[redacted:", kind, "]")});
        at_ += keep + length;
        ++count_;
        return true;
    }

    bool option() {
        const auto found = command_.word(text_, at_);
        return found.length > 0 && replace(found.keep, found.length, "password");
    }

    bool token() {
        const auto found = known_token(rest());
        return found.length > 0 && replace(0, found.length, found.kind);
    }

    // Whether what stands here is the value of an Authorization header.
    [[nodiscard]] bool in_header() const {
        auto before = text_.substr(0, at_);
        const auto last = before.find_last_not_of(" \t\"'\\:=");
        before = before.substr(0, last == before.npos ? 0 : last + 1);
        constexpr std::string_view name = "authorization";
        return before.size() >= name.size() &&
               equals_ignoring_case(before.substr(before.size() - name.size()), name);
    }

    // A scheme and what it takes. Outside of a header only "bearer" counts, which is a word of prose as well.
    bool credentials() {
        struct Scheme {
            std::string_view word;
            std::string_view kind;
        };
        constexpr std::array schemes = {Scheme{"bearer ", "bearer-token"}, Scheme{"basic ", "password"},
                                        Scheme{"token ", "bearer-token"}};
        if (std::string_view("bBtT").find(text_[at_]) == std::string_view::npos)
            return false; // most words: none of the schemes
        for (const auto& scheme : schemes) {
            if (rest().size() < scheme.word.size() ||
                !equals_ignoring_case(rest().substr(0, scheme.word.size()), scheme.word))
                continue;
            const auto begin = at_ + scheme.word.size();
            const auto length = end_of(values_, begin) - begin;
            const auto value = rest().substr(scheme.word.size(), length);
            const bool meant =
                in_header()
                    ? length >= 8 && !value.starts_with('$')
                    : scheme.word == "bearer " && length >= 16 &&
                          std::ranges::any_of(judged(value), [](char c) { return c >= '0' && c <= '9'; });
            if (meant)
                return replace(scheme.word.size(), length, scheme.kind);
        }
        return false;
    }

    // The end of the name that begins here and that something is assigned to: one word, or up to three with a
    // blank between ("API Key", "mot de passe"). Most words are followed by neither = nor :, so that is asked
    // first.
    [[nodiscard]] std::size_t end_of_name() const {
        auto end = at_ + token_run(text_, at_);
        if (end == at_)
            return at_;
        for (int words = 1;; ++words) {
            if (assigned_to(end))
                return is_secret_name(text_.substr(at_, end - at_)) && !begins_later(end) ? end : at_;
            if (words == 3 || end >= text_.size() || text_[end] != ' ')
                return at_;
            const auto next = token_run(text_, end + 1);
            if (next == 0)
                return at_;
            end += 1 + next;
        }
    }
    // Whether the name is one without its first word: then it is found there.
    [[nodiscard]] bool begins_later(std::size_t end) const {
        const auto name = text_.substr(at_, end - at_);
        const auto blank = name.find(' ');
        return blank != name.npos && is_secret_name(name.substr(blank + 1));
    }
    // The length of = or :, also of the full-width ones; 0 when there is none.
    [[nodiscard]] std::size_t sign_length(std::size_t at) const {
        if (at >= text_.size())
            return 0;
        if (text_[at] == '=' || text_[at] == ':')
            return 1;
        if (text_[at] != wide_lead)
            return 0;
        const auto wide = text_.substr(at, 3);
        return wide == "：" || wide == "＝" ? 3 : 0;
    }

    // Whether a name that begins here can be assigned to: = or : comes, with at most three words before it.
    // Most words of a text are far from the next sign, so it is looked for once.
    bool near_sign() {
        if (!sign_known_ || sign_ < at_) {
            sign_known_ = true;
            sign_ = at_;
            while (sign_ < text_.size() && sign_length(sign_) == 0)
                ++sign_;
            names_from_ = sign_;
            if (sign_ < text_.size())
                names_from_ = words_before(sign_);
        }
        return at_ >= names_from_;
    }
    // Where the words begin that may be the name before the sign, as end_of_name() reads them.
    [[nodiscard]] std::size_t words_before(std::size_t sign) const {
        auto at = sign;
        while (at > 0 && std::string_view(" \t\"'\\").find(text_[at - 1]) != std::string_view::npos)
            --at;
        for (int words = 0;; --at) {
            while (at > 0 && is_token_char(text_[at - 1]))
                --at;
            if (++words == 3 || at < 2 || text_[at - 1] != ' ' || !is_token_char(text_[at - 2]))
                return at;
        }
    }
    [[nodiscard]] std::size_t sign_behind(std::size_t name_end) const {
        return past_blanks(past_quotes(name_end));
    }
    [[nodiscard]] bool assigned_to(std::size_t name_end) const {
        return sign_length(sign_behind(name_end)) > 0;
    }

    // name = value, name: value, "name": "value"; "name value" alone is left alone (too often prose).
    bool assignment() {
        const auto name_end = near_sign() ? end_of_name() : at_;
        if (name_end == at_)
            return false;
        if (is_pass(text_.substr(at_, name_end - at_)) && is_pass_of_prose(text_.substr(0, at_)))
            return false;
        return value_under(text_.substr(at_, name_end - at_), name_end);
    }

    // A name in letters that are no plain ones (contraseña: …) is seen from the sign behind it.
    bool assignment_to_foreign_name() {
        if (sign_length(at_) == 0)
            return false;
        constexpr std::size_t near = 40;
        auto before = text_.substr(at_ > near ? at_ - near : 0, std::min(at_, near));
        const auto last = before.find_last_not_of(" \t\"'\\");
        if (last == before.npos)
            return false;
        const auto begin = before.find_last_of(" \t\n", last);
        before = before.substr(begin == before.npos ? 0 : begin + 1,
                               last - (begin == before.npos ? 0 : begin + 1) + 1);
        return std::ranges::any_of(before, [](char c) { return static_cast<unsigned char>(c) >= 0x80; }) &&
               is_password_name(before) && value_under(before, at_);
    }

    // Where a value that YAML puts on the next line begins: behind | or >, and for a key also without them.
    [[nodiscard]] std::size_t past_block_sign(std::string_view name, std::size_t at) const {
        auto end = at;
        if (end < text_.size() && (text_[end] == '|' || text_[end] == '>'))
            end = past_blanks(end + 1 + run_of(text_, end + 1, [](char c) {
                                  return c == '+' || c == '-' || (c >= '1' && c <= '9');
                              }));
        else if (!name.ends_with("-key-data"))
            return at;
        if (end >= text_.size() || text_[end] != '\n')
            return at;
        const auto value = past_blanks(end + 1);
        return value > end + 1 ? value : at; // what is not indented is the next key
    }

    bool value_under(std::string_view name, std::size_t name_end) {
        const auto sign = sign_behind(name_end);
        const auto opening = past_block_sign(name, past_blanks(sign + sign_length(sign)));
        const auto at = past_quotes(opening);
        if (text_.substr(at).starts_with("[redacted"))
            return false;
        if (const auto length = quoted(opening, at);
            length > 0 && is_secret_under(name, text_.substr(at, length)))
            return replace(at - at_, length, kind_of_value(text_.substr(at, length)));
        const auto length = end_of(values_, at) - at;
        const auto value = judged(text_.substr(at, length));
        // name(…) is a call: what it gives is not here. Behind Authorization, a word that others follow is a
        // scheme.
        const char next = at + length < text_.size() ? text_[at + length] : '\n';
        const bool call = next == '(' || (next == ' ' && name.ends_with("uthorization"));
        if (number_in_json(name, name_end, at, length)) {
            // In quotes like those of its name: JSON stays JSON.
            const auto quotes = text_.substr(name_end, past_quotes(name_end) - name_end);
            out_ += cat(text_.substr(at_, at - at_), quotes, "[redacted:secret]", quotes);
            cuts_.push_back({at, at + length, cat(quotes, "[redacted:secret]", quotes)});
            at_ = at + length;
            ++count_;
            return true;
        }
        return !call && (looks_secret(value) || stands_alone(name, name_end, opening, at, length)) &&
               replace(at - at_, length, kind_of_value(value));
    }

    [[nodiscard]] bool number_in_json(std::string_view name, std::size_t name_end, std::size_t at,
                                      std::size_t length) const {
        return length >= 4 && past_quotes(name_end) > name_end && is_password_name(name) &&
               std::ranges::all_of(judged(text_.substr(at, length)),
                                   [](char c) { return c >= '0' && c <= '9'; }) &&
               text_[at - 1] != '"' && text_[at - 1] != '\'';
    }

    // A word under the name of a password that nothing else in its place could be: password=letmein, a line
    // of YAML. In code what is assigned is followed by a sign, or a call.
    [[nodiscard]] bool stands_alone(std::string_view name, std::size_t name_end, std::size_t opening,
                                    std::size_t at, std::size_t length) const {
        if (at != opening || !(is_password_name(name) || is_pass(name)) ||
            !is_password_alone(judged(text_.substr(at, length))))
            return false;
        if (is_pass(name) && !is_password_under_pass(text_.substr(at, length)))
            return false;
        const char next = at + length < text_.size() ? text_[at + length] : '\n';
        if (at == name_end + sign_length(name_end) && text_[name_end] != ':')
            return next == '\n' || next == '\r' || next == ' ' || next == '\t' || next == ';' || next == '&';
        const auto before = text_.substr(0, at_).find_last_not_of(" \t-");
        const bool begins_line = before == text_.npos || text_[before] == '\n';
        return begins_line && sign_length(past_blanks(name_end)) > 0 && (next == '\n' || next == '\r');
    }

    // --password VALUE, and the login line of a .netrc.
    bool flag() {
        if (text_[at_] != '-' && text_[at_] != 'p')
            return false;
        const auto length = token_run(text_, at_);
        const auto name = text_.substr(at_, length);
        const auto at = past_blanks(at_ + length);
        if (at == at_ + length || sign_length(at) > 0 || !(name.starts_with("--") || name == "password") ||
            !is_secret_name(name) || (name == "password" && !behind_login()))
            return false;
        const auto value = text_.substr(at, end_of(values_, at) - at);
        return looks_secret(judged(value)) && !value.starts_with('-') &&
               replace(at - at_, value.size(), kind_of_value(value));
    }
    [[nodiscard]] bool behind_login() const {
        constexpr std::size_t near = 120;
        const auto before = text_.substr(at_ > near ? at_ - near : 0, std::min(at_, near));
        return before.find("login ") != before.npos && before.find("machine ") != before.npos;
    }

    // <password>value</password>
    bool element() {
        if (at_ == 0 || text_[at_ - 1] != '<')
            return false;
        const auto end = at_ + token_run(text_, at_);
        if (end >= text_.size() || text_[end] != '>' || !is_secret_name(text_.substr(at_, end - at_)))
            return false;
        const auto close = text_.find_first_of("<\n", end);
        if (close == text_.npos || text_[close] != '<')
            return false;
        const auto value = text_.substr(end + 1, close - end - 1);
        return is_secret_under(text_.substr(at_, end - at_), value) &&
               replace(end + 1 - at_, value.size(), kind_of_value(value));
    }

    // What opens a door without a telling name: ?key=… and &sig=… in an address, and cookies in their header.
    bool unnamed() {
        if (!near_sign())
            return false;
        const auto name_end = end_of(dotted_names_, at_);
        if (name_end == at_ || name_end >= text_.size())
            return false;
        const auto name = text_.substr(at_, name_end - at_);
        constexpr std::string_view header = "cookie";
        if (text_[name_end] == ':' && name.size() >= header.size() &&
            equals_ignoring_case(name.substr(name.size() - header.size()), header))
            cookies_ = true;
        if (text_[name_end] != '=')
            return false;
        constexpr std::size_t shortest = 16;
        const auto length = end_of(encoded_, name_end + 1) - (name_end + 1);
        const auto value = judged(text_.substr(name_end + 1, length));
        if (length < shortest || !made_by_machine(value))
            return false;
        const bool asked = at_ > 0 && (text_[at_ - 1] == '?' || text_[at_ - 1] == '&') &&
                           (name == "key" || name == "sig" || name == "signature" || name == "auth");
        return (asked || cookies_) && replace(name_end + 1 - at_, length, kind_of_value(value));
    }
    // How long the value from `at` is that the quotes between `opening` and `at` begin; 0 when nothing ends
    // it in this line.
    [[nodiscard]] std::size_t quoted(std::size_t opening, std::size_t at) const {
        if (at == opening || (text_[at - 1] != '"' && text_[at - 1] != '\''))
            return 0;
        auto end = text_.find_first_of(std::string{text_[at - 1], '\n'}, at);
        if (end == text_.npos || text_[end] == '\n')
            return 0;
        while (end > at && text_[end - 1] == '\\')
            --end; // of the quote, in JSON that is written into a string
        return end - at;
    }

    bool key_block() {
        if (text_[at_] != '-' || !rest().starts_with("-----BEGIN "))
            return false;
        const auto header_end = text_.find("-----", at_ + 11);
        if (header_end == text_.npos || text_.substr(at_, header_end - at_).find("PRIVATE KEY") == text_.npos)
            return false;
        const auto end = text_.find("-----END ", header_end);
        const auto close = end == text_.npos ? text_.npos : text_.find("-----", end + 9);
        // A block that was cut off is secret to the end of the text, or of the string in it: no key has
        // quotes.
        const auto quote = std::min(text_.find('"', header_end), text_.size());
        const auto stop = close == text_.npos ? quote : std::min(close + 5, quote);
        return replace(0, stop - at_, "private-key");
    }

    // scheme://user:password@host
    bool url_password() {
        if (text_[at_] != ':' || !rest().starts_with("://"))
            return false;
        constexpr std::size_t longest = 2048;
        const auto address = text_.substr(at_ + 3, longest);
        const auto part = [&](const char* until) { return address.substr(0, address.find_first_of(until)); };
        auto authority = part(" \t\r\n\"'<>/?#");
        const auto colon = authority.find(':');
        // A password may hold a slash although it should not: what follows the colon is then no port.
        if (colon != authority.npos && authority.find('@') == authority.npos &&
            !std::ranges::all_of(authority.substr(colon + 1), [](char c) { return c >= '0' && c <= '9'; }))
            authority = part(" \t\r\n\"'<>");
        const auto at_sign = authority.rfind('@');
        if (at_sign == authority.npos || colon == authority.npos || colon + 1 >= at_sign)
            return false;
        return replace(3 + colon + 1, at_sign - colon - 1, "password");
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string out_;
    std::size_t count_ = 0;
    bool sign_known_ = false;
    std::size_t sign_ = 0;       // the next = or : at or behind at_
    std::size_t names_from_ = 0; // where names before it may begin
    Run values_{is_value_char};
    Run dotted_names_{is_dotted_char};
    Run encoded_{is_encoded_char};
    CommandLine command_;
    std::vector<Cut> cuts_;
    bool cookies_ = false; // this line is a Cookie or Set-Cookie header
};

} // namespace

Redacted redact(std::string_view text) {
    auto found = Redactor(text).run_all();
    if (!has_hidden_letters(found.text))
        return found;
    const auto shown = without_hidden_letters(found.text);
    Redactor again(shown);
    if (const auto more = again.run_all().count; more > 0)
        return {cut_out(found.text, again.cuts()), found.count + more};
    return found;
}

Redacted redact_member(std::string_view name, std::string_view text) {
    if (!text.starts_with("[redacted") && is_secret_name(name) && is_secret_under(name, text))
        return {cat("[redacted:", kind_of_value(text), "]"), 1};
    return redact(text);
}

} // namespace holdfast::memory
