/*
 * Part of slot.pml: processes, PIDs, the lock file and its record, and what the kernel does with them.
 */

/* Policies. REFUSE stands for attach, too: both leave at once with what they saw. One that finds a draining owner waits,
   as WAIT does, and then comes back to the door: nothing that WAIT and REFUSE together do not show. */
#define REPLACE 0
#define WAIT    1
#define REFUSE  2

/* Processes. A process is not its PID: contenders 0..N-1, then the fresh starter that comes when all is quiet,
 * then the helper child that each of them may have, then those who have nothing to do with the slot. */
#define FRESH     N
#define ALL       (N + 1)
#define CHILD(i)  (ALL + (i))
#define PROCESSES (2 * ALL)
#define STRANGER  PROCESSES
#define READER_ID (PROCESSES + 1)
#define NOBODY    (PROCESSES + 2)

/* Life of a process. KILLED: it runs no further step, the kernel is closing its files. */
#define UNBORN  0
#define RUNNING 1
#define KILLED  2
#define DEAD    3
byte state[ALL];

/* The helper child: it shares its parent's open file, and so the parent's OFD locks. A STUBBORN one never ends
 * unless it is killed; a MORTAL one ends when it likes. */
#define NONE     0
#define MORTAL   1
#define STUBBORN 2
#define ENDED    3
byte child[ALL];
#define child_lives(i) (child[i] == MORTAL || child[i] == STUBBORN)

/* PID numbers. who[number] is the process that has it now, or had it last: until the number is given away, a
 * pidfd_open of it finds the dead process or nothing, and that is the same to a caller who then signals. */
byte number_of[ALL];
byte who[PROCESSES];

/* The lock file. A POSIX lock belongs to a process, an OFD lock to an open file: here, number i is the one
 * descriptor that contender i opened, shared with its child. */
byte owner_byte = NOBODY;       /* byte 1, POSIX write lock */
byte life_write = NOBODY;       /* byte 0, OFD write lock */
bool life_read[ALL];            /* byte 0, OFD read locks of those who waited */
byte door = NOBODY;             /* byte 2, OFD write lock */
byte epoch;                     /* its text */

/* The record, replaced as a whole by rename, so never seen torn. */
byte record_epoch;
byte record_progress;
bool record_ready;

/* What an owner really is, whatever its record says. */
#define NOT_OWNER 0
#define STARTING  1             /* from the lock on byte 1 on */
#define READY     2
byte phase[ALL];
bool stalled[ALL];              /* it stands still in STARTING, for ever */
bool asked[ALL];                /* TERM has arrived */
#define LAST_PROGRESS 1

/* How it ended for a contender. WAITING is no end, but a place where it may rest while somebody else owns. */
#define NO_ANSWER  0
#define OWNER      1
#define HELD       2
#define SUPERSEDED 3
#define WAITING    4
#define LET_GO     5
byte answer[ALL];

byte crashes;                   /* kills from outside that may still come */
bool no_crash;                  /* this run began with none */
bool stranger_came;             /* a PID was given to a stranger (once) */

/* The names that a broken property is reported by. Hidden: not part of the state. */
hidden byte one_owner, right_target, patience_kept, no_false_held, nobody_hangs, next_start_wins, reader_truth;

/* What a reader may truthfully say is what was the case at some moment while it asked. Orphaned means: those who
 * hold life have lost their owner, so a starter on its way in is no orphan, in whatever order it locks. */
#ifdef READER
bool was_free, was_orphaned;
inline note() {
    was_free = was_free || (owner_byte == NOBODY && life_write == NOBODY);
    was_orphaned = was_orphaned || (owner_byte == NOBODY && life_write != NOBODY && state[life_write] != RUNNING)
}
#else
inline note() { skip }
#endif

/* ---- the kernel -------------------------------------------------------------------------------------------- */

/* The last process that has open file i is gone: its OFD locks go with it. */
inline close_if_last(i) {
    if
    :: state[i] == DEAD && !child_lives(i) ->
        if :: life_write == i -> life_write = NOBODY :: else fi;
        if :: door == i -> door = NOBODY :: else fi;
        life_read[i] = false;
        note()
    :: else
    fi
}

inline end_child(i) { child[i] = ENDED; close_if_last(i) }

/* Another open file has byte 0 in a way that a read lock, or a write lock, would have to wait for. */
#define life_read_would_wait(me)  (life_write != NOBODY && life_write != me)
#define others_read(me) ((me != 0 && life_read[0]) || (me != 1 && life_read[1]) || \
                         (me != 2 && life_read[2]) || (N == 3 && me != N && life_read[N]))
#define life_write_would_wait(me) (life_read_would_wait(me) || others_read(me))

/* A pidfd is readable. */
#define ended(p) ((p < ALL && state[p] == DEAD) || (p >= ALL && p < PROCESSES && !child_lives(p - ALL)))
