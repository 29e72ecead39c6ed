#include "memory/text/command_secrets.hpp"

#include "memory/text/secret_shapes.hpp"
#include "memory/text/secret_values.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace holdfast::memory {

namespace {

enum class Form {
    value,        // -p PASSWORD, -pPASSWORD, --option PASSWORD, --option=PASSWORD
    attached,     // -pPASSWORD only: a blank behind it means that the program asks
    user_colon,   // -u USER:PASSWORD
    user_percent, // -U USER%PASSWORD
    pass_colon, // -passin pass:PASSWORD; behind another word than pass it is the name of a file or a variable
    login,      // as value, behind the subcommand login
};

struct Option {
    std::string_view command;
    std::string_view option;
    Form form;
};

// By command, with the document that says so.
constexpr std::array options = {
    Option{"7z", "-p", Form::attached}, // 7-Zip, command line help: -p{Password}
    Option{"7za", "-p", Form::attached},
    Option{"az", "-p", Form::login}, // Azure CLI reference: az login
    Option{"az", "--password", Form::login},
    Option{"buildah", "-p", Form::login}, // buildah-login(1)
    Option{"buildah", "--password", Form::login},
    Option{"curl", "-u", Form::user_colon}, // curl(1): -u, --user <user:password>
    Option{"curl", "--user", Form::user_colon},
    Option{"curl", "-U", Form::user_colon}, // curl(1): -U, --proxy-user
    Option{"curl", "--proxy-user", Form::user_colon},
    Option{"curl", "-E", Form::user_colon}, // curl(1): -E, --cert <certificate[:password]>
    Option{"curl", "--cert", Form::user_colon},
    Option{"curl", "--pass", Form::value},
    Option{"curl", "--oauth2-bearer", Form::value},
    Option{"docker", "-p", Form::login}, // Docker CLI reference: docker login
    Option{"docker", "--password", Form::login},
    Option{"helm", "-p", Form::login}, // Helm reference: helm registry login
    Option{"helm", "--password", Form::login},
    Option{"http", "-a", Form::user_colon}, // HTTPie documentation: --auth, -a
    Option{"http", "--auth", Form::user_colon},
    Option{"https", "-a", Form::user_colon},
    Option{"https", "--auth", Form::user_colon},
    Option{"ldapadd", "-w", Form::value}, // ldapsearch(1), ldapmodify(1): -w passwd
    Option{"ldapdelete", "-w", Form::value},
    Option{"ldapmodify", "-w", Form::value},
    Option{"ldapsearch", "-w", Form::value},
    Option{"ldapwhoami", "-w", Form::value},
    Option{"mariadb", "-p", Form::attached}, // mariadb(1): -p[password]
    Option{"mariadb-dump", "-p", Form::attached},
    Option{"mongo", "-p", Form::value}, // mongosh reference: --password, -p
    Option{"mongodump", "-p", Form::value},
    Option{"mongosh", "-p", Form::value},
    Option{"mysql", "-p", Form::attached}, // MySQL Reference Manual, command options: -p[password]
    Option{"mysqladmin", "-p", Form::attached},
    Option{"mysqlcheck", "-p", Form::attached},
    Option{"mysqldump", "-p", Form::attached},
    Option{"mysqlimport", "-p", Form::attached},
    Option{"mysqlpump", "-p", Form::attached},
    Option{"mysqlsh", "-p", Form::attached},
    Option{"nerdctl", "-p", Form::login}, // nerdctl command reference: nerdctl login
    Option{"nerdctl", "--password", Form::login},
    Option{"oc", "-p", Form::login}, // OpenShift CLI reference: oc login
    Option{"oc", "--password", Form::login},
    Option{"openssl", "-pass", Form::pass_colon}, // openssl-passphrase-options(1): pass:password
    Option{"openssl", "-passin", Form::pass_colon},
    Option{"openssl", "-passout", Form::pass_colon},
    Option{"podman", "-p", Form::login}, // podman-login(1)
    Option{"podman", "--password", Form::login},
    Option{"redis-cli", "-a", Form::value}, // Redis documentation, redis-cli: -a <password>
    Option{"skopeo", "-p", Form::login},    // skopeo-login(1)
    Option{"skopeo", "--password", Form::login},
    Option{"smbclient", "-U", Form::user_percent}, // smbclient(1): -U username[%password]
    Option{"sshpass", "-p", Form::value},          // sshpass(1): -ppassword
    Option{"unzip", "-P", Form::value},            // unzip(1): -P password
    Option{"wget", "--password", Form::value}, // GNU Wget manual: --password, --http-password, --ftp-password
    Option{"wget", "--http-password", Form::value},
    Option{"wget", "--ftp-password", Form::value},
    Option{"zip", "-P", Form::value}, // zip(1): -P password
};

constexpr std::size_t longest_quote = 4096; // one that nothing closes is an apostrophe
constexpr std::size_t longest = 256;        // of a password; more is none, and is not searched for its end

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}
bool is_quote(char c) {
    return c == '"' || c == '\'';
}

std::string_view word_at(std::string_view rest) {
    return rest.substr(0, token_run(rest, 0));
}

// Where the value begins that follows an option: behind blanks, or quotes and commas where the words stand in
// a list.
std::size_t past_separators(std::string_view rest, std::size_t at) {
    while (at < rest.size() &&
           (is_blank(rest[at]) || is_quote(rest[at]) || rest[at] == ',' || rest[at] == '\\'))
        ++at;
    return at;
}

// The value that begins at `at`: in quotes as far as they go, else to the end of the word.
std::string_view value_at(std::string_view rest, std::size_t at) {
    const auto line = rest.substr(at, longest + 1);
    const bool in_quotes = at > 0 && is_quote(rest[at - 1]);
    auto end = in_quotes ? line.find(rest[at - 1]) : line.find_first_of(" \t\r\n\"'`;|&)");
    if (end == line.npos)
        end = rest.size() - at > longest || in_quotes ? 0 : line.size();
    auto value = line.substr(0, end);
    if (in_quotes && value.find('\n') != value.npos)
        return {};
    while (in_quotes && value.ends_with('\\'))
        value.remove_suffix(1); // of the quote, in JSON that is written into a string
    return value;
}

// "-port" is a mistake for --port, and no password.
bool is_long_option(std::string_view attached) {
    return attached == "ort" || attached == "assword" || attached == "rotocol";
}

// `quoted`: the option stands in quotes of its own, so the one behind it is their end.
CommandSecret secret_in(std::string_view rest, const Option& option, std::string_view typed, bool quoted) {
    std::size_t at = option.option.size();
    const bool attached =
        typed.size() > at || (at < rest.size() && ((is_quote(rest[at]) && !quoted) || rest[at] == '='));
    // Other short options may stand before it in one word: curl -su user:password.
    if (!typed.starts_with(option.option)) {
        at = typed.size();
    } else if (attached) {
        if (typed.starts_with("--") ? at >= rest.size() || rest[at] != '=' : is_long_option(typed.substr(at)))
            return {};
        at += static_cast<std::size_t>(at < rest.size() && rest[at] == '=');
        at += static_cast<std::size_t>(at < rest.size() && is_quote(rest[at]));
    }
    if (!typed.starts_with(option.option) || !attached) {
        if (option.form == Form::attached)
            return {};
        const auto begin = past_separators(rest, at);
        if (begin == at)
            return {};
        at = begin;
    }
    auto value = value_at(rest, at);
    if (option.form != Form::value && option.form != Form::attached && option.form != Form::login) {
        const auto sign = value.find(option.form == Form::user_percent ? '%' : ':');
        if (sign == value.npos || (option.form == Form::pass_colon && value.substr(0, sign) != "pass"))
            return {};
        at += sign + 1;
        value.remove_prefix(sign + 1);
    } else if (!attached && value.starts_with('-')) {
        return {};
    }
    return is_password_given(value) ? CommandSecret{at, value.size()} : CommandSecret{};
}

bool is_typed(const Option& option, std::string_view typed) {
    if (option.option.starts_with("--") || option.option.size() > 2)
        return typed == option.option;
    return typed.starts_with(option.option) ||
           ((option.command == "curl" || option.command == "sshpass") && typed.size() <= 8 &&
            !typed.starts_with("--") && typed.ends_with(option.option.back()));
}

// Most words are no command: their first two letters tell.
constexpr auto beginnings = [] {
    std::array<bool, std::size_t{1} << 16U> known{};
    for (const auto& one : options)
        known.at(static_cast<unsigned char>(one.command[0]) * 256U +
                 static_cast<unsigned char>(one.command[1])) = true;
    return known;
}();

bool may_be_command(std::string_view rest) {
    return rest.size() > 1 &&
           beginnings.at(static_cast<unsigned char>(rest[0]) * 256U + static_cast<unsigned char>(rest[1]));
}

} // namespace

void CommandLine::note_name(std::string_view rest) {
    if (may_be_command(rest)) {
        const auto word = word_at(rest.substr(0, 16));
        auto behind = rest.substr(word.size());
        if (behind.starts_with(".exe"))
            behind.remove_prefix(4);
        const char next = behind.empty() ? '\n' : behind.front();
        const auto* const known =
            std::ranges::find_if(options, [&](const Option& one) { return one.command == word; });
        if (known != options.end() && (is_blank(next) || is_quote(next) || next == '\\')) {
            name_ = known->command;
            logs_in_ = other_ = value_follows_ = false;
            quote_ = 0;
            return;
        }
    }
    if (name_ == "sshpass" && !std::exchange(value_follows_, false))
        name_ = {}; // the command that it starts, with options of its own
    if (name_.empty())
        return;
    const auto word = word_at(rest.substr(0, 16));
    constexpr std::array others = {"run", "create", "build", "exec", "compose", "service"};
    logs_in_ = logs_in_ || (word == "login" && !other_);
    other_ = other_ || std::ranges::any_of(others, [&](std::string_view one) { return word == one; });
}

// Whether the quote at `at` can be the beginning of a word, and not an apostrophe or the end of a string.
bool CommandLine::opens(std::string_view text, std::size_t at) {
    while (at > 0 && text[at - 1] == '\\')
        --at;
    return at == 0 || std::string_view(" \t\n=,[(:").find(text[at - 1]) != std::string_view::npos;
}

void CommandLine::pass(std::string_view text, std::size_t at) {
    if (name_.empty())
        return;
    const char c = text[at];
    // What stands in quotes ends no command: curl -d 'a|b' -u ada:password.
    if (quote_ != 0) {
        if (c == quote_ || at - quoted_from_ > longest_quote)
            quote_ = 0;
        return;
    }
    if (is_quote(c) && opens(text, at)) {
        quote_ = c;
        quoted_from_ = at;
        return;
    }
    const bool goes_on =
        at > 0 && (text[at - 1] == '\\' || (at > 1 && text[at - 1] == '\r' && text[at - 2] == '\\'));
    if (c == ';' || c == '|' || (c == '&' && at + 1 < text.size() && text[at + 1] == '&') ||
        (c == '\n' && !goes_on) ||
        (c == 'n' && at > 0 && text[at - 1] == '\\' && (at < 2 || text[at - 2] != '\\')))
        name_ = {};
}

CommandSecret CommandLine::word(std::string_view text, std::size_t at) {
    const auto rest = text.substr(at);
    if (rest.front() != '-') {
        note_name(rest);
        return {};
    }
    if (name_.empty() || at == 0 ||
        (!is_blank(text[at - 1]) && !is_quote(text[at - 1]) && text[at - 1] != '\n'))
        return {};
    const auto typed = word_at(rest.substr(0, longest));
    value_follows_ = name_ == "sshpass" && (typed == "-P" || typed == "-f" || typed == "-d");
    for (const auto& option : options)
        if (option.command == name_ && is_typed(option, typed) && (option.form != Form::login || logs_in_))
            if (const auto found = secret_in(rest, option, typed, is_quote(text[at - 1])); found.length > 0)
                return found;
    return {};
}

} // namespace holdfast::memory
