#include "memory/embed/embedder.hpp"

#include "core/text.hpp"
#include "memory/store/ids.hpp"
#include "memory/text/letters.hpp"

#include <boost/json.hpp>

#include <algorithm>
#include <cmath>

namespace holdfast::memory {

using core::cat;
namespace json = boost::json;

namespace {

constexpr std::int64_t rest_ms = 15'000;              // for a server that failed
constexpr std::int64_t batch_timeout_us = 60'000'000; // in the background there is time
constexpr std::int64_t fair_us = 100'000;             // enough for a server that is there
constexpr int most_missed = 3;                        // questions in a row that left less, and got no answer
constexpr int batch = 32;
constexpr std::size_t most_text = 8000; // bytes of a trace, or of a question
// A number of a vector takes some twenty characters. What is longer is no answer to us, and reading it would
// cost the time that the question has.
constexpr std::size_t most_answer_each = std::size_t{256} * 1024;

constexpr double most_number = 1e18; // in a vector; its square must still be a number

} // namespace

Result<std::unique_ptr<Embedder>> Embedder::start(Store& store, const std::string& path,
                                                  const HomeConfig& config) {
    auto target = parse_http(config.embeddings_endpoint);
    if (!target)
        return std::unexpected(std::move(target.error()));
    auto vectors = VectorFile::open(path, config.embeddings_model);
    if (!vectors)
        return std::unexpected(std::move(vectors.error()));
    std::unique_ptr<Embedder> embedder(new Embedder(store, config, std::move(*target), std::move(*vectors)));
    embedder->thread_ = std::thread([raw = embedder.get()] { raw->loop(); });
    return embedder;
}

Embedder::~Embedder() {
    close();
}

void Embedder::close() {
    {
        const std::lock_guard lock(mutex_);
        stopping_ = true;
        changed_.notify_all();
    }
    if (thread_.joinable())
        thread_.join();
}

void Embedder::wake() {
    const std::lock_guard lock(mutex_);
    work_ = true;
    changed_.notify_all();
}

void Embedder::note(const Result<void>& outcome) {
    const std::lock_guard lock(mutex_);
    if (outcome) {
        last_ok_ms_ = now_ms();
        last_error_.clear();
        return;
    }
    last_error_ = outcome.error().message;
    rest_until_ms_ = monotonic_ms() + rest_ms;
}

Result<std::vector<std::vector<float>>> Embedder::ask(const std::vector<std::string>& texts,
                                                      std::int64_t deadline_us) {
    const json::object request{{"model", config_.embeddings_model},
                               {"input", json::array(texts.begin(), texts.end())}};
    auto body = http_post(target_, config_.embeddings_key, json::serialize(request),
                          texts.size() * most_answer_each, deadline_us, stopping_);
    if (!body)
        return std::unexpected(std::move(body.error()));
    const auto odd = [] {
        return fail(Errc::protocol, "the embeddings server's answer has no vectors as they should be");
    };
    boost::system::error_code failed;
    const auto parsed = json::parse(*body, failed);
    const auto* data = !failed && parsed.is_object() ? parsed.get_object().if_contains("data") : nullptr;
    if (data == nullptr || !data->is_array() || data->get_array().size() != texts.size())
        return odd();
    std::vector<std::vector<float>> vectors(texts.size());
    for (std::size_t i = 0; i < texts.size(); ++i) {
        const auto* each = data->get_array()[i].if_object();
        const auto* numbers = each != nullptr ? each->if_contains("embedding") : nullptr;
        const auto* index = each != nullptr ? each->if_contains("index") : nullptr;
        const std::size_t place =
            index != nullptr && index->is_int64() ? static_cast<std::size_t>(index->get_int64()) : i;
        if (numbers == nullptr || !numbers->is_array() || numbers->get_array().empty() ||
            place >= vectors.size())
            return odd();
        for (const auto& number : numbers->get_array()) {
            const double value = number.is_number() ? number.to_number<double>() : most_number * 2;
            if (!(std::abs(value) <= most_number))
                return odd();
            vectors[place].push_back(static_cast<float>(value));
        }
    }
    if (std::ranges::any_of(vectors, [&](const auto& vector) {
            return vector.empty() || vector.size() != vectors[0].size();
        }))
        return odd();
    return vectors;
}

// True when there may be more.
Result<bool> Embedder::embed_some() {
    std::vector<std::int64_t> rows;
    std::vector<std::string> texts;
    {
        auto reader = store_.reader();
        if (!reader)
            return std::unexpected(std::move(reader.error()));
        auto next = (*reader)->prepare(
            "SELECT row, user_text, agent_text FROM traces WHERE row>?1 ORDER BY row LIMIT ?2");
        if (!next)
            return std::unexpected(std::move(next.error()));
        (*next)->bind(1, vectors_.last_row()).bind(2, std::int64_t{batch});
        const ScopedReset reset(**next);
        for (;;) {
            auto row = (*next)->step();
            if (!row)
                return std::unexpected(std::move(row.error()));
            if (!*row)
                break;
            rows.push_back((*next)->integer(0));
            const auto text = cat((*next)->text(1), "\n", (*next)->text(2));
            texts.emplace_back(cut_at_character(text, most_text));
        }
    }
    if (rows.empty())
        return false;
    auto vectors = ask(texts, monotonic_us() + batch_timeout_us);
    if (!vectors && vectors.error().code == Errc::protocol)
        vectors = ask_each(texts);
    if (!vectors)
        return std::unexpected(std::move(vectors.error()));
    const auto known = vectors_.dimension();
    const auto given = std::ranges::find_if(*vectors, [](const auto& vector) { return !vector.empty(); });
    if (known != 0 && given != vectors->end() && given->size() != known) {
        if (auto cleared = vectors_.clear(); !cleared)
            return std::unexpected(std::move(cleared.error()));
        return fail(Errc::protocol, cat("the server's vectors have ", given->size(),
                                        " numbers where they had ", known, ": all are made again"));
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
        if (auto added = vectors_.append(rows[i], (*vectors)[i]); !added)
            return std::unexpected(std::move(added.error()));
    return rows.size() == batch;
}

Result<std::vector<std::vector<float>>> Embedder::ask_each(const std::vector<std::string>& texts) {
    auto plain = ask({"memory"}, monotonic_us() + batch_timeout_us);
    if (!plain)
        return plain; // it is the server, and no text
    std::vector<std::vector<float>> vectors;
    for (const auto& text : texts) {
        auto one = ask({text}, monotonic_us() + batch_timeout_us);
        if (!one && one.error().code != Errc::protocol)
            return one;
        vectors.push_back(one ? std::move(one->front()) : std::vector<float>(plain->front().size()));
    }
    return vectors;
}

void Embedder::loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
        const auto rest = rest_until_ms_ - monotonic_ms();
        if (rest > 0)
            changed_.wait_for(lock, std::chrono::milliseconds(rest), [&] { return stopping_.load(); });
        else
            changed_.wait(lock, [&] { return stopping_ || work_; });
        if (stopping_)
            return;
        if (rest_until_ms_ > monotonic_ms() || !work_)
            continue;
        work_ = false;
        const bool remake = std::exchange(remake_, false);
        lock.unlock();
        if (remake)
            (void)vectors_.clear();
        auto more = embed_some();
        note(more ? Result<void>() : std::unexpected(more.error()));
        lock.lock();
        work_ |= !more || *more;
    }
}

std::vector<VectorHit> Embedder::search(const std::string& question, std::size_t most,
                                        std::int64_t deadline_us, const VectorFile::AdmitRow& admit,
                                        bool& cut) {
    const auto now = monotonic_us();
    auto until = now + config_.embeddings_timeout_ms * 1000;
    const bool hurried = deadline_us != 0 && now + (deadline_us - now) / 2 < until;
    if (hurried) // the words need the rest of the time
        until = now + (deadline_us - now) / 2;
    {
        const std::lock_guard lock(mutex_);
        if (rest_until_ms_ > monotonic_ms())
            return {};
    }
    if (vectors_.size() == 0 || until <= now)
        return {};
    auto vector = ask({std::string(cut_at_character(question, most_text))}, until);
    if (!vector && hurried && vector.error().code == Errc::timed_out && until - now < fair_us &&
        ++missed_ < most_missed)
        return {}; // it was given next to no time: that is no failure of the server, yet
    missed_ = 0;
    auto outcome = vector ? Result<void>() : std::unexpected(vector.error());
    if (const auto known = vectors_.dimension(); vector && known != 0 && vector->front().size() != known) {
        outcome = fail(Errc::protocol, cat("the server's vectors have ", vector->front().size(),
                                           " numbers where they had ", known, ": all are made again"));
        const std::lock_guard lock(mutex_);
        work_ = remake_ = true;
    }
    note(outcome);
    if (!outcome)
        return {};
    return vectors_.search(vector->front(), most, deadline_us == 0 ? 0 : now + (deadline_us - now) * 3 / 4,
                           admit, cut);
}

Embedder::Health Embedder::health() const {
    const std::lock_guard lock(mutex_);
    return {last_ok_ms_ != 0 && last_error_.empty(), config_.embeddings_model, last_ok_ms_, last_error_,
            vectors_.size()};
}

} // namespace holdfast::memory
