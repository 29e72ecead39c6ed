// What can be verified of a store, and repaired.
#include "memory/repository/verify.hpp"
#include "memory/writer/store.hpp"

namespace holdfast::memory {

namespace {

// Not the index, but what is around it: whoever asked can do something about that, and asks again.
bool is_elsewhere(const Error& error) {
    return error.code == Errc::no_space || error.code == Errc::held || error.code == Errc::superseded ||
           error.code == Errc::not_permitted || error.code == Errc::cancelled || error.code == Errc::closed;
}

Result<bool> words_are_sound(Store& store) {
    auto right = right_word_shape();
    if (!right)
        return std::unexpected(std::move(right.error()));
    bool whole = false;
    auto compared = store.write([&](WriteContext& context) -> Result<void> {
        auto agree = words_agree(context.database, *right);
        if (!agree)
            return std::unexpected(std::move(agree.error()));
        whole = *agree;
        return {};
    });
    if (!compared && is_elsewhere(compared.error()))
        return std::unexpected(std::move(compared.error()));
    return compared && whole;
}

} // namespace

Result<CheckReport> check_store(Store& store, bool rebuild) {
    CheckReport report;
    {
        auto reader = store.reader();
        if (!reader)
            return std::unexpected(std::move(reader.error()));
        auto problems = integrity_problems(**reader);
        if (!problems)
            return std::unexpected(std::move(problems.error()));
        report.problems = std::move(*problems);
    }
    if (!report.problems.empty())
        return report;
    auto sound = words_are_sound(store);
    if (!sound)
        return std::unexpected(std::move(sound.error()));
    report.index_sound = *sound;
    if (*sound && !rebuild)
        return report;
    auto made = store.write([](WriteContext& context) { return make_words_anew(context.database); },
                            Store::Company::alone);
    store.shape_changed();
    if (!made)
        return std::unexpected(std::move(made.error()));
    report.index_repaired = !*sound;
    return report;
}

} // namespace holdfast::memory
