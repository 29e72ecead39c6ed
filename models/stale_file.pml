/*
 * How others keep a singleton: a file with a PID in it. Three starters, each of which may be killed once it owns,
 * and a stale file of a dead owner to begin with.
 *
 *   UNLINK   the file is stale: unlink it, create it anew with O_EXCL        one_owner must break
 *   RENAME   the file is stale: rename it away, create it anew with O_EXCL   one_owner must break
 *   (none)   the file stays for ever and a lock on it decides                one_owner must hold
 *
 * Everything else is the same in the three, and kind to the first two: content is written together with the
 * creation, reading it is one step, and a PID is never given away. They fail all the same, since what is removed
 * by its *name* may not be what was looked at.
 */
#define STARTERS 3
#define NO_FILE  255
#define DEAD_PID STARTERS

byte path = 0;                  /* which file the name shows now */
byte next_file = 1;
byte content[2 * STARTERS + 2]; /* the PID inside each file */
bool owns[STARTERS];
bool alive[STARTERS];
byte locked_by = DEAD_PID;      /* the lock on file 0; DEAD_PID: free */
byte crashes = 1;
hidden byte one_owner;

#define somebody_owns ((owns[0] && alive[0]) || (owns[1] && alive[1]) || (owns[2] && alive[2]))
#define is_alive(p) (p < STARTERS && alive[p])

inline own() { one_owner = !somebody_owns; assert(one_owner); owns[me] = true }

proctype Starter(byte me) {
    byte seen = NO_FILE;
    alive[me] = true;
#if defined(UNLINK) || defined(RENAME)
    byte tries = 0;
    do
    :: tries < 2 ->
        tries++;
        if
        :: atomic { path == NO_FILE ->              /* open(O_CREAT | O_EXCL), and write */
               path = next_file; next_file++; content[path] = me; own(); goto owner }
        :: atomic { path != NO_FILE -> seen = content[path] };
            if
            :: is_alive(seen) -> goto done          /* held */
            :: else
            fi;
#ifdef UNLINK
            path = NO_FILE                          /* unlink: whatever the name shows by now, or nothing */
#else
            /* rename to a name of our own: fails for all but one of those who try, on each file */
            if
            :: atomic { path != NO_FILE -> path = NO_FILE }
            :: path == NO_FILE
            fi
#endif
        fi
    :: else -> goto done
    od;
#else
    if
    :: atomic { locked_by == DEAD_PID -> locked_by = me; own() }
    :: atomic { locked_by != DEAD_PID -> goto done }
    fi;
#endif
owner:
    /* It lives for ever, or is killed; the kernel drops its lock. */
    if
    :: atomic { crashes > 0 -> crashes--; alive[me] = false; owns[me] = false;
                if :: locked_by == me -> locked_by = DEAD_PID :: else fi }
    :: skip
    fi;
    seen = 0;
done:
    seen = 0
}

init {
    atomic { content[0] = DEAD_PID; run Starter(0); run Starter(1); run Starter(2) }
}
