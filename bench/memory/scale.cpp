// Speed of the store and of recall at a size: memory-scale TRACES [HOME]. Fills a store with made-up turns
// whose words follow Zipf's law, then times searches and single writes against a raw durable SQLite commit.
#include "made_up.hpp"
#include "memory/recall/recall.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

namespace {

using namespace holdfast::memory;
using holdfast::bench::add_made_up;
using holdfast::bench::ZipfWords;

double median(std::vector<std::int64_t> times) {
    std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2));
    return static_cast<double>(times[times.size() / 2]) / 1000;
}

double raw_commit(const std::string& path, ZipfWords& words) {
    std::filesystem::remove(path);
    auto database = open_database(path, OpenMode::read_write_create);
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
    ZipfWords words(1);
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
                if (auto added = add_made_up(context, words, i, now); !added)
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
            [&](WriteContext& context) { return add_made_up(context, words, 10'000'000 + i, now); });
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
