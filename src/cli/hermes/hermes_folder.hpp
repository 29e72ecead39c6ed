// The plugin's folder: found beside this program, copied into a Hermes home, taken away again.
#pragma once

#include "holdfast/result.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace holdfast::cli {

// The complete folder to copy: `given`, or ../share/holdfast/hermes beside this program. Errors: not_found,
// which names what is missing in it.
Result<std::string> find_plugin_source(const std::optional<std::string>& given);

// What a plugin folder lacks, in words ("plugin.yaml is missing"); empty when it is complete.
std::string missing_in_plugin(const std::string& folder);
// Whether a folder is this plugin, whole or not. Nothing else is ever replaced or removed.
bool is_our_plugin(const std::string& folder);
std::string plugin_version(const std::string& folder);

// Puts a copy at `target`, by renaming: a host that reads it at that moment sees the old one or the new one.
// Parents are made; what root makes belongs to whom the folder above belongs. Errors: held, when something
// else is there; io, no_space.
Result<void> install_plugin(const std::string& source, const std::string& target);
// Removes it. False when there was none. Errors: as above.
Result<bool> remove_plugin(const std::string& target);

// Files of others, whole: their mode and owner are kept and a symbolic link stays one. Errors, besides those
// of the file: not_found, a link to nothing.
struct FileText {
    bool there = false;
    std::string text; // empty when it is not there
};
Result<FileText> read_file_of_others(const std::string& path);
Result<void> write_file_of_others(const std::string& path, std::string_view text);

} // namespace holdfast::cli
