#include "memory/embed/http_embeddings.hpp"

#include "json/json.hpp"
#include "json/json_parse.hpp"
#include "json/json_write.hpp"

namespace holdfast::memory {

namespace {

// A number of a vector takes some twenty characters. What is longer is no answer to us, and reading it would
// cost the time that the question has.
constexpr std::size_t most_answer_each = std::size_t{256} * 1024;

} // namespace

Result<Vectors> HttpEmbeddings::embed(const std::vector<std::string>& texts, const std::string& model,
                                      std::int64_t deadline_us, const std::atomic<bool>& give_up) {
    const json::object request{{"model", model}, {"input", json::array(texts.begin(), texts.end())}};
    auto body = http_post(target_, key_, json::to_text(request), texts.size() * most_answer_each, deadline_us,
                          give_up);
    if (!body)
        return std::unexpected(std::move(body.error()));
    const auto odd = [] {
        return fail(Errc::protocol, "the embeddings server's answer has no vectors as they should be");
    };
    const auto answer = json::parse_object(*body, {});
    const auto* data = answer ? answer->if_contains("data") : nullptr;
    if (data == nullptr || !data->is_array() || data->get_array().size() != texts.size())
        return odd();
    Vectors vectors(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto* each = data->get_array()[i].if_object();
        const auto* numbers = each != nullptr ? each->if_contains("embedding") : nullptr;
        const auto* index = each != nullptr ? each->if_contains("index") : nullptr;
        const std::size_t place =
            index != nullptr && index->is_int64() ? static_cast<std::size_t>(index->get_int64()) : i;
        if (numbers == nullptr || !numbers->is_array() || place >= vectors.size())
            return odd();
        vectors[place] = vector_of(numbers->get_array());
    }
    if (!alike(vectors))
        return odd();
    return vectors;
}

} // namespace holdfast::memory
