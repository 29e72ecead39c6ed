// What an owner saved when its write-ahead log was cut, into the store again.
#include "memory/transfer/records.hpp"
#include "json/json_parse.hpp"

#include "base/text.hpp"
#include "memory/repository/rows.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "json/json_fields.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

namespace holdfast::memory {

namespace {

constexpr std::size_t lines_at_once = 1000;

// One transaction. They were cleaned when they were stored first.
Result<std::int64_t> store_lines(Store& store, const std::vector<std::string>& lines) {
    std::int64_t changes = 0;
    auto stored = store.write([&](WriteContext& context) -> Result<void> {
        changes = 0; // a batch that failed runs again
        for (const auto& line : lines) {
            const auto record = json::parse_object(line, {});
            if (!record)
                continue;
            const auto& saved = *record;
            if (json::text_field(saved, "type") == "forget") {
                auto gone = delete_trace(context, json::text_field(saved, "id"));
                if (!gone)
                    return std::unexpected(std::move(gone.error()));
                changes += *gone ? 1 : 0;
                continue;
            }
            auto outcome = store_record(context, saved, Cleaner(false), SameId::replaced);
            if (!outcome)
                return std::unexpected(std::move(outcome.error()));
            changes += outcome->fate == Fate::stored ? 1 : 0;
        }
        return {};
    });
    if (!stored)
        return std::unexpected(std::move(stored.error()));
    return changes;
}

} // namespace

Result<std::int64_t> bring_back_rows(Store& store, const std::string& path) {
    const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file)
        return sys::fail_sys(base::cat("open ", path));
    std::int64_t changes = 0;
    std::string buffer;
    std::vector<std::string> lines;
    std::array<char, 65536> chunk;
    for (;;) {
        const auto n = ::read(file.get(), chunk.data(), chunk.size());
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return sys::fail_sys(base::cat("read ", path));
        buffer.append(chunk.data(), static_cast<std::size_t>(n));
        for (std::size_t end = 0; (end = buffer.find('\n')) != buffer.npos; buffer.erase(0, end + 1))
            lines.push_back(buffer.substr(0, end));
        if (!lines.empty() && (n == 0 || lines.size() >= lines_at_once)) {
            auto stored = store_lines(store, lines);
            if (!stored)
                return stored;
            changes += *stored;
            lines.clear();
        }
        if (n == 0)
            return changes;
    }
}

} // namespace holdfast::memory
