// Characters that are not seen (zero-width and soft ones, direction marks): a secret with one inside is the
// same secret to whoever copies it, and no longer the same to who looks for it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::memory {

// A part of a text, and what takes its place.
struct Cut {
    std::size_t begin = 0;
    std::size_t end = 0;
    std::string instead;
};

bool has_hidden_letters(std::string_view text);
std::string without_hidden_letters(std::string_view text);

// `text` with parts replaced that were found, in their order, in what is left without its hidden letters;
// everything else, hidden or not, stays.
std::string cut_out(std::string_view text, const std::vector<Cut>& cuts);

} // namespace holdfast::memory
