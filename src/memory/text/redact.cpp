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
    Shape{"dop_v1_", 40, "api-key"},     Shape{"SG.", 40, "api-key"},
    Shape{"shpat_", 30, "api-key"},      Shape{"tvly-", 20, "api-key"},
};

constexpr std::array secret_names = {"password",    "passwd",   "passphrase",    "secret",     "api_key",
                                     "apikey",      "api-key",  "token",         "access_key", "access-key",
                                     "private_key", "auth_key", "client_secret", "secret_key", "credentials"};

bool equals_ignoring_case(std::string_view text, std::string_view lower) {
    return text.size() == lower.size() && std::ranges::equal(text, lower, [](char a, char b) {
               return std::tolower(static_cast<unsigned char>(a)) == b;
           });
}

// A value that somebody chose or a machine made, not a word of prose: long enough, and more than letters.
bool looks_secret(std::string_view value) {
    if (value.size() < 8)
        return false;
    bool digit = false;
    bool letter = false;
    bool sign = false;
    for (const char c : value) {
        digit |= std::isdigit(static_cast<unsigned char>(c)) != 0;
        letter |= std::isalpha(static_cast<unsigned char>(c)) != 0;
        sign |= std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-' && c != '.' && c != '/';
    }
    return (digit && letter) || sign || value.size() >= 24;
}

class Redactor {
public:
    explicit Redactor(std::string_view text)
        : text_(text) {}

    Redacted run_all() {
        while (at_ < text_.size()) {
            const bool word_start = at_ == 0 || !is_token_char(text_[at_ - 1]);
            if (!(word_start && (shape() || web_token() || bearer() || assignment())) && !key_block() &&
                !url_password())
                out_ += text_[at_++];
        }
        return {std::move(out_), count_};
    }

private:
    [[nodiscard]] std::string_view rest() const { return text_.substr(at_); }

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
        const auto name = text_.substr(at_, name_length);
        const bool secret = std::ranges::any_of(secret_names, [&](std::string_view known) {
            return name.size() >= known.size() &&
                   equals_ignoring_case(name.substr(name.size() - known.size()), known);
        });
        if (!secret)
            return false;
        std::size_t at = at_ + name_length;
        if (at < text_.size() && (text_[at] == '"' || text_[at] == '\''))
            ++at;
        while (at < text_.size() && text_[at] == ' ')
            ++at;
        if (at >= text_.size() || (text_[at] != '=' && text_[at] != ':'))
            return false;
        ++at;
        while (at < text_.size() && (text_[at] == ' ' || text_[at] == '"' || text_[at] == '\''))
            ++at;
        const auto length = run(text_, at, is_value_char);
        if (!looks_secret(text_.substr(at, length)) || text_.substr(at).starts_with("[redacted"))
            return false;
        // A value that has a shape of its own is named by it.
        for (const auto& known : shapes)
            if (text_.substr(at).starts_with(known.prefix) && length >= known.prefix.size() + known.least)
                return replace(at - at_, length, known.kind);
        return replace(at - at_, length, "secret");
    }

    bool key_block() {
        if (!rest().starts_with("-----BEGIN "))
            return false;
        const auto header_end = text_.find("-----", at_ + 11);
        if (header_end == text_.npos || text_.substr(at_, header_end - at_).find("PRIVATE KEY") == text_.npos)
            return false;
        const auto end = text_.find("-----END ", header_end);
        const auto close = end == text_.npos ? text_.npos : text_.find("-----", end + 9);
        // A block that was cut off is secret to its end.
        const auto stop = close == text_.npos ? text_.size() : close + 5;
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

} // namespace holdfast::memory
