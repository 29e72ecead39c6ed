// Descriptor numbers for a new process.
#pragma once

#include "holdfast/result.hpp"

namespace holdfast::sys {

// The first of `count` numbers in a row that are not in use here, so that none that whoever started us passes
// on to the new process is lost. At `wished`, or as near below it as the limit of open files and those in use
// leave room. Error cannot_start: there is none.
Result<int> free_numbers(int wished, int count);

} // namespace holdfast::sys
