// The pages, as they were when the program was built.
#pragma once

#include <span>
#include <string_view>

namespace holdfast::memory {

struct Page {
    std::string_view path;
    std::string_view content_type;
    std::string_view text;
};

std::span<const Page> viewer_pages();

} // namespace holdfast::memory
