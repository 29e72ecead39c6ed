// Before a long wait: give back what will not be touched again soon.
#pragma once

namespace holdfast::sys {

// Unmaps the program's own code pages. They stay in the page cache and come back one by one when they are run
// again, so a process that waits for hours shows the few pages it waits in, and not all that it once started
// up with.
void drop_code_pages();

} // namespace holdfast::sys
