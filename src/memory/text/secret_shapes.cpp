#include "memory/text/secret_shapes.hpp"

#include <algorithm>
#include <array>

namespace holdfast::memory {

namespace {

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_upper(char c) {
    return c >= 'A' && c <= 'Z';
}
bool is_lower(char c) {
    return c >= 'a' && c <= 'z';
}
bool is_plain_char(char c) {
    return is_digit(c) || is_upper(c) || is_lower(c);
}
bool is_upper_char(char c) {
    return is_digit(c) || is_upper(c);
}
bool is_path_char(char c) {
    return is_token_char(c) || c == '/';
}

// What a token is made of behind its prefix. Prose and names of files and variables begin like one, too:
// where the alphabet of a token has no _ and -, theirs end it early; where it has, a token shows that a
// machine made it.
enum class Made { of_plain, of_upper_exactly, of_token, by_machine };

struct Shape {
    std::string_view prefix;
    std::size_t least; // characters behind the prefix
    Made made;
    std::string_view kind;
};
constexpr std::array shapes = {
    Shape{"sk-ant-", 20, Made::of_token, "api-key"},
    Shape{"sk-proj-", 20, Made::of_token, "api-key"},
    Shape{"sk-", 20, Made::by_machine, "api-key"},
    Shape{"sk_live_", 16, Made::of_plain, "api-key"},
    Shape{"sk_test_", 16, Made::of_plain, "api-key"},
    Shape{"rk_live_", 16, Made::of_plain, "api-key"},
    Shape{"rk_test_", 16, Made::of_plain, "api-key"},
    Shape{"ghp_", 30, Made::of_plain, "github-token"},
    Shape{"gho_", 30, Made::of_plain, "github-token"},
    Shape{"ghu_", 30, Made::of_plain, "github-token"},
    Shape{"ghs_", 30, Made::of_plain, "github-token"},
    Shape{"ghr_", 30, Made::of_plain, "github-token"},
    Shape{"github_pat_", 40, Made::by_machine, "github-token"},
    Shape{"glpat-", 18, Made::by_machine, "gitlab-token"},
    Shape{"xoxb-", 20, Made::by_machine, "slack-token"},
    Shape{"xoxp-", 20, Made::by_machine, "slack-token"},
    Shape{"xoxa-", 20, Made::by_machine, "slack-token"},
    Shape{"xoxr-", 20, Made::by_machine, "slack-token"},
    Shape{"xoxs-", 20, Made::by_machine, "slack-token"},
    Shape{"xapp-", 20, Made::by_machine, "slack-token"},
    Shape{"AKIA", 16, Made::of_upper_exactly, "aws-key"},
    Shape{"ASIA", 16, Made::of_upper_exactly, "aws-key"},
    Shape{"AIza", 35, Made::of_token, "google-key"},
    Shape{"GOCSPX-", 20, Made::by_machine, "google-key"},
    Shape{"ya29.", 20, Made::by_machine, "google-token"},
    Shape{"npm_", 36, Made::of_plain, "npm-token"},
    Shape{"pypi-", 50, Made::by_machine, "pypi-token"},
    Shape{"hf_", 30, Made::of_plain, "api-key"},
    Shape{"gsk_", 30, Made::of_plain, "api-key"},
    Shape{"dop_v1_", 40, Made::of_plain, "api-key"},
    Shape{"shpat_", 30, Made::of_plain, "api-key"},
    Shape{"tvly-", 20, Made::by_machine, "api-key"},
    Shape{"xai-", 30, Made::by_machine, "api-key"},
    Shape{"nvapi-", 30, Made::by_machine, "api-key"},
    Shape{"r8_", 30, Made::of_plain, "api-key"},
    Shape{"pplx-", 30, Made::of_plain, "api-key"},
    Shape{"lin_api_", 30, Made::of_plain, "api-key"},
    Shape{"dckr_pat_", 20, Made::by_machine, "api-key"},
    Shape{"ATATT3", 40, Made::by_machine, "api-key"},
    Shape{"whsec_", 24, Made::by_machine, "api-key"},
    Shape{"key-", 32, Made::of_plain, "api-key"},
    Shape{"hvs.", 20, Made::by_machine, "vault-token"},
    Shape{"AGE-SECRET-KEY-1", 50, Made::of_upper_exactly, "private-key"},
};

std::size_t length_behind(std::string_view rest, const Shape& shape) {
    switch (shape.made) {
    case Made::of_plain: {
        const auto length = run_of(rest, 0, is_plain_char);
        return length < rest.size() && is_token_char(rest[length]) ? 0 : length;
    }
    case Made::of_upper_exactly: {
        const auto length = run_of(rest, 0, is_upper_char);
        const bool ends = length >= rest.size() || !is_token_char(rest[length]);
        return ends && (length == shape.least || shape.least > 16) ? length : 0;
    }
    case Made::of_token:
        return token_run(rest, 0);
    case Made::by_machine: {
        const auto length = token_run(rest, 0);
        return made_by_machine(rest.substr(0, length)) ? length : 0;
    }
    }
    return 0;
}

// SendGrid: SG, and two parts with dots before them.
FoundSecret mail_key(std::string_view text) {
    if (!text.starts_with("SG."))
        return {};
    const auto first = token_run(text, 3);
    const auto dot = 3 + first;
    if (first < 16 || dot >= text.size() || text[dot] != '.')
        return {};
    const auto second = token_run(text, dot + 1);
    return second >= 32 ? FoundSecret{dot + 1 + second, "api-key"} : FoundSecret{};
}

// Three parts of base64url with dots between; the first is JSON, so it begins with eyJ.
FoundSecret web_token(std::string_view text) {
    if (!text.starts_with("eyJ"))
        return {};
    std::size_t length = 0;
    for (int part = 0; part < 3; ++part) {
        const auto part_length = token_run(text, length);
        if (part_length < 8)
            return {};
        length += part_length;
        if (part < 2) {
            if (length >= text.size() || text[length] != '.')
                return {};
            ++length;
        }
    }
    return {length, "web-token"};
}

// Telegram: the bot's number, a colon, 35 characters.
FoundSecret bot_token(std::string_view text) {
    const auto digits = run_of(text, 0, is_digit);
    if (digits < 8 || digits > 10 || digits >= text.size() || text[digits] != ':')
        return {};
    const auto length = token_run(text, digits + 1);
    return length == 35 ? FoundSecret{digits + 1 + length, "bot-token"} : FoundSecret{};
}

// Discord: the bot's number in base64, the time, and what signs both.
FoundSecret signed_bot_token(std::string_view text) {
    if (text.empty() || (text[0] != 'M' && text[0] != 'N' && text[0] != 'O'))
        return {};
    const auto number = token_run(text, 0);
    const auto time = token_run(text, number + 1);
    const auto behind = number + 1 + time;
    if (number < 23 || number > 28 || number >= text.size() || text[number] != '.' || time != 6 ||
        behind >= text.size() || text[behind] != '.')
        return {};
    const auto sign = token_run(text, behind + 1);
    return sign >= 27 && sign <= 40 && made_by_machine(text.substr(0, behind + 1 + sign))
               ? FoundSecret{behind + 1 + sign, "bot-token"}
               : FoundSecret{};
}

// Whoever has the address may write there.
FoundSecret web_hook(std::string_view text) {
    for (const std::string_view place : {"hooks.slack.com/services/", "discord.com/api/webhooks/"})
        if (text.starts_with(place)) {
            const auto length = run_of(text, place.size(), is_path_char);
            if (length >= 30)
                return {place.size() + length, "web-hook"};
        }
    return {};
}

} // namespace

bool made_by_machine(std::string_view token) {
    return std::ranges::count_if(token, is_digit) >= 3 ||
           (std::ranges::any_of(token, is_digit) && std::ranges::any_of(token, is_upper) &&
            std::ranges::any_of(token, is_lower));
}

namespace {

// Most words of a text begin like no token: their first two letters tell.
constexpr auto beginnings = [] {
    std::array<bool, std::size_t{1} << 16U> known{};
    const auto add = [&known](char first, char second) {
        known.at(static_cast<unsigned char>(first) * 256U + static_cast<unsigned char>(second)) = true;
    };
    for (const auto& shape : shapes)
        add(shape.prefix[0], shape.prefix[1]);
    for (const std::string_view other : {"SG", "ey", "ho", "di"}) // of those that are no shapes
        add(other[0], other[1]);
    for (char first = '0'; first <= '9'; ++first)
        for (char second = '0'; second <= '9'; ++second)
            add(first, second);
    for (int second = 0; second < 128; ++second)
        for (const char first : std::string_view("MNO"))
            if (is_token_char(static_cast<char>(second)))
                add(first, static_cast<char>(second));
    return known;
}();

} // namespace

FoundSecret known_token(std::string_view text) {
    if (text.size() < 2 ||
        !beginnings.at(static_cast<unsigned char>(text[0]) * 256U + static_cast<unsigned char>(text[1])))
        return {};
    for (const auto& shape : shapes)
        if (text.starts_with(shape.prefix)) {
            const auto length = length_behind(text.substr(shape.prefix.size()), shape);
            if (length >= shape.least)
                return {shape.prefix.size() + length, shape.kind};
        }
    for (auto* const look : {mail_key, web_token, bot_token, signed_bot_token, web_hook})
        if (const auto found = look(text); found.length > 0)
            return found;
    return {};
}

} // namespace holdfast::memory
