// Made-up turns whose words follow Zipf's law.
#pragma once

#include "memory/ids/ids.hpp"
#include "memory/repository/rows.hpp"

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

namespace holdfast::bench {

using namespace holdfast::memory;

class ZipfWords {
public:
    explicit ZipfWords(unsigned seed)
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

// Turn `number`: forty to a session, ten to an episode.
inline Result<void> add_made_up(WriteContext& context, ZipfWords& words, int number, std::int64_t now) {
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

} // namespace holdfast::bench
