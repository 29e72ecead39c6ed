// Which names secrets stand under, and which values under such a name are one.
#pragma once

#include <string_view>

namespace holdfast::memory {

// api_key, Api-Key, "API Key", stripeApiKey, DB_PASSWORD, …: blanks, _ and - and case do not matter, and what
// stands before it neither.
bool is_secret_name(std::string_view name);

// The name of a password, in some languages: what stands under it need not look like a secret.
bool is_password_name(std::string_view name);

// "pass" alone: the name of a password, and a word of much else (tests, seasons, mountains).
bool is_pass(std::string_view name);

// Whether what stands before "pass" makes it something else: "boarding pass: …".
bool is_pass_of_prose(std::string_view before);

// A value that is no count and no outcome of a test.
bool is_password_under_pass(std::string_view value);

// A value behind an option that takes a password: any, unless it stands for one.
bool is_password_given(std::string_view value);

// A word that is all there is under the name of a password (DB_PASSWORD=letmein): any, unless it stands for
// one, or is the name of a kind of value (SecretStr).
bool is_password_alone(std::string_view value);

// A value without blanks, assigned to such a name in running text: one that somebody chose or a machine made,
// not a word of prose, no name of a variable, no path, no address.
bool looks_secret(std::string_view value);

// A value that is set apart, by quotes or as a member of an object. Under the name of a password it is one,
// unless it stands for one (****, $VAR, <here>, "required"); several words are one up to six. Under other
// names as above.
bool is_secret_under(std::string_view name, std::string_view value);

} // namespace holdfast::memory
