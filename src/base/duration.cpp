#include "base/duration.hpp"

#include "base/text.hpp"

#include <charconv>
#include <cmath>
#include <utility>

namespace holdfast::base {

namespace {

// Splits "1.5s" into 1.5 and "s". Nothing but digits and one point counts as the number.
bool split_number(std::string_view text, double& number, std::string_view& unit) {
    std::size_t end = 0;
    while (end < text.size() && ((text[end] >= '0' && text[end] <= '9') || text[end] == '.'))
        ++end;
    if (end == 0 || end > 18)
        return false;
    auto [rest, error] = std::from_chars(text.data(), text.data() + end, number, std::chars_format::fixed);
    if (error != std::errc{} || rest != text.data() + end)
        return false;
    unit = text.substr(end);
    return true;
}

std::string one_decimal(double value, std::string_view unit) {
    auto tenths = static_cast<long long>(std::llround(value * 10));
    return cat(tenths / 10, '.', tenths % 10, ' ', unit);
}

} // namespace

Result<Millis> parse_duration(std::string_view text) {
    double number = 0;
    std::string_view unit;
    double factor = 0;
    if (split_number(text, number, unit)) {
        if (unit == "ms")
            factor = 1;
        else if (unit == "s")
            factor = 1000;
        else if (unit == "m" || unit == "min")
            factor = 60'000;
        else if (unit == "h")
            factor = 3'600'000;
        else if (unit == "d")
            factor = 86'400'000;
        else if (unit.empty() && number == 0)
            return Millis{0};
    }
    if (factor == 0)
        return fail(
            Errc::invalid_argument,
            cat("\"", text,
                "\" is not a duration; write a number with ms, s, m, h or d, for example 500ms or 2s"));
    double ms = std::ceil(number * factor); // never shorter than asked for
    if (ms > static_cast<double>(max_duration.count()))
        return fail(Errc::invalid_argument, cat("\"", text, "\" is longer than ten years"));
    return Millis{static_cast<Millis::rep>(ms)};
}

std::string format_duration(Millis duration) {
    long long ms = duration.count();
    if (ms < 1000)
        return cat(ms, " ms");
    long long s = ms / 1000;
    if (s < 60)
        return cat(s, " s");
    if (s < 3600)
        return s % 60 ? cat(s / 60, " min ", s % 60, " s") : cat(s / 60, " min");
    if (s < 86'400)
        return s % 3600 / 60 ? cat(s / 3600, " h ", s % 3600 / 60, " min") : cat(s / 3600, " h");
    return s % 86'400 / 3600 ? cat(s / 86'400, " d ", s % 86'400 / 3600, " h") : cat(s / 86'400, " d");
}

Result<unsigned long long> parse_size(std::string_view text) {
    double number = 0;
    std::string_view unit;
    double factor = 0;
    if (split_number(text, number, unit)) {
        if (unit.ends_with("iB"))
            unit.remove_suffix(2);
        else if (unit.ends_with('B'))
            unit.remove_suffix(1);
        if (unit.empty())
            factor = 1;
        else if (unit == "K" || unit == "k")
            factor = 1024;
        else if (unit == "M")
            factor = 1024.0 * 1024;
        else if (unit == "G")
            factor = 1024.0 * 1024 * 1024;
        else if (unit == "T")
            factor = 1024.0 * 1024 * 1024 * 1024;
    }
    double bytes = number * factor;
    if (factor == 0 || bytes < 1 || bytes > 4.6e18)
        return fail(
            Errc::invalid_argument,
            cat("\"", text, "\" is not a size; write bytes or a number with K, M or G, for example 512M"));
    return static_cast<unsigned long long>(bytes);
}

std::string format_size(unsigned long long bytes) {
    double kb = static_cast<double>(bytes) / 1024;
    if (kb < 1000)
        return cat(static_cast<long long>(std::llround(kb)), " KB");
    if (kb < 1000 * 1024.0)
        return one_decimal(kb / 1024, "MB");
    return one_decimal(kb / 1024 / 1024, "GB");
}

} // namespace holdfast::base
