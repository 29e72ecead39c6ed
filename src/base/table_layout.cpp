#include "base/table_layout.hpp"

#include <algorithm>
#include <numeric>

namespace holdfast::base {

namespace {

constexpr std::size_t gap = 2;

struct Fit {
    std::size_t natural = 0;
    std::size_t least = 0;
    bool shown = true;
};

// Of the columns that are shown, each as narrow as it may be.
std::size_t least_total(const std::vector<Fit>& fits) {
    std::size_t total = 0;
    for (const Fit& fit : fits)
        if (fit.shown)
            total += fit.least + gap;
    return total == 0 ? 0 : total - gap;
}

std::vector<Fit> natural_fits(const TableText& table) {
    std::vector<Fit> fits;
    for (std::size_t at = 0; at < table.columns.size(); ++at) {
        const Column& column = table.columns[at];
        std::size_t natural = display_width(column.title);
        for (const auto& row : table.rows)
            natural = std::max(natural, display_width(row[at]));
        const std::size_t least =
            column.least == 0 ? natural : std::max(column.least, display_width(column.title));
        fits.push_back({.natural = natural, .least = std::min(natural, least)});
    }
    return fits;
}

// The one to leave out next; of two with the same importance the later one. `fits.size()`: none may be.
std::size_t least_important(const TableText& table, const std::vector<Fit>& fits) {
    std::size_t found = fits.size();
    for (std::size_t at = 0; at < fits.size(); ++at)
        if (fits[at].shown && table.columns[at].importance < Column::always &&
            (found == fits.size() || table.columns[at].importance <= table.columns[found].importance))
            found = at;
    return found;
}

} // namespace

std::vector<std::size_t> fit_columns(const TableText& table, std::size_t width) {
    std::vector<Fit> fits = natural_fits(table);
    while (least_total(fits) > width) {
        const std::size_t next = least_important(table, fits);
        if (next == fits.size())
            break;
        fits[next].shown = false;
    }
    const std::size_t used = least_total(fits);
    std::size_t left = width > used ? width - used : 0;
    // The most important columns get the rest first, so that they are shortened last.
    std::vector<std::size_t> order(fits.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::greater{},
                             [&](std::size_t at) { return table.columns[at].importance; });
    std::vector<std::size_t> widths(fits.size(), 0);
    for (const std::size_t at : order) {
        if (!fits[at].shown)
            continue;
        const std::size_t more = std::min(left, fits[at].natural - fits[at].least);
        widths[at] = fits[at].least + more;
        left -= more;
    }
    return widths;
}

std::vector<std::string> table_lines(const TableText& table, std::size_t width) {
    const std::vector<std::size_t> widths = fit_columns(table, width);
    auto line_of = [&](auto&& cell_at) {
        std::string line;
        for (std::size_t at = 0; at < widths.size(); ++at) {
            if (widths[at] == 0)
                continue;
            const Column& column = table.columns[at];
            if (!line.empty())
                line.append(gap, ' ');
            line += pad_to_width(shorten_to_width(cell_at(at), widths[at], column.shorten), widths[at],
                                 column.right);
        }
        line.erase(line.find_last_not_of(' ') + 1);
        return shorten_to_width(line, width);
    };
    std::vector<std::string> lines;
    lines.reserve(table.rows.size() + 1);
    lines.push_back(line_of([&](std::size_t at) -> const std::string& { return table.columns[at].title; }));
    for (const auto& row : table.rows)
        lines.push_back(line_of([&](std::size_t at) -> const std::string& { return row[at]; }));
    return lines;
}

} // namespace holdfast::base
