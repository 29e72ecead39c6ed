// The keeper: starts the helper, is the parent of last resort of everything it starts, and ends it all when
// the front or the host is gone. Single-threaded, one loop, no allocation that grows.
#pragma once

#include "keep/keeper_options.hpp"

namespace holdfast::keep {

// Runs until nothing of the tree is left. Returns the exit status for the process.
int run_keeper(const KeeperOptions& options);

// argv of the process -> run_keeper; prints bad arguments to stderr.
int keeper_main(int argc, char** argv);

} // namespace holdfast::keep
