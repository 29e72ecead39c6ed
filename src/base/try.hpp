// For code in which each step may fail: the value of a Result, or the end of the function with its error.
#pragma once

#include <expected>
#include <utility>

// `name` is then a Result that holds.
#define HF_TRY(name, expression)                                                                             \
    auto name = (expression);                                                                                \
    if (!(name))                                                                                             \
    return std::unexpected(std::move((name).error()))
