#include "sys/own_program.hpp"

#include "base/text.hpp"
#include "sys/errors.hpp"
#include "sys/program_path.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>

namespace holdfast::sys {

using base::cat;

std::string own_program_path() {
    std::array<char, PATH_MAX> full{};
    const ssize_t n = ::readlink("/proc/self/exe", full.data(), full.size());
    return n > 0 ? std::string(full.data(), static_cast<std::size_t>(n)) : std::string();
}

Result<std::string> absolute_path(const std::string& path) {
    if (path.starts_with('/'))
        return path;
    std::array<char, PATH_MAX> here{};
    if (::getcwd(here.data(), here.size()) == nullptr)
        return fail_sys("find the working directory");
    return cat(here.data(), here[1] == '\0' ? "" : "/", path);
}

Result<std::string> find_own_program(const char* name, const char* variable,
                                     const std::vector<std::string>& ours, const char* ours_for_people) {
    if (const char* named = std::getenv(variable); named != nullptr && *named != '\0')
        return may_execute(named)
                   ? absolute_path(named)
                   : fail(Errc::not_found, cat(variable, " names ", named, ", which cannot be executed"),
                          ENOENT);
    for (const std::string& file : ours) {
        const auto slash = file.rfind('/');
        if (slash == std::string::npos)
            continue;
        for (const char* way : {"/", "/../bin/", "/../libexec/holdfast/", "/../../bin/"})
            if (auto path = cat(file.substr(0, slash), way, name); may_execute(path))
                return path;
    }
    for (const std::string& candidate : program_candidates(name))
        if (may_execute(candidate))
            return absolute_path(candidate);
    return fail(Errc::not_found,
                cat("the program ", name, " was not found beside ", ours_for_people, " or in PATH; set ",
                    variable, " to its path"),
                ENOENT);
}

} // namespace holdfast::sys
