#include "memory/viewer/token.hpp"

#include "core/text.hpp"
#include "sys/errors.hpp"
#include "sys/fd.hpp"
#include "sys/whole_file.hpp"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

namespace holdfast::memory {

namespace {

constexpr std::string_view alphabet = "0123456789abcdefghjkmnpqrstvwxyz"; // 32: five bits each
constexpr std::size_t token_length = 32;

} // namespace

std::string random_word(std::size_t length) {
    std::string word(length, '0');
    for (std::size_t done = 0; done < length;) {
        std::array<unsigned char, 64> bytes{};
        const auto n = ::getrandom(bytes.data(), std::min(bytes.size(), length - done), 0);
        for (ssize_t i = 0; i < n; ++i)
            word[done++] = alphabet[bytes[static_cast<std::size_t>(i)] & 31U];
    }
    return word;
}

bool same_secret(std::string_view given, std::string_view secret) noexcept {
    if (given.size() != secret.size())
        return false;
    unsigned difference = 0;
    for (std::size_t i = 0; i < secret.size(); ++i)
        difference |= static_cast<unsigned>(given[i] ^ secret[i]) & 0xffU;
    return difference == 0;
}

Result<std::string> viewer_token(const std::string& home) {
    const auto path = core::cat(home, "/viewer.token");
    const sys::Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info {};
    // One that others could have read, or written, is no secret.
    if (file && ::fstat(file.get(), &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == ::geteuid() &&
        (info.st_mode & 0077U) == 0) {
        std::array<char, token_length + 1> text{};
        const auto n = ::read(file.get(), text.data(), text.size());
        const std::string_view read(text.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
        if (read.size() == token_length + 1 && read.back() == '\n' &&
            read.substr(0, token_length).find_first_not_of(alphabet) == read.npos)
            return std::string(read.substr(0, token_length));
    }
    auto token = random_word(token_length);
    if (auto written = sys::write_whole(path, core::cat(token, '\n')); !written)
        return std::unexpected(std::move(written.error()));
    return token;
}

} // namespace holdfast::memory
