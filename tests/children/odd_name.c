/* Has blanks and parentheses in its name, which break every reader that splits /proc/PID/stat on blanks or at
 * the first parenthesis. --name=TEXT for another (at most 15 bytes). */
#include "zoo.h"

#include <stddef.h>
#include <sys/prctl.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    if (prctl(PR_SET_NAME, zoo_text("name", "a) b (c"), 0, 0, 0) != 0)
        zoo_fail("cannot rename myself");
    zoo_ready(0, NULL);
    zoo_idle();
}
