// Letters that are written in pieces: a letter and the marks behind it (as macOS writes names of files),
// Korean letters one by one, kana and their sound marks. They are the same text as the whole letter.
#pragma once

namespace holdfast::memory {

// The letter that the two make up; 0 when they make up none. Small letters only. Called again with the result
// and the next mark, it puts together what has several.
char32_t composed(char32_t letter, char32_t mark) noexcept;

} // namespace holdfast::memory
