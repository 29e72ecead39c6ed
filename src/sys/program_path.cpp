#include "sys/program_path.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace holdfast::sys {

std::vector<std::string> program_candidates(const std::string& name) {
    if (name.find('/') != std::string::npos)
        return {name};
    std::vector<std::string> out;
    const char* path = std::getenv("PATH");
    std::string_view rest = path ? path : "/usr/local/bin:/usr/bin:/bin";
    for (;;) {
        std::size_t end = rest.find(':');
        std::string_view directory = rest.substr(0, end);
        out.push_back(directory.empty() ? name : base::cat(directory, '/', name));
        if (end == std::string_view::npos)
            return out;
        rest.remove_prefix(end + 1);
    }
}

namespace {
// 0, or the errno of what is in the way.
int cannot_execute(const std::string& path) {
    struct stat file{};
    if (::stat(path.c_str(), &file) != 0)
        return errno;
    return S_ISREG(file.st_mode) && ::faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : EACCES;
}
} // namespace

bool may_execute(const std::string& path) {
    return cannot_execute(path) == 0;
}

Result<void> check_program(const std::string& name) {
    int worst = ENOENT;
    for (const std::string& candidate : program_candidates(name)) {
        const int error = cannot_execute(candidate);
        if (error == 0)
            return {};
        if (error != ENOENT && error != ENOTDIR)
            worst = error;
    }
    return fail(Errc::cannot_start, base::cat("cannot start \"", name, "\": ", describe_errno(worst)), worst);
}

} // namespace holdfast::sys
