/* A program to be stepped through: between the bytes that it writes to the file named by its argument it
 * makes other system calls, so that counting per name and counting all in order give different answers. */
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

int main(int argc, char** argv) {
    if (argc != 2)
        return 2;
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (fd < 0)
        return 3;
    for (char step = 'a'; step < 'i'; ++step) {
        syscall(SYS_getppid);
        if (write(fd, &step, 1) != 1)
            return 4;
        if (step % 2 == 0)
            lseek(fd, 0, SEEK_CUR);
    }
    return 0;
}
