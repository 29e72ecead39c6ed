/* Ends with --code=N (0) or of --signal=N, after --delay-ms=N (0). */
#include "zoo.h"

#include <stddef.h>
#include <sys/resource.h>
#include <unistd.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    zoo_ready(0, NULL);
    zoo_sleep_ms(zoo_number("delay-ms", 0));
    const int number = (int)zoo_number("signal", 0);
    if (number > 0) {
        const struct rlimit none = {0, 0};
        setrlimit(RLIMIT_CORE, &none); /* a test's SEGV leaves no core file */
        signal(number, SIG_DFL);
        kill(getpid(), number);
        zoo_idle();
    }
    return (int)zoo_number("code", 0);
}
