#include "memory/domain/answer.hpp"

#include "base/text.hpp"

namespace holdfast::memory::domain {

using base::cat;

Refusal no_session(const std::string& id) {
    return {Why::no_session, cat("no session ", id)};
}

Refusal no_episode(const std::string& id) {
    return {Why::no_episode, cat("no episode ", id)};
}

Refusal no_trace(const std::string& id) {
    return {Why::no_trace, cat("no trace ", id)};
}

} // namespace holdfast::memory::domain
