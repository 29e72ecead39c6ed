#include "ending/report.hpp"

#include "sys/proc.hpp"

namespace holdfast::ending {

std::vector<Leftover> Report::leftovers() const {
    std::vector<Leftover> out;
    for (const Survivor& one : survivors)
        out.push_back({.pid = one.process.pid(), .command = sys::command_line_for_people(one.process.pid())});
    return out;
}

} // namespace holdfast::ending
