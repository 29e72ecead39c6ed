#include "ending/spare.hpp"

#include "base/text.hpp"

namespace holdfast::ending {

void SpareList::Free::operator()(regex_t* expression) const {
    ::regfree(expression);
    delete expression;
}

Result<SpareList> SpareList::compile(const std::vector<std::string>& patterns) {
    SpareList out;
    for (const std::string& pattern : patterns) {
        auto raw = std::make_unique<regex_t>();
        int error = ::regcomp(raw.get(), pattern.c_str(), REG_EXTENDED | REG_NOSUB);
        if (error != 0) {
            char why[128];
            ::regerror(error, raw.get(), why, sizeof why);
            return fail(Errc::invalid_argument,
                        base::cat("\"", pattern, "\" is not a regular expression: ", std::string_view(why)));
        }
        out.compiled_.emplace_back(raw.release());
    }
    return out;
}

bool SpareList::matches(const std::string& command_line) const {
    for (const auto& expression : compiled_)
        if (::regexec(expression.get(), command_line.c_str(), 0, nullptr, 0) == 0)
            return true;
    return false;
}

} // namespace holdfast::ending
