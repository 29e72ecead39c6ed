#include "base/names.hpp"

#include "base/printable.hpp"
#include "base/text.hpp"

namespace holdfast::base {

namespace {

bool is_letter_or_digit(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

Result<void> check(std::string_view what, std::string_view name, std::size_t limit, std::string_view extra) {
    if (name.empty())
        return fail(Errc::invalid_argument,
                    cat("the ", what, " is empty; give it at least one letter or digit"));
    if (name.size() > limit)
        return fail(Errc::invalid_argument,
                    cat("the ", what, " has ", name.size(), " characters; at most ", limit, " are allowed"));
    for (char c : name)
        if (!is_letter_or_digit(c) && extra.find(c) == std::string_view::npos)
            return fail(Errc::invalid_argument,
                        cat("the ", what, " \"", printable(name),
                            "\" has a character that is not allowed; use letters, digits and ", extra));
    return {};
}

} // namespace

Result<void> check_slot_name(std::string_view name) {
    if (auto ok = check("slot name", name, max_slot_name, "._-"); !ok)
        return ok;
    // A dot would hide its files, a dash would make it an option of every command that is given it.
    if (name.front() == '.' || name.front() == '-')
        return fail(Errc::invalid_argument,
                    cat("the slot name \"", name, "\" starts with a ", name.front() == '.' ? "dot" : "dash",
                        "; start with a letter or digit"));
    return {};
}

Result<void> check_profile_name(std::string_view name) {
    return check("profile", name, max_profile_name, "-_");
}

} // namespace holdfast::base
