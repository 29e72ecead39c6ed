/* Stands in for a holdfast-keep of another release, as a library starts it. What OTHER_KEEPER holds is its
 * first word on the control socket, with "%d" for the process that it has started and that outlives it;
 * without the variable it ends without a word, as one does that does not know its command line. */
#include "zoo.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int main(int argc, char** argv) {
    const char* says = getenv("OTHER_KEEPER");
    int control = -1;
    for (int i = 1; i < argc; ++i)
        if (strncmp(argv[i], "--control=", 10) == 0)
            control = atoi(argv[i] + 10);
    zoo_start(1, argv); /* the other words are not for us */
    if (says == NULL)
        return 64;
    char text[200];
    const char* place = strstr(says, "%d");
    if (place == NULL) {
        snprintf(text, sizeof text, "%s", says);
    } else {
        const pid_t child = zoo_fork();
        if (child == 0) {
            close(control);
            zoo_idle();
        }
        snprintf(text, sizeof text, "%.*s%d%s", (int)(place - says), says, (int)child, place + 2);
    }
    if (send(control, text, strlen(text), MSG_NOSIGNAL) < 0)
        zoo_fail("send");
    struct pollfd one = {.fd = control, .events = POLLIN, .revents = 0};
    poll(&one, 1, -1); /* until the library has no use for it any more */
    return 0;
}
