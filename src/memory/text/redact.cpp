#include "memory/text/redact.hpp"

#include "core/text.hpp"
#include "memory/text/secret_shapes.hpp"
#include "memory/text/secret_values.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace holdfast::memory {

namespace {

bool is_value_char(char c) {
    return is_token_char(c) || c == '+' || c == '/' || c == '=' || c == '.' || c == '~' || c == '!' ||
           c == '$' || c == '%' || c == '^' || c == '*' || c == '@' || c == '#' || c == '&' || c == '?';
}

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
            if (!(at_word_start() && (token() || credentials() || assignment())) && !key_block() &&
                !url_password())
                out_ += text_[at_++];
        }
        return {std::move(out_), count_};
    }

private:
    [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

    // Behind "\n" written as two characters a word begins, too, although n is a letter.
    [[nodiscard]] bool at_word_start() const {
        if (at_ == 0 || !is_token_char(text_[at_ - 1]))
            return true;
        return at_ >= 2 && text_[at_ - 2] == '\\' &&
               std::string_view("nrtbf").find(text_[at_ - 1]) != std::string_view::npos;
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

    bool replace(std::size_t keep, std::size_t length, std::string_view kind) {
        out_ += text_.substr(at_, keep);
        out_ += core::cat("[redacted:", kind, "]");
        at_ += keep + length;
        ++count_;
        return true;
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
        for (const auto& scheme : schemes) {
            if (rest().size() < scheme.word.size() ||
                !equals_ignoring_case(rest().substr(0, scheme.word.size()), scheme.word))
                continue;
            const auto length = run_of(text_, at_ + scheme.word.size(), is_value_char);
            const auto value = rest().substr(scheme.word.size(), length);
            const bool meant =
                in_header() ? length >= 8 && !value.starts_with('$')
                            : scheme.word == "bearer " && length >= 16 &&
                                  std::ranges::any_of(value, [](char c) { return c >= '0' && c <= '9'; });
            if (meant)
                return replace(scheme.word.size(), length, scheme.kind);
        }
        return false;
    }

    // The end of the name that begins here and that something is assigned to: one word, or two with a blank
    // between
    // ("API Key"). Most words are followed by neither = nor :, so that is asked first.
    [[nodiscard]] std::size_t end_of_name() const {
        const auto first = at_ + run_of(text_, at_, is_token_char);
        if (assigned_to(first))
            return is_secret_name(text_.substr(at_, first - at_)) ? first : at_;
        if (first == at_ || first >= text_.size() || text_[first] != ' ')
            return at_;
        const auto second = first + 1 + run_of(text_, first + 1, is_token_char);
        return second > first + 1 && assigned_to(second) && is_secret_name(text_.substr(at_, second - at_)) &&
                       !is_secret_name(text_.substr(first + 1, second - first - 1))
                   ? second
                   : at_;
    }
    [[nodiscard]] bool assigned_to(std::size_t name_end) const {
        const auto at = past_blanks(past_quotes(name_end));
        return at < text_.size() && (text_[at] == '=' || text_[at] == ':');
    }

    // name = value, name: value, "name": "value", --name value is left alone (too often prose).
    bool assignment() {
        const auto name_end = end_of_name();
        if (name_end == at_)
            return false;
        const auto name = text_.substr(at_, name_end - at_);
        const auto opening = past_blanks(past_blanks(past_quotes(name_end)) + 1);
        const auto at = past_quotes(opening);
        if (text_.substr(at).starts_with("[redacted"))
            return false;
        if (const auto length = quoted(opening, at);
            length > 0 && is_secret_under(name, text_.substr(at, length)))
            return replace(at - at_, length, kind_of_value(text_.substr(at, length)));
        const auto length = run_of(text_, at, is_value_char);
        const auto value = text_.substr(at, length);
        // name(…) is a call: what it gives is not here.
        const bool call = at + length < text_.size() && text_[at + length] == '(';
        return !call && looks_secret(value) && replace(at - at_, length, kind_of_value(value));
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
        if (!rest().starts_with("-----BEGIN "))
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
        if (!rest().starts_with("://"))
            return false;
        const auto end = std::min(text_.find_first_of(" \t\r\n\"'<>/?#", at_ + 3), text_.size());
        const auto authority = text_.substr(at_ + 3, end - at_ - 3);
        const auto at_sign = authority.rfind('@');
        const auto colon = authority.find(':');
        if (at_sign == authority.npos || colon == authority.npos || colon + 1 >= at_sign)
            return false;
        return replace(3 + colon + 1, at_sign - colon - 1, "password");
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::string out_;
    std::size_t count_ = 0;
};

} // namespace

Redacted redact(std::string_view text) {
    return Redactor(text).run_all();
}

Redacted redact_member(std::string_view name, std::string_view text) {
    if (!text.starts_with("[redacted") && is_secret_name(name) && is_secret_under(name, text))
        return {core::cat("[redacted:", kind_of_value(text), "]"), 1};
    return redact(text);
}

} // namespace holdfast::memory
