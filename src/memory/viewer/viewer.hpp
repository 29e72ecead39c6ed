// The viewer: pages for people, served by the owner of the home on the loopback address.
//
// What may be seen needs a link, which the owner makes for whoever may use its home and which opens one page,
// once (core/page_sessions, docs/page-security.md). All that pages know ends with the owner. An open page
// holds the owner.
#pragma once

#include "memory/serve/owner_desk.hpp"

#include <cstdint>
#include <memory>

namespace holdfast::memory {

inline constexpr std::uint16_t default_viewer_port = 8377;

// Never fails, and never waits: a port that is taken gives the next free one; when none can be had it is said
// on stderr, and the home is served without pages.
std::unique_ptr<Companion> start_viewer(OwnerDesk& desk, std::uint16_t port);

// One line on stderr for whoever started this process: where the pages are, without anything that opens them.
// `remark`: may be empty.
void say_viewer_address(const std::string& address, const std::string& remark);

} // namespace holdfast::memory
