// The descriptors of one process, as far as they connect it to others.
#pragma once

#include "core/process_facts.hpp"
#include "sys/unix_sockets.hpp"

namespace holdfast::doctor {

// Fills in links, input, output, has_terminal (adding to it) and descriptors_known. Far ends of unix sockets
// are answered from `sockets`; those of pipes are not asked for here.
void read_descriptors(core::ProcessFacts& process, const sys::UnixSockets& sockets);

// Asks the kernel for the far ends of stdin, and of stdout if nobody writes to stdin.
void probe_standard_streams(core::ProcessFacts& process);

// Asks the kernel for the far ends of all its pipes.
void probe_links(core::ProcessFacts& process);

} // namespace holdfast::doctor
