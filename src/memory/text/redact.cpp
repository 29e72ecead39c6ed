#include "memory/text/redact.hpp"

#include "core/text.hpp"

#include <algorithm>
#include <array>
#include <cctype>

namespace holdfast::memory {

namespace {

bool is_token_char(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-';
}
bool is_value_char(char c) {
    return is_token_char(c) || c == '+' || c == '/' || c == '=' || c == '.' || c == '~' || c == '!' ||
           c == '$' || c == '%' || c == '^' || c == '*' || c == '@' || c == '#' || c == '&' || c == '?';
}

std::size_t run(std::string_view text, std::size_t at, bool (*accept)(char)) {
    std::size_t end = at;
    while (end < text.size() && accept(text[end]))
        ++end;
    return end - at;
}

// Tokens that say what they are by how they begin.
struct Shape {
    std::string_view prefix;
    std::size_t least; // characters behind the prefix
    std::string_view kind;
};
constexpr std::array shapes = {
    Shape{"sk-ant-", 20, "api-key"},     Shape{"sk-proj-", 20, "api-key"},
    Shape{"sk-", 20, "api-key"},         Shape{"sk_live_", 16, "api-key"},
    Shape{"sk_test_", 16, "api-key"},    Shape{"rk_live_", 16, "api-key"},
    Shape{"ghp_", 30, "github-token"},   Shape{"gho_", 30, "github-token"},
    Shape{"ghu_", 30, "github-token"},   Shape{"ghs_", 30, "github-token"},
    Shape{"ghr_", 30, "github-token"},   Shape{"github_pat_", 40, "github-token"},
    Shape{"glpat-", 18, "gitlab-token"}, Shape{"xoxb-", 20, "slack-token"},
    Shape{"xoxp-", 20, "slack-token"},   Shape{"xoxa-", 20, "slack-token"},
    Shape{"xoxs-", 20, "slack-token"},   Shape{"xapp-", 20, "slack-token"},
    Shape{"AKIA", 16, "aws-key"},        Shape{"ASIA", 16, "aws-key"},
    Shape{"AIza", 35, "google-key"},     Shape{"ya29.", 20, "google-token"},
    Shape{"npm_", 36, "npm-token"},      Shape{"pypi-", 50, "pypi-token"},
    Shape{"hf_", 30, "api-key"},         Shape{"gsk_", 30, "api-key"},
    Shape{"dop_v1_", 40, "api-key"},     Shape{"shpat_", 30, "api-key"},
    Shape{"tvly-", 20, "api-key"},
};

constexpr std::array secret_names = {"password",    "passwd",   "passphrase",    "secret",     "api_key",
                                     "apikey",      "api-key",  "token",         "access_key", "access-key",
                                     "private_key", "auth_key", "client_secret", "secret_key", "credentials"};

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
    return text.size() == lower.size() && std::ranges::equal(text, lower, [](char a, char b) {
               return std::tolower(static_cast<unsigned char>(a)) == b;
           });
}

bool is_secret_name(std::string_view name) {
    return std::ranges::any_of(secret_names, [&](std::string_view known) {
        return name.size() >= known.size() &&
               equals_ignoring_case(name.substr(name.size() - known.size()), known);
    });
}

// $DB_PASSWORD says where the secret is, not what it is.
bool is_variable(std::string_view value) {
    return value.starts_with('$') && std::ranges::all_of(value.substr(1), [](char c) {
               return std::isupper(static_cast<unsigned char>(c)) != 0 ||
                      std::isdigit(static_cast<unsigned char>(c)) != 0 || c == '_';
           });
}

// A value that somebody chose or a machine made, not a word of prose and no name of a variable: long enough,
// and more than letters and what joins them.
bool looks_secret(std::string_view value) {
    while (value.ends_with('?') || value.ends_with('.'))
        value.remove_suffix(1); // the end of a sentence
    if (value.size() < 8 || is_variable(value))
        return false;
    bool digit = false;
    bool letter = false;
    bool joined = false;
    bool sign = false;
    for (const char c : value) {
        const bool joins = c == '-' || c == '.' || c == '/' || c == '_';
        digit |= std::isdigit(static_cast<unsigned char>(c)) != 0;
        letter |= std::isalpha(static_cast<unsigned char>(c)) != 0;
        joined |= joins;
        sign |= std::isalnum(static_cast<unsigned char>(c)) == 0 && !joins;
    }
    return (digit && letter) || sign || (value.size() >= 24 && !joined);
}

// The kind by which a value that was assigned to a secret's name is shown: its own shape, if it has one.
std::string_view kind_of_value(std::string_view value) {
    for (const auto& known : shapes)
        if (value.starts_with(known.prefix) && value.size() >= known.prefix.size() + known.least)
            return known.kind;
    return "secret";
}

class Redactor {
public:
    explicit Redactor(std::string_view text)
        : text_(text) {}

    Redacted run_all() {
        while (at_ < text_.size()) {
            if (!(at_word_start() && (shape() || mail_key() || web_token() || bearer() || assignment())) &&
                !key_block() && !url_password())
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

    bool shape() {
        for (const auto& known : shapes)
            if (rest().starts_with(known.prefix)) {
                const auto length = run(text_, at_ + known.prefix.size(), is_token_char);
                if (length >= known.least)
                    return replace(0, known.prefix.size() + length, known.kind);
            }
        return false;
    }

    // SendGrid: SG, and two parts with dots before them.
    bool mail_key() {
        if (!rest().starts_with("SG."))
            return false;
        const auto first = run(text_, at_ + 3, is_token_char);
        const auto dot = at_ + 3 + first;
        if (first < 16 || dot >= text_.size() || text_[dot] != '.')
            return false;
        const auto second = run(text_, dot + 1, is_token_char);
        return second >= 32 && replace(0, 3 + first + 1 + second, "api-key");
    }

    // Three parts of base64url with dots between; the first is JSON, so it begins with eyJ.
    bool web_token() {
        if (!rest().starts_with("eyJ"))
            return false;
        std::size_t length = 0;
        for (int part = 0; part < 3; ++part) {
            const auto part_length = run(text_, at_ + length, is_token_char);
            if (part_length < 8)
                return false;
            length += part_length;
            if (part < 2) {
                if (at_ + length >= text_.size() || text_[at_ + length] != '.')
                    return false;
                ++length;
            }
        }
        return replace(0, length, "web-token");
    }

    bool bearer() {
        constexpr std::string_view word = "bearer ";
        if (rest().size() < word.size() || !equals_ignoring_case(rest().substr(0, word.size()), word))
            return false;
        const auto length = run(text_, at_ + word.size(), is_value_char);
        return length >= 16 && replace(word.size(), length, "bearer-token");
    }

    // name = value, name: value, "name": "value", --name value is left alone (too often prose).
    bool assignment() {
        const auto name_length = run(text_, at_, is_token_char);
        if (!is_secret_name(text_.substr(at_, name_length)))
            return false;
        std::size_t at = past_blanks(past_quotes(at_ + name_length));
        if (at >= text_.size() || (text_[at] != '=' && text_[at] != ':'))
            return false;
        at = past_quotes(past_blanks(at + 1));
        const auto length = run(text_, at, is_value_char);
        const auto value = text_.substr(at, length);
        // name(…) is a call: what it gives is not here.
        const bool call = at + length < text_.size() && text_[at + length] == '(';
        if (call || !looks_secret(value) || text_.substr(at).starts_with("[redacted"))
            return false;
        return replace(at - at_, length, kind_of_value(value));
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
    // One word under such a name is the secret, whatever signs it is made of; several are prose about it.
    const bool one_word = text.find_first_of(" \t\r\n") == text.npos && !text.starts_with("[redacted");
    if (one_word && is_secret_name(name) && !text.ends_with(')') && looks_secret(text))
        return {core::cat("[redacted:", kind_of_value(text), "]"), 1};
    return redact(text);
}

} // namespace holdfast::memory
