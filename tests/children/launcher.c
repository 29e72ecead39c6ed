/* npx and its like: a launcher whose child is the real server. With --die the launcher leaves at once, else
 * it stays and waits, passing no signal on. Reports itself and the server. */
#include "zoo.h"

#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char** argv) {
    zoo_start(argc, argv);
    const pid_t server = zoo_fork();
    if (server == 0)
        zoo_idle();
    zoo_ready(1, &server);
    if (zoo_flag("die"))
        return 0;
    int status = 0;
    waitpid(server, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
