// Finding holdfast-keep. A library does not know where it was installed, but it can ask where it was loaded
// from.
#include "base/text.hpp"
#include "supervise/kept_process.hpp"
#include "sys/own_program.hpp"
#include "sys/program_path.hpp"

#include <dlfcn.h>

#include <array>
#include <climits>
#include <cstdlib>

namespace holdfast::supervise {

namespace {

std::string own_library() {
    Dl_info info{};
    if (::dladdr(reinterpret_cast<const void*>(&find_keeper_program), &info) == 0 ||
        info.dli_fname == nullptr)
        return {};
    std::array<char, PATH_MAX> full{};
    return ::realpath(info.dli_fname, full.data()) != nullptr ? std::string(full.data()) : std::string();
}

} // namespace

Result<std::string> find_keeper_program(const std::string& given) {
    // The keeper starts in the helper's directory, where a relative path would mean something else.
    if (!given.empty())
        return sys::may_execute(given)
                   ? sys::absolute_path(given)
                   : fail(Errc::not_found, base::cat("the keeper program ", given, " cannot be executed"));
    return sys::find_own_program("holdfast-keep", "HOLDFAST_KEEP", {own_library(), sys::own_program_path()},
                                 "this library");
}

} // namespace holdfast::supervise
