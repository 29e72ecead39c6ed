#include "memory/text/secret_values.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace holdfast::memory {

namespace {

constexpr auto password_names = std::to_array<std::string_view>(
    {"password", "passwd", "passphrase", "pwd", "passwort", "kennwort", "motdepasse", "contraseña",
     "contrasena", "senha", "wachtwoord", "пароль", "Пароль", "密码", "密碼", "パスワード", "비밀번호"});
constexpr auto other_names = std::to_array<std::string_view>(
    {"secret", "apikey", "token", "accesskey", "accountkey", "privatekey", "authkey", "signingkey",
     "clientsecret", "secretkey", "credentials", "encryptionkey", "secretkeybase", "authorization",
     "securitytoken", "sessiontoken",
     "clientkeydata"}); // the last in a kubeconfig (Kubernetes: kubeconfig v1)
// SMTP_PASS, db-pw: behind a joint, since bypass and first pass are other things.
constexpr auto short_names = std::to_array<std::string_view>({"_pass", "-pass", "_pw", "-pw"});
// Where settings are read from: what stands there is the name of a secret's place.
constexpr auto places = std::to_array<std::string_view>(
    {"process", "self",    "this",    "config", "cfg",   "settings", "args",    "os",    "env",     "opts",
     "params",  "options", "request", "req",    "user",  "context",  "ctx",     "app",   "secrets", "vault",
     "vars",    "var",     "local",   "data",   "props", "state",    "environ", "module"});
// What forms, schemas and settings say in place of a password.
constexpr std::array stand_ins = {
    "string",  "text",    "str",      "null",      "none",   "nil",      "required", "optional",
    "true",    "false",   "password", "hidden",    "secret", "redacted", "changeme", "unset",
    "missing", "invalid", "empty",    "incorrect", "wrong",  "prompt",   "input",    "varchar",
    "any",     "object",  "boolean",  "number",    "float",  "double",   "integer",  "bytes"};
// What stands under "pass" where tests, filters or roads are meant.
constexpr auto outcomes =
    std::to_array<std::string_view>({"pass", "passed", "fail", "failed", "failing", "skip", "skipped",
                                     "error", "errors", "warning", "partial", "always", "never", "through"});
// Before "pass": it is not a password then.
constexpr std::array kinds_of_pass = {
    "first", "second", "third",    "last",  "next",     "final",  "single", "one",     "two",
    "each",  "every",  "this",     "per",   "boarding", "season", "day",    "ski",     "bus",
    "train", "rail",   "hall",     "press", "by",       "band",   "high",   "low",     "render",
    "test",  "tests",  "mountain", "free",  "travel",   "city",   "museum", "visitor", "the",
    "a",     "should", "must",     "to",    "will",     "can",    "not",    "all"};

bool is_alpha(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0;
}
bool is_digit(char c) {
    return c >= '0' && c <= '9';
}
bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

std::string folded(std::string_view name) {
    std::string out;
    for (const char c : name)
        if (c != '_' && c != '-' && c != ' ')
            out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

std::string lowered(std::string_view name) {
    std::string out(name);
    std::ranges::transform(out, out.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    return out;
}

template <class Names>
bool ends_with_one_of(std::string_view name, const Names& names) {
    return std::ranges::any_of(names, [&](std::string_view known) { return name.ends_with(known); });
}

// $DB_PASSWORD says where the secret is, not what it is.
bool is_variable(std::string_view value) {
    return value.starts_with('$') && std::ranges::all_of(value.substr(1), [](char c) {
               return std::isupper(static_cast<unsigned char>(c)) != 0 || is_digit(c) || c == '_';
           });
}

bool is_path(std::string_view value) {
    if (value.starts_with("~/") || value.starts_with("./") || value.starts_with("../"))
        return true;
    // A key may begin with a slash as well; a path goes on with the name of a directory.
    const auto end = value.find('/', 1);
    return value.starts_with('/') && end != value.npos && end > 1 &&
           std::ranges::all_of(value.substr(1, end - 1), [](char c) { return c >= 'a' && c <= 'z'; });
}

bool is_mail_address(std::string_view value) {
    const auto at = value.find('@');
    if (at == value.npos || at == 0 || value.find('@', at + 1) != value.npos)
        return false;
    const auto host = value.substr(at + 1);
    const auto dot = host.rfind('.');
    return dot != host.npos && dot > 0 && host.size() - dot > 2 && std::ranges::all_of(host, [](char c) {
               return is_alpha(c) || is_digit(c) || c == '.' || c == '-';
           });
}

// ****, xxxx, ....
bool is_mask(std::string_view value) {
    return std::ranges::all_of(value, [&](char c) { return c == value.front(); }) &&
           (value.empty() || !is_digit(value.front()));
}

// process.env.SECRET_1, config.apiKeyV2
bool is_reference(std::string_view value) {
    const auto dot = value.find('.');
    return dot != value.npos && dot + 1 < value.size() &&
           std::ranges::find(places, value.substr(0, dot)) != places.end() &&
           std::ranges::all_of(value,
                               [](char c) { return is_alpha(c) || is_digit(c) || c == '_' || c == '.'; });
}

bool stands_for_one(std::string_view value) {
    const auto word = folded(value);
    return value.empty() || is_mask(value) || is_variable(value) || is_reference(value) ||
           value.starts_with("${") || value.starts_with("$(") || value.starts_with("{{") ||
           value.starts_with('%') || value.starts_with('[') ||
           (value.starts_with('<') && value.ends_with('>')) || value.ends_with(')') ||
           std::ranges::any_of(stand_ins, [&](std::string_view known) { return word == known; });
}

std::size_t words_in(std::string_view value) {
    std::size_t words = 0;
    bool inside = false;
    for (const char c : value) {
        words += static_cast<std::size_t>(!is_blank(c) && !inside);
        inside = !is_blank(c);
    }
    return words;
}

} // namespace

bool is_secret_name(std::string_view name) {
    return is_password_name(name) || ends_with_one_of(folded(name), other_names) ||
           ends_with_one_of(lowered(name), short_names) || is_pass(name);
}

bool is_pass(std::string_view name) {
    return folded(name) == "pass";
}

bool is_pass_of_prose(std::string_view before) {
    const auto last = before.find_last_not_of(' ');
    if (last == before.npos || last + 1 == before.size())
        return false;
    const auto word = before.substr(0, last + 1);
    std::size_t length = 0;
    while (length < word.size() && length < 16 && is_alpha(word[word.size() - 1 - length]))
        ++length;
    const auto known = lowered(word.substr(word.size() - length));
    return std::ranges::any_of(kinds_of_pass, [&](std::string_view one) { return known == one; });
}

bool is_password_under_pass(std::string_view value) {
    const auto word = folded(value);
    return !std::ranges::all_of(value, [](char c) {
        return is_digit(c) || c == '.' || c == '%' || c == '/';
    }) && std::ranges::none_of(outcomes, [&](std::string_view known) { return word == known; });
}

bool is_password_given(std::string_view value) {
    const bool named = value.starts_with('$') && std::ranges::all_of(value.substr(1), [](char c) {
                           return is_alpha(c) || is_digit(c) || c == '_';
                       });
    return words_in(value) > 0 && !named && !stands_for_one(value);
}

bool is_password_name(std::string_view name) {
    // sshpass(1) reads this variable; in small letters it is the name of the program.
    return name == "SSHPASS" || ends_with_one_of(folded(name), password_names);
}

bool is_password_alone(std::string_view value) {
    constexpr std::size_t shortest = 4;
    const auto word = folded(value);
    // SecretStr and hashed_password are kinds of values, and names of others.
    return value.size() >= shortest && words_in(value) == 1 && !stands_for_one(value) && !is_path(value) &&
           word.find("password") == word.npos && word.find("secret") == word.npos;
}

bool looks_secret(std::string_view value) {
    while (value.ends_with('?') || value.ends_with('.'))
        value.remove_suffix(1); // the end of a sentence
    if (value.size() < 8 || is_variable(value) || is_path(value) || is_mail_address(value) ||
        is_mask(value) || is_reference(value))
        return false;
    bool digit = false;
    bool letter = false;
    bool joined = false;
    bool sign = false;
    for (const char c : value) {
        const bool joins = c == '-' || c == '.' || c == '/' || c == '_';
        digit |= is_digit(c);
        letter |= is_alpha(c);
        joined |= joins;
        sign |= std::isalnum(static_cast<unsigned char>(c)) == 0 && !joins;
    }
    return (digit && letter) || sign || (value.size() >= 24 && !joined);
}

bool is_secret_under(std::string_view name, std::string_view value) {
    constexpr std::size_t most_words = 6; // more is a sentence about a password
    const auto words = words_in(value);
    if (is_password_name(name))
        return words > 0 && words <= most_words && !stands_for_one(value) && !is_path(value);
    if (is_pass(name))
        return words == 1 && is_password_under_pass(value) && is_password_alone(value);
    return words == 1 && is_secret_name(name) && !stands_for_one(value) && looks_secret(value);
}

} // namespace holdfast::memory
