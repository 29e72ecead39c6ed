/* What every animal of the zoo shares. An animal
 *   - takes --token=TEXT (carried in its arguments, so that a scan finds it whatever it does to its
 * environment),
 *     --report=PATH (or $ZOO_REPORT) and --life=SECONDS (3600);
 *   - says "ready <pid> [more pids]" once its tree stands: into the report file, put in place by rename, or
 *     on stdout when there is none;
 *   - is ended by the kernel at the end of its life, every process of its tree: a timer that sends KILL, so
 * that it works for stopped ones and for those who ignore everything. A red test never litters. */
#ifndef HOLDFAST_ZOO_H
#define HOLDFAST_ZOO_H

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

/* First call of each main: reads the common arguments and starts the clock of its life. */
void zoo_start(int argc, char** argv);

/* --name=text, --name=number, --name. */
const char* zoo_text(const char* name, const char* otherwise);
long zoo_number(const char* name, long otherwise);
bool zoo_flag(const char* name);

/* fork, with the clock of life running in the child too (timers are not inherited). Ends the animal on
 * failure. */
pid_t zoo_fork(void);

/* "ready" and the caller's pid, then `count` more. */
void zoo_ready(int count, const pid_t* more);

/* Waits for signals for ever. */
_Noreturn void zoo_idle(void);
void zoo_sleep_ms(long ms);
/* Ends the animal with a sentence on stderr and code 70. */
_Noreturn void zoo_fail(const char* what);

#endif
