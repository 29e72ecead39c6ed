// Evidence recall on LoCoMo: memory-locomo DIR. Each dialog turn is stored as one trace, each session of a
// conversation as one session of a fresh store, and the bare question is asked. The data stays where it is.
#include "memory/ids/ids.hpp"
#include "memory/recall/recall.hpp"
#include "memory/repository/rows.hpp"
#include "memory/text/dates.hpp"

#include "json/json.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>

namespace {

using namespace holdfast::memory;
namespace json = holdfast::json;

struct Sums {
    std::array<double, 3> recall{};
    int questions = 0;
};
constexpr std::array<std::size_t, 3> depths = {5, 10, 25};

std::string text_of(const json::value& value) {
    return std::string(value.as_string());
}

// Stores a conversation; gives back which dialog turn became which trace.
std::map<std::string, std::string> load(Store& store, const json::object& conversation,
                                        std::int64_t& last_ts) {
    std::map<std::string, std::string> ids;
    for (int number = 1; number < 100; ++number) {
        const auto name = "session_" + std::to_string(number);
        const auto* turns = conversation.if_contains(name);
        if (turns == nullptr)
            continue;
        const auto dates = find_dates(text_of(conversation.at(name + "_date_time")), 20'000);
        const std::int64_t begin = (dates.empty() ? 0 : dates.front().first_day) * 86'400'000 + 43'200'000;
        auto stored = store.write([&](WriteContext& context) -> holdfast::Result<void> {
            Session session{.id = "se_" + std::to_string(number), .agent = "bench", .opened_at = begin};
            if (auto added = add_session(context, session); !added)
                return added;
            Episode episode{
                .id = "ep_" + std::to_string(number), .session_row = session.row, .opened_at = begin};
            if (auto added = add_episode(context, episode); !added)
                return added;
            std::int64_t ts = begin;
            for (const auto& item : turns->as_array()) {
                const auto& turn = item.as_object();
                Trace trace;
                trace.id = make_id("tr_");
                trace.session_row = session.row;
                trace.episode_row = episode.row;
                trace.ts = ts++;
                trace.kind = "turn";
                trace.user_text = text_of(turn.at("speaker")) + ": " + text_of(turn.at("text"));
                if (const auto* caption = turn.if_contains("blip_caption"))
                    trace.user_text += " [" + text_of(*caption) + "]";
                if (auto added = add_trace(context, trace); !added)
                    return added;
                ids[text_of(turn.at("dia_id"))] = trace.id;
            }
            last_ts = std::max(last_ts, ts);
            return {};
        });
        if (!stored)
            std::fprintf(stderr, "%s\n", stored.error().message.c_str());
    }
    return ids;
}

void ask(Recall& recall, const json::object& conversation, const std::map<std::string, std::string>& ids,
         std::int64_t now, std::map<std::int64_t, Sums>& by_category, std::vector<std::int64_t>& times) {
    for (const auto& item : conversation.at("qa").as_array()) {
        const auto& question = item.as_object();
        std::set<std::string> evidence;
        for (const auto& name : question.at("evidence").as_array())
            if (const auto found = ids.find(text_of(name)); found != ids.end())
                evidence.insert(found->second);
        if (evidence.empty())
            continue;
        const auto begun = monotonic_us();
        auto answer = recall.search({.text = text_of(question.at("question")), .now_ms = now, .top_k = 25});
        times.push_back(monotonic_us() - begun);
        for (const auto category : {std::int64_t{0}, question.at("category").as_int64()}) {
            auto& sums = by_category[category];
            ++sums.questions;
            for (std::size_t d = 0; d < depths.size(); ++d) {
                double found = 0;
                for (std::size_t i = 0; answer && i < depths[d] && i < answer->hits.size(); ++i)
                    found += static_cast<double>(evidence.count(answer->hits[i].id));
                sums.recall[d] += found / static_cast<double>(evidence.size());
            }
        }
    }
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        std::fprintf(stderr,
                     "usage: memory-locomo DIR   (a directory with LoCoMo conversations as JSON files)\n");
        return 2;
    }
    std::map<std::int64_t, Sums> by_category;
    std::vector<std::int64_t> times;
    std::error_code failed;
    for (const auto& file : std::filesystem::directory_iterator(argv[1], failed)) {
        if (file.path().extension() != ".json")
            continue;
        std::ifstream in(file.path());
        const std::string content{std::istreambuf_iterator<char>(in), {}};
        const auto conversation = boost::json::parse(content).as_object();
        std::string home = (std::filesystem::temp_directory_path() / "hf-locomo-XXXXXX").string();
        if (::mkdtemp(home.data()) == nullptr)
            return 1;
        {
            Recall* recall = nullptr;
            StoreOptions options;
            options.path = home + "/memory.db";
            options.on_changes = [&](const RowChanges& changes) {
                if (recall != nullptr)
                    recall->committed(changes);
            };
            auto store = Store::open(options, [](const Progress&) {});
            auto opened = Recall::open(**store, home + "/index", [](const Progress&) {});
            recall = opened->get();
            std::int64_t now = 0;
            const auto ids = load(**store, conversation, now);
            recall->wait_indexed(60'000);
            ask(*recall, conversation, ids, now, by_category, times);
            recall->close();
            (*store)->close();
        }
        std::filesystem::remove_all(home, failed);
    }
    if (times.empty()) {
        std::fprintf(stderr, "no LoCoMo conversation in %s\n", argv[1]);
        return 1;
    }
    std::ranges::sort(times);
    std::printf("| evidence recall | @5 | @10 | @25 | questions |\n|---|---|---|---|---|\n");
    for (const auto& [category, sums] : by_category) {
        const auto name = category == 0 ? std::string("all") : "category " + std::to_string(category);
        std::printf("| %s | %.4f | %.4f | %.4f | %d |\n", name.c_str(), sums.recall[0] / sums.questions,
                    sums.recall[1] / sums.questions, sums.recall[2] / sums.questions, sums.questions);
    }
    std::printf("\nTime of a search, median: %.2f ms.\n",
                static_cast<double>(times[times.size() / 2]) / 1000);
    return 0;
}
