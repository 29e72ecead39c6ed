#include "config_edit/yaml_key.hpp"

#include "base/text.hpp"
#include "config_edit/yaml_lines.hpp"

#include <algorithm>
#include <vector>

namespace holdfast::config_edit {

namespace {

using Line = YamlLine;

// Where the value of `name:` begins in this line (after the colon); npos when the line is not of that key.
std::size_t value_at(std::string_view text, const Line& line, std::string_view name) {
    if (!line.content)
        return text.npos;
    std::size_t at = line.begin + line.indent;
    char quote = text[at] == '"' || text[at] == '\'' ? text[at] : char{0};
    at += quote ? std::size_t{1} : 0;
    if (text.substr(at, name.size()) != name)
        return text.npos;
    at += name.size();
    if (quote) {
        if (at >= line.end || text[at] != quote)
            return text.npos;
        ++at;
    }
    while (at < line.end && text[at] == ' ')
        ++at;
    if (at >= line.end || text[at] != ':' ||
        (at + 1 < line.end && text[at + 1] != ' ' && text[at + 1] != '\t'))
        return text.npos;
    return at + 1;
}

struct Span {
    std::size_t begin = 0;
    std::size_t end = 0;
};

// The value in a line, without the blanks around it and without a comment behind it.
Span trimmed_value(std::string_view text, const Line& line, std::size_t from) {
    Span out{from, line.end};
    while (out.begin < out.end && (text[out.begin] == ' ' || text[out.begin] == '\t'))
        ++out.begin;
    char quote = out.begin < out.end && (text[out.begin] == '"' || text[out.begin] == '\'') ? text[out.begin]
                                                                                            : char{0};
    std::size_t at = out.begin;
    if (quote)
        for (++at; at < out.end && text[at] != quote; ++at)
            at += quote == '"' && text[at] == '\\' ? std::size_t{1} : 0;
    for (; at < out.end; ++at)
        if (text[at] == '#' && (at == from || text[at - 1] == ' ' || text[at - 1] == '\t'))
            break;
    out.end = std::min(at, line.end);
    while (out.end > out.begin && (text[out.end - 1] == ' ' || text[out.end - 1] == '\t'))
        --out.end;
    if (out.end == out.begin)
        out.begin = out.end = from;
    return out;
}

bool is_nothing(std::string_view value) {
    return value.empty() || value == "{}" || value == "~" || value == "null" || value == "Null" ||
           value == "NULL";
}

constexpr std::size_t none = std::string_view::npos;

// What was found of the section and the key.
struct Found {
    std::vector<Line> lines;
    std::size_t section = none; // index of its line
    Span section_value;
    std::size_t after = 0;  // index of the first line behind the section's block
    std::size_t indent = 0; // of its members; 0 when it has none
    std::size_t key = none;
    Span value;
    bool has_others = false;
};

std::unexpected<Error> by_hand(YamlKey where, std::string_view why) {
    return fail(Errc::invalid_argument,
                base::cat(why, "; set ", where.section, ".", where.key, " there by hand"));
}

bool is_item(std::string_view words) {
    return words.starts_with("- ") || words == "-";
}

// Not what stands at the left margin of a block of keys: a list there belongs to the key above it.
bool is_no_key(std::string_view words, bool after_a_key) {
    if (is_item(words))
        return !after_a_key;
    return words.find(':') == words.npos || std::string_view("{[&!*").find(words[0]) != words.npos ||
           words.starts_with("? ");
}

// Nobody can tell by looking what it is called.
bool is_disguised(std::string_view words) {
    return words.starts_with('"') && words.substr(0, words.find('"', 1)).find('\\') != words.npos;
}

Result<void> look_inside(std::string_view text, YamlKey where, Found& found) {
    bool other_above = false;
    for (std::size_t i = found.section + 1; i < found.after; ++i) {
        const Line& line = found.lines[i];
        if (!line.content)
            continue;
        if (line.inside) {
            if (found.key != none && !other_above)
                return by_hand(where, base::cat("the value of \"", where.key, "\" goes on in line ", i + 1));
            continue;
        }
        if (text[line.begin + line.indent] == '\t')
            return by_hand(where, base::cat("line ", i + 1, " is indented with a tab"));
        if (found.indent == 0) {
            found.indent = line.indent;
            if (text.substr(line.begin + line.indent, 2) == "- " || text[line.begin + line.indent] == '{')
                return by_hand(where, base::cat("\"", where.section, "\" in line ", found.section + 1,
                                                " is not a block of keys"));
        }
        if (line.indent < found.indent)
            return by_hand(where, base::cat("line ", i + 1, " is indented less than the lines before it"));
        if (line.indent > found.indent) {
            if (found.key != none && !other_above)
                return by_hand(where, base::cat("the value of \"", where.key, "\" goes on in line ", i + 1));
            continue; // belongs to a member above it
        }
        std::size_t at = value_at(text, line, where.key);
        if (at == text.npos) {
            const auto words = text.substr(line.begin + line.indent, line.end - line.begin - line.indent);
            // A list at this indentation belongs to the key above it, which must not be ours.
            if (is_no_key(words, other_above) || is_disguised(words))
                return by_hand(where, base::cat("line ", i + 1, " is not a key of \"", where.section, "\""));
            found.has_others = other_above = true;
            continue;
        }
        other_above = false;
        if (found.key != none)
            return by_hand(where, base::cat("\"", where.key, "\" is there twice, in lines ", found.key + 1,
                                            " and ", i + 1));
        found.key = i;
        found.value = trimmed_value(text, line, at);
        if (found.value.end > found.value.begin &&
            std::string_view("|>&*!{[").find(text[found.value.begin]) != std::string_view::npos)
            return by_hand(
                where, base::cat("the value of \"", where.key, "\" in line ", i + 1, " is not a plain word"));
    }
    return {};
}

// What lines are for us must be lines for whoever reads it.
Result<void> check_text(std::string_view text, YamlKey where) {
    if (text.find('\0') != text.npos)
        return by_hand(where, "it is not text in UTF-8");
    for (std::size_t at = text.find('\r'); at != text.npos; at = text.find('\r', at + 1))
        if (at + 1 == text.size() || text[at + 1] != '\n')
            return by_hand(where, "some of its lines end with a mere carriage return");
    for (const std::string_view separator : {"\xC2\x85", "\xE2\x80\xA8", "\xE2\x80\xA9"})
        if (text.find(separator) != text.npos)
            return by_hand(where, "some of its lines end with a separator of Unicode");
    return {};
}

Result<Found> look(std::string_view text, YamlKey where) {
    if (auto sound = check_text(text, where); !sound)
        return std::unexpected(sound.error());
    auto lines = yaml_lines(text);
    if (!lines)
        return by_hand(where, lines.error().message);
    Found found;
    found.lines = std::move(*lines);
    bool began = false;
    bool after_a_key = false;
    for (std::size_t i = 0; i < found.lines.size(); ++i) {
        const Line& line = found.lines[i];
        if (!line.content || line.inside)
            continue;
        if (line.indent > 0) {
            if (!after_a_key)
                return by_hand(where, base::cat("line ", i + 1, " is indented, with nothing above it"));
            continue;
        }
        std::string_view words = text.substr(line.begin, line.end - line.begin);
        if (words.starts_with('\t'))
            return by_hand(where, base::cat("line ", i + 1, " is indented with a tab"));
        if (words.starts_with("---") || words.starts_with("...")) {
            if (began || words.starts_with("..."))
                return by_hand(where, base::cat("there is more than one document in it (line ", i + 1, ")"));
            const std::size_t rest = words.find_first_not_of(" \t", 3);
            if (rest != words.npos && words[rest] != '#')
                return by_hand(where, "it is not written as a block of keys");
            began = true;
            continue;
        }
        if (words.starts_with('%'))
            continue;
        if (is_no_key(words, after_a_key) || is_disguised(words))
            return by_hand(where, "it is not written as a block of keys");
        if (value_at(text, line, "<<") != text.npos)
            return by_hand(where, base::cat("line ", i + 1, " takes keys over from elsewhere"));
        began = after_a_key = true;
        if (found.section != none && found.after == 0) {
            if (is_item(words))
                return by_hand(
                    where, base::cat("\"", where.section, "\" in line ", found.section + 1, " is a list"));
            found.after = i;
        }
        std::size_t at = value_at(text, line, where.section);
        if (at == text.npos)
            continue;
        if (found.section != none)
            return by_hand(where, base::cat("\"", where.section, "\" is there twice, in lines ",
                                            found.section + 1, " and ", i + 1));
        found.section = i;
        found.section_value = trimmed_value(text, line, at);
        auto value =
            text.substr(found.section_value.begin, found.section_value.end - found.section_value.begin);
        if (!is_nothing(value))
            return by_hand(where,
                           base::cat("\"", where.section, "\" in line ", i + 1, " is not a block of keys"));
    }
    if (found.section == none)
        return found;
    if (found.after == 0)
        found.after = found.lines.size();
    if (auto inside = look_inside(text, where, found); !inside)
        return std::unexpected(inside.error());
    return found;
}

std::string_view line_end_of(std::string_view text) {
    std::size_t newline = text.find('\n');
    return newline != text.npos && newline > 0 && text[newline - 1] == '\r' ? "\r\n" : "\n";
}

std::string unquoted(std::string_view value) {
    if (value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front())
        value = value.substr(1, value.size() - 2);
    return std::string(value);
}

} // namespace

Result<std::optional<std::string>> yaml_value(std::string_view text, YamlKey where) {
    auto found = look(text, where);
    if (!found)
        return std::unexpected(found.error());
    if (found->key == none)
        return std::nullopt;
    auto value = text.substr(found->value.begin, found->value.end - found->value.begin);
    return is_nothing(value) ? std::nullopt : std::optional(unquoted(value));
}

Result<std::string> yaml_with(std::string_view text, YamlKey where, std::string_view value) {
    auto found = look(text, where);
    if (!found)
        return std::unexpected(found.error());
    std::string out(text);
    std::string_view line_end = line_end_of(text);
    if (found->key != none) {
        auto [begin, end] = found->value;
        if (unquoted(text.substr(begin, end - begin)) == value)
            return out;
        bool blank_before = begin > 0 && (text[begin - 1] == ' ' || text[begin - 1] == '\t');
        out.replace(begin, end - begin, base::cat(blank_before ? "" : " ", value));
        return out;
    }
    if (found->section == none) {
        if (!out.empty() && out.back() != '\n')
            out += line_end;
        return out + base::cat(where.section, ":", line_end, "  ", where.key, ": ", value, line_end);
    }
    const Line& line = found->lines[found->section];
    std::string member =
        base::cat(std::string(found->indent ? found->indent : 2, ' '), where.key, ": ", value, line_end);
    if (line.next == line.end) // the last line, without an end of its own
        member = base::cat(line_end, member.substr(0, member.size() - line_end.size()));
    out.insert(line.next, member);
    auto [begin, end] = found->section_value;
    if (end > begin) { // {} or null: a block takes its place
        while (text[begin - 1] == ' ' || text[begin - 1] == '\t')
            --begin;
        out.erase(begin, end - begin);
    }
    return out;
}

Result<std::string> yaml_without(std::string_view text, YamlKey where) {
    auto found = look(text, where);
    if (!found)
        return std::unexpected(found.error());
    std::string out(text);
    if (found->key == none)
        return out;
    const Line& key = found->lines[found->key];
    out.erase(key.begin, key.next - key.begin);
    if (!found->has_others) {
        const Line& section = found->lines[found->section];
        out.erase(section.begin, section.next - section.begin);
    }
    return out;
}

} // namespace holdfast::config_edit
