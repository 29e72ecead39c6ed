// The descriptors of one process, as far as they connect it to others.
#pragma once

#include "base/process_facts.hpp"
#include "sys/unix_sockets.hpp"

namespace holdfast::doctor {

// Fills in links, input, output, has_terminal (adding to it) and descriptors_known. Far ends of unix sockets
// are answered from `sockets`; those of pipes are not asked for here.
void read_descriptors(base::ProcessFacts& process, const sys::UnixSockets& sockets);

// Asks the kernel for the far ends of stdin, and of stdout if nobody writes to stdin.
void probe_standard_streams(base::ProcessFacts& process);

// Asks the kernel for the far ends of all its pipes.
void probe_links(base::ProcessFacts& process);

} // namespace holdfast::doctor
