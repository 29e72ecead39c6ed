#include "config_edit/yaml_lines.hpp"

#include "base/text.hpp"

#include <algorithm>

namespace holdfast::config_edit {

namespace {

// Some editors put it in front; it belongs to no line.
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

std::vector<YamlLine> split(std::string_view text) {
    std::vector<YamlLine> lines;
    for (std::size_t at = text.starts_with(byte_order_mark) ? byte_order_mark.size() : 0; at < text.size();) {
        YamlLine line;
        line.begin = at;
        std::size_t newline = text.find('\n', at);
        line.next = newline == text.npos ? text.size() : newline + 1;
        line.end = newline == text.npos ? text.size() : newline;
        if (line.end > line.begin && text[line.end - 1] == '\r')
            --line.end;
        std::size_t first = text.find_first_not_of(' ', at);
        line.indent = std::min(first, line.end) - at;
        line.content = first < line.end && text[first] != '#';
        if (line.content && text.substr(first, line.end - first).find_first_not_of(" \t") == text.npos)
            line.content = false;
        lines.push_back(line);
        at = line.next;
    }
    return lines;
}

enum class Open {
    nothing,
    brackets, // and quotes, which may also stand inside of them
    block,
    plain
};

// Follows the values of a text from line to line.
class Follower {
public:
    explicit Follower(std::string_view text)
        : text_(text) {}

    // True when the line belongs to a value that began above it. `problem` is set when it cannot be told.
    bool take(const YamlLine& line) {
        line_ = line;
        at_ = line.begin + line.indent;
        if (open_ == Open::brackets) {
            if (line.content && line.indent == 0)
                problem_ = "goes on with the value above it at the left margin";
            at_ = line.begin;
            brackets();
            return true;
        }
        const bool deeper = parent_ < 0 || line.indent > static_cast<std::size_t>(parent_);
        if (open_ == Open::block && (deeper || at_ == line.end))
            return true;
        if (!line.content)
            return false;
        if (open_ == Open::plain && deeper) {
            if (find_colon(at_) != text_.npos)
                problem_ = "looks like a key inside of a text";
            return true;
        }
        open_ = Open::nothing;
        node();
        return false;
    }

    [[nodiscard]] std::string_view problem() const noexcept { return problem_; }
    [[nodiscard]] bool is_open() const noexcept { return open_ == Open::brackets; }

private:
    [[nodiscard]] bool at_end() const noexcept { return at_ >= line_.end; }
    [[nodiscard]] char here() const noexcept { return text_[at_]; }
    [[nodiscard]] std::ptrdiff_t column() const noexcept {
        return static_cast<std::ptrdiff_t>(at_ - line_.begin);
    }
    void skip_blanks() {
        while (!at_end() && is_blank(here()))
            ++at_;
    }
    [[nodiscard]] bool ends_at(std::size_t at) const { return at >= line_.end || is_blank(text_[at]); }

    // Of the first ": " of plain text from there on; npos when there is none before a comment.
    [[nodiscard]] std::size_t find_colon(std::size_t from) const {
        for (std::size_t at = from; at < line_.end; ++at) {
            if (text_[at] == ':' && ends_at(at + 1))
                return at;
            if (text_[at] == '#' && at > from && is_blank(text_[at - 1]))
                break;
        }
        return text_.npos;
    }

    // What begins in this line.
    void node() {
        parent_ = column() - 1;
        while (!at_end() && (here() == '-' || here() == '?' || here() == ':') && ends_at(at_ + 1)) {
            parent_ = column();
            ++at_;
            skip_blanks();
        }
        bool key_before = false;
        while (value(key_before)) {
            key_before = true;
            skip_blanks();
        }
    }

    // A value, or a key: true when it was a key, and at_ is behind its colon.
    bool value(bool key_before) {
        while (!at_end() && (here() == '&' || here() == '!')) { // an anchor or a tag
            while (!at_end() && !is_blank(here()))
                ++at_;
            skip_blanks();
        }
        if (at_end() || here() == '#')
            return false;
        const auto began = column();
        if (here() == '"' || here() == '\'' || here() == '[' || here() == '{') {
            open_ = Open::brackets;
            depth_ = 0;
            quote_ = 0;
            return brackets() && is_key(began, key_before);
        }
        if (here() == '|' || here() == '>') {
            open_ = Open::block;
            return false;
        }
        if (const auto colon = find_colon(at_); !key_before && colon != text_.npos) {
            at_ = colon;
            return is_key(began, key_before);
        }
        open_ = Open::plain;
        return false;
    }

    bool is_key(std::ptrdiff_t began, bool key_before) {
        skip_blanks();
        if (!key_before && !at_end() && here() == ':' && ends_at(at_ + 1)) {
            parent_ = began;
            ++at_;
            return true;
        }
        if (!at_end() && here() != '#')
            problem_ = "has something behind a value that has ended";
        return false;
    }

    // From at_ on, until all quotes and brackets are closed or the line ends; true when they are closed.
    bool brackets() {
        for (; !at_end(); ++at_) {
            const char c = here();
            const char before = at_ > line_.begin ? text_[at_ - 1] : ' ';
            const bool begins = std::string_view(" \t:,[{").find(before) != std::string_view::npos;
            if (quote_ == '"' && c == '\\') {
                ++at_;
            } else if (quote_ != 0) {
                if (c == quote_ && c == '\'' && at_ + 1 < line_.end && text_[at_ + 1] == '\'')
                    ++at_; // two of them are one that is meant
                else if (c == quote_)
                    quote_ = 0;
            } else if (c == '#' && is_blank(before)) {
                break;
            } else if ((c == '"' || c == '\'') && (begins || depth_ == 0)) {
                quote_ = c;
            } else if (c == '[' || c == '{') {
                ++depth_;
            } else if (c == ']' || c == '}') {
                --depth_;
            }
            if (quote_ == 0 && depth_ <= 0) {
                ++at_;
                open_ = Open::nothing;
                if (after_lines_)
                    (void)is_key(column(), true);
                after_lines_ = false;
                return true;
            }
        }
        after_lines_ = true;
        return false;
    }

    std::string_view text_;
    YamlLine line_;
    std::size_t at_ = 0;
    Open open_ = Open::nothing;
    std::ptrdiff_t parent_ = 0; // the column of the key or dash that the open value belongs to; -1: none
    int depth_ = 0;
    char quote_ = 0;
    bool after_lines_ = false; // the brackets have been open at the end of a line
    std::string_view problem_;
};

} // namespace

Result<std::vector<YamlLine>> yaml_lines(std::string_view text) {
    auto lines = split(text);
    Follower follower(text);
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool marker = lines[i].indent == 0 && !follower.is_open() &&
                            (text.substr(lines[i].begin, 3) == "---" ||
                             text.substr(lines[i].begin, 3) == "..." || text[lines[i].begin] == '%');
        if (marker)
            continue; // of a document: not a value
        lines[i].inside = follower.take(lines[i]);
        if (!follower.problem().empty())
            return fail(Errc::invalid_argument, base::cat("line ", i + 1, " ", follower.problem()));
    }
    if (follower.is_open())
        return fail(Errc::invalid_argument, "a quote or bracket in it is never closed");
    return lines;
}

} // namespace holdfast::config_edit
