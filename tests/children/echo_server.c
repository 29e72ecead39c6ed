/* A server on stdio: "ready" first (unless it goes to a report file), then each line comes back with "echo "
 * before it. Ends at the end of stdin. */
#define _GNU_SOURCE
#include "zoo.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    zoo_ready(0, NULL);
    char* line = NULL;
    size_t room = 0;
    while (getline(&line, &room, stdin) > 0) {
        fputs("echo ", stdout);
        fputs(line, stdout);
        fflush(stdout);
    }
    free(line);
    return 0;
}
