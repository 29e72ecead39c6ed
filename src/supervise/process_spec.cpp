#include "supervise/process_spec.hpp"

#include <utility>

namespace holdfast::supervise {

void set_variable(std::vector<std::string>& environment, std::string variable) {
    const std::string name = variable.substr(0, variable.find('=')) + '=';
    std::erase_if(environment, [&](const std::string& one) { return one.starts_with(name); });
    environment.push_back(std::move(variable));
}

std::string label_of(const ProcessSpec& spec) {
    const std::string& command = spec.command.front();
    return spec.label.empty() ? command.substr(command.rfind('/') + 1) : spec.label;
}

} // namespace holdfast::supervise
