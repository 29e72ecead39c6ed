#include "base/text.hpp"
#include "stepper/stepper.hpp"

namespace holdfast::stepper {
namespace {

struct Entry {
    long number;
    const char* name;
};
constexpr Entry table[] = {
#include "syscall_names.inc"
};

} // namespace

std::string syscall_name(long number) {
    for (const auto& entry : table)
        if (entry.number == number)
            return entry.name;
    return base::cat("syscall_", number);
}

} // namespace holdfast::stepper
