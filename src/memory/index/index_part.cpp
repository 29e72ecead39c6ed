#include "memory/index/index_part.hpp"

#include <algorithm>
#include <cmath>

namespace holdfast::memory {

std::uint8_t length_code(std::uint32_t terms) noexcept {
    const double code = 1 + 12 * std::log2(1.0 + terms);
    return static_cast<std::uint8_t>(std::min(255.0, code));
}

float length_of_code(std::uint8_t code) noexcept {
    return static_cast<float>(std::exp2((static_cast<double>(code) - 1) / 12) - 1);
}

void append_posting(std::vector<std::uint8_t>& bytes, std::uint32_t distance, std::uint32_t occurrences) {
    std::uint64_t value = std::uint64_t{distance} << 2 | std::min<std::uint32_t>(occurrences - 1, 3);
    for (; value >= 0x80; value >>= 7)
        bytes.push_back(static_cast<std::uint8_t>(value | 0x80));
    bytes.push_back(static_cast<std::uint8_t>(value));
}

void GrowingPart::add(std::int64_t row, std::uint32_t session, std::uint32_t time,
                      std::vector<std::uint64_t>& terms) {
    const auto document = static_cast<std::uint32_t>(row - base_);
    lengths_.resize(document + 1);
    sessions_.resize(document + 1);
    times_.resize(document + 1);
    lengths_[document] = length_code(static_cast<std::uint32_t>(terms.size()));
    sessions_[document] = session;
    times_[document] = time;
    length_ += terms.size();
    ++filled_;
    std::ranges::sort(terms);
    for (std::size_t i = 0; i < terms.size();) {
        std::size_t next = i + 1;
        while (next < terms.size() && terms[next] == terms[i])
            ++next;
        auto& list = lists_[terms[i]];
        append_posting(list.bytes, document - list.last, static_cast<std::uint32_t>(next - i));
        list.last = document;
        ++list.documents;
        i = next;
    }
}

PartView GrowingPart::view() const {
    return {base_, size(), filled_, length_, lengths_.data(), sessions_.data(), times_.data()};
}

PostingList GrowingPart::find(std::uint64_t term) const {
    const auto found = lists_.find(term);
    if (found == lists_.end())
        return {};
    const auto& bytes = found->second.bytes;
    return {bytes.data(), bytes.data() + bytes.size(), found->second.documents};
}

} // namespace holdfast::memory
