// Finding holdfast-keep. A library does not know where it was installed, but it can ask where it was loaded
// from.
#include "base/text.hpp"
#include "supervise/kept_process.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdlib>

namespace holdfast::supervise {

namespace {

constexpr const char* name = "holdfast-keep";

std::string directory_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    return slash == std::string::npos ? std::string(".") : path.substr(0, slash);
}

std::string own_library() {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&find_keeper_program), &info) == 0 ||
        info.dli_fname == nullptr)
        return {};
    std::array<char, PATH_MAX> full{};
    return ::realpath(info.dli_fname, full.data()) != nullptr ? std::string(full.data()) : std::string();
}

std::string own_program() {
    std::array<char, PATH_MAX> full{};
    const ssize_t n = ::readlink("/proc/self/exe", full.data(), full.size());
    return n > 0 ? std::string(full.data(), static_cast<std::size_t>(n)) : std::string();
}

// The keeper starts in the helper's directory, where a relative path would mean something else.
std::string absolute(const std::string& path) {
    std::array<char, PATH_MAX> here{};
    if (path.starts_with('/') || ::getcwd(here.data(), here.size()) == nullptr)
        return path;
    return base::cat(here.data(), '/', path);
}

bool is_program(const std::string& path) {
    return ::access(path.c_str(), X_OK) == 0;
}

} // namespace

Result<std::string> find_keeper_program(const std::string& given) {
    if (!given.empty())
        return is_program(given)
                   ? Result<std::string>(absolute(given))
                   : fail(Errc::not_found, base::cat("the keeper program ", given, " cannot be executed"));
    if (const char* named = std::getenv("HOLDFAST_KEEP"); named != nullptr && *named != '\0')
        return is_program(named) ? Result<std::string>(absolute(named))
                                 : fail(Errc::not_found, base::cat("HOLDFAST_KEEP names ", named,
                                                                   ", which cannot be executed"));
    for (const std::string& self : {own_library(), own_program()}) {
        if (self.empty())
            continue;
        const std::string beside = directory_of(self);
        for (const char* way : {"/", "/../bin/", "/../libexec/holdfast/", "/../../bin/"})
            if (const std::string path = base::cat(beside, way, name); is_program(path))
                return path;
    }
    const char* path = std::getenv("PATH");
    std::string_view rest = path != nullptr ? path : "";
    while (!rest.empty()) {
        const std::size_t end = rest.find(':');
        if (const std::string candidate = base::cat(rest.substr(0, end), '/', name); is_program(candidate))
            return absolute(candidate);
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    }
    return fail(Errc::not_found,
                "holdfast-keep was not found beside this library or in PATH; set HOLDFAST_KEEP to its path");
}

} // namespace holdfast::supervise
