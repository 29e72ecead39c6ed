#include "memory/config/config.hpp"

#include "base/text.hpp"
#include "sys/fd.hpp"
#include "json/json_parse.hpp"

#include "sys/whole_file.hpp"
#include "json/json.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace holdfast::memory {

using base::cat;

namespace {

// The members of one object, each read once; the first thing that is wrong is kept.
class Members {
public:
    Members(const json::object* object, std::string where)
        : object_(object)
        , where_(std::move(where)) {}

    void flag(const char* name, bool& into) {
        if (const auto* value = find(name); value != nullptr && value->is_bool())
            into = value->get_bool();
        else if (value != nullptr)
            complain(name, "true or false");
    }
    void text(const char* name, std::string& into) {
        if (const auto* value = find(name); value != nullptr && value->is_string())
            into = value->get_string();
        else if (value != nullptr)
            complain(name, "a text");
    }
    template <class Number>
    void number(const char* name, Number& into, double least, double most) {
        const auto* value = find(name);
        if (value == nullptr)
            return;
        const double given = value->is_number() ? value->to_number<double>() : least - 1;
        if (given < least || given > most)
            complain(name, "a number within its bounds");
        else
            into = static_cast<Number>(given);
    }
    [[nodiscard]] const std::string& problem() const { return problem_; }

private:
    const json::value* find(const char* name) const {
        const auto* value = object_ != nullptr ? object_->if_contains(name) : nullptr;
        return value != nullptr && !value->is_null() ? value : nullptr;
    }
    void complain(const char* name, const char* wanted) {
        if (problem_.empty())
            problem_ = cat(where_, name, " must be ", wanted);
    }
    const json::object* object_;
    std::string where_;
    std::string problem_;
};

constexpr std::size_t most_bytes = std::size_t{64} * 1024;

} // namespace

Result<HomeConfig> read_config(const std::string& path) {
    HomeConfig config;
    // Not waiting: what lies under that name may be a pipe.
    const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!file)
        return config;
    std::string text;
    (void)sys::read_to_end(file.get(), text, most_bytes);
    const auto parsed = json::parse_object(text, {.bytes = most_bytes});
    if (!parsed)
        return fail(Errc::invalid_argument, cat(path, " is not a JSON object; it is not used"));
    const auto part = [&](const char* name) -> const json::object* {
        const auto* value = parsed->if_contains(name);
        return value != nullptr ? value->if_object() : nullptr;
    };
    Members top(&*parsed, "");
    top.flag("redact", config.redact);
    Members summaries(part("summaries"), "summaries.");
    summaries.flag("enabled", config.summaries);
    summaries.number("timeoutMs", config.summary_timeout_ms, 1, 600'000);
    Members embeddings(part("embeddings"), "embeddings.");
    embeddings.flag("host", config.embeddings_host);
    embeddings.text("endpoint", config.embeddings_endpoint);
    embeddings.text("model", config.embeddings_model);
    embeddings.number("timeoutMs", config.embeddings_timeout_ms, 1, 60'000);
    embeddings.number("weight", config.embeddings_weight, 0, 1);
    std::string key_variable;
    embeddings.text("keyVariable", key_variable);
    if (const char* key = key_variable.empty() ? nullptr : std::getenv(key_variable.c_str()))
        config.embeddings_key = key;
    for (const auto* members : {&top, &summaries, &embeddings})
        if (!members->problem().empty())
            return fail(Errc::invalid_argument,
                        cat(path, ": ", members->problem(), "; the file is not used"));
    if (config.embeddings_host && !config.embeddings_endpoint.empty())
        return fail(
            Errc::invalid_argument,
            cat(path, ": embeddings.host and embeddings.endpoint: name one of them; the file is not used"));
    return config;
}

} // namespace holdfast::memory
