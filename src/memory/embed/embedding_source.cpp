#include "memory/embed/embedding_source.hpp"

#include "json/json.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast::memory {

std::vector<float> vector_of(const json::array& numbers) {
    constexpr double most_number = 1e18; // its square must still be a number
    std::vector<float> vector;
    vector.reserve(numbers.size());
    for (const auto& number : numbers) {
        const double value = number.is_number() ? number.to_number<double>() : most_number * 2;
        if (!(std::abs(value) <= most_number))
            return {};
        vector.push_back(static_cast<float>(value));
    }
    return vector;
}

bool alike(const Vectors& vectors) noexcept {
    return std::ranges::all_of(vectors, [&](const auto& vector) {
        return !vector.empty() && vector.size() == vectors.front().size();
    });
}

} // namespace holdfast::memory
