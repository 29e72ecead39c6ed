// Secrets out of text before it is stored: keys and tokens by their known shapes, private key blocks, bearer
// tokens, passwords in URLs, and values that are assigned to a name like api_key or password. Hashes and ids
// stay.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace holdfast::memory {

struct Redacted {
    std::string text;
    std::size_t count = 0; // how many were taken out
};

// Each secret becomes "[redacted:kind]". Text that is code or JSON written into a string (\n, \") is read as
// what it stands for.
Redacted redact(std::string_view text);

// The same for a string that stands under a name, as a member of an object does.
Redacted redact_member(std::string_view name, std::string_view text);

} // namespace holdfast::memory
