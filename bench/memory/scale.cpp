// Speed of the store and of recall at a size: memory-scale TRACES [HOME]. Fills a store with made-up turns
// whose words follow Zipf's law, then times searches and single writes against a raw durable SQLite commit.
#include "memory/recall/recall.hpp"
#include "memory/store/ids.hpp"
#include "memory/store/rows.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <random>

namespace {

using namespace holdfast::memory;

class Words {
public:
    explicit Words(unsigned seed)
        : random_(seed) {
        double sum = 0;
        for (int rank = 1; rank <= 50'000; ++rank)
            cumulative_.push_back(sum += 1.0 / std::pow(rank, 0.9));
    }
    std::string text(int words) {
        std::string out;
        for (int i = 0; i < words; ++i) {
            if (i > 0)
                out += ' ';
            out += word();
        }
        return out;
    }

private:
    std::string word() {
        const double at = std::uniform_real_distribution<>(0, cumulative_.back())(random_);
        auto rank =
            static_cast<unsigned>(std::ranges::lower_bound(cumulative_, at) - cumulative_.begin()) + 7;
        std::string spelled;
        for (constexpr const char* syllables[] = {"ba", "ko", "ri", "ne", "tu", "mo", "sa", "vel", "dan",
                                                  "pim"};
             rank > 0; rank /= 10)
            spelled += syllables[rank % 10];
        return spelled;
    }
    std::mt19937 random_;
    std::vector<double> cumulative_;
};

double median(std::vector<std::int64_t> times) {
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return static_cast<double>(times[times.size() / 2]) / 1000;
}

holdfast::Result<void> add(WriteContext& context, Words& words, int number, std::int64_t now) {
    Session session{.id = "se_" + std::to_string(number / 40), .agent = "bench", .opened_at = now};
    if (auto added = add_session(context, session); !added)
        return added;
    Episode episode{.id = "ep_" + std::to_string(number / 10), .session_row = session.row, .opened_at = now};
    if (auto added = add_episode(context, episode); !added)
        return added;
    Trace trace;
    trace.id = make_id("tr_");
    trace.session_row = session.row;
    trace.episode_row = episode.row;
    trace.ts = now + number;
    trace.kind = "turn";
    trace.user_text = words.text(12);
    trace.agent_text = words.text(38);
    return add_trace(context, trace);
}

double raw_commit(const std::string& path, Words& words) {
    std::filesystem::remove(path);
    auto database = Database::open(path, OpenMode::read_write_create);
    if (!database || !database->exec("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
                                     "CREATE TABLE t(id INTEGER PRIMARY KEY, a TEXT, b TEXT)"))
        return 0;
    std::vector<std::int64_t> times;
    for (int i = 0; i < 400; ++i) {
        auto insert = database->prepare("INSERT INTO t(a, b) VALUES(?1, ?2)");
        const auto a = words.text(12);
        const auto b = words.text(38);
        const auto begun = monotonic_us();
        (void)(*insert)->bind(1, a).bind(2, b).run();
        times.push_back(monotonic_us() - begun);
    }
    return median(times);
}

} // namespace

int main(int argc, char** argv) {
    const int traces = argc > 1 ? std::atoi(argv[1]) : 30'000;
    std::string home =
        argc > 2 ? argv[2] : (std::filesystem::temp_directory_path() / "hf-scale-XXXXXX").string();
    if (argc <= 2 && ::mkdtemp(home.data()) == nullptr)
        return 1;
    std::filesystem::create_directories(home);
    Words words(1);
    Recall* recall = nullptr;
    StoreOptions options;
    options.path = home + "/memory.db";
    options.on_changes = [&](const RowChanges& changes) {
        if (recall != nullptr)
            recall->committed(changes);
    };
    const auto open_begun = monotonic_us();
    auto store = Store::open(options, [](const Progress&) {});
    auto opened = store ? Recall::open(**store, home + "/index", [](const Progress&) {})
                        : std::unexpected(store.error());
    if (!opened) {
        std::fprintf(stderr, "%s\n", opened.error().message.c_str());
        return 1;
    }
    recall = opened->get();
    recall->wait_indexed(600'000);
    std::printf("open %.1f ms\n", static_cast<double>(monotonic_us() - open_begun) / 1000);
    const auto now = now_ms();
    const auto fill_begun = monotonic_ms();
    for (int done = static_cast<int>((*store)->totals().traces); done < traces; done += 500)
        (void)(*store)->write([&](WriteContext& context) -> holdfast::Result<void> {
            for (int i = done; i < done + 500 && i < traces; ++i)
                if (auto added = add(context, words, i, now); !added)
                    return added;
            return {};
        });
    recall->wait_indexed(600'000);
    std::printf("%d traces, filled in %.1f s, %zu index files, database %.0f MB, index ", traces,
                static_cast<double>(monotonic_ms() - fill_begun) / 1000, recall->index().files(),
                static_cast<double>(std::filesystem::file_size(options.path)) / 1e6);
    double index_size = 0;
    for (const auto& file : std::filesystem::directory_iterator(home + "/index"))
        index_size += static_cast<double>(file.file_size());
    std::printf("%.0f MB\n", index_size / 1e6);

    std::vector<std::int64_t> searches;
    std::vector<std::int64_t> writes;
    for (int i = 0; i < 300; ++i) {
        const auto question = words.text(8);
        const auto begun = monotonic_us();
        auto answer = recall->search({.text = question, .now_ms = now, .top_k = 10});
        searches.push_back(monotonic_us() - begun);
        if (!answer || answer->hits.empty())
            std::printf("no hit for %s\n", question.c_str());
    }
    for (int i = 0; i < 400; ++i) {
        const auto begun = monotonic_us();
        (void)(*store)->write(
            [&](WriteContext& context) { return add(context, words, 10'000'000 + i, now); });
        writes.push_back(monotonic_us() - begun);
    }
    const double raw = raw_commit(home + "/raw.db", words);
    std::printf(
        "search p50 %.2f ms · durable turn p50 %.3f ms · raw durable commit p50 %.3f ms · ratio %.2f\n",
        median(searches), median(writes), raw, median(writes) / raw);
    recall->close();
    (*store)->close();
    std::error_code ignored;
    if (argc <= 2)
        std::filesystem::remove_all(home, ignored);
    return 0;
}
