/*
 * The slot protocol (docs/slot-protocol.md) as a model that spin searches to the last state.
 *
 * One step of the model is one system call, or several of which all but one can be seen by nobody else.
 * Between any two steps any process may be ended by kill -9 (World), and the kernel then drops its locks in the
 * kernel's order. models/README.md says what is left out and why that is sound.
 *
 * The good protocol is the source without switches. Each switch takes one mechanism away, or puts back one
 * sentence of the protocol as it was first written, and models/check expects the property named here to break:
 *
 *   as first written   EPOCH_AFTER_OWNER   right_target  the epoch is written after byte 1 is locked
 *                      WAIT_LIFE_AFTER_KILL nobody_hangs after KILL, wait for byte 0 and not for the process
 *                      WAIT_IN_DOOR        nobody_hangs  one who only waits for leftovers keeps the door
 *                      START_OVER_FRESH    right_target  "start over" forgets the epoch that was meant
 *   mechanism off      NO_EPOCH            right_target  replace whoever owns (ping-pong)
 *                      BARE_PID            right_target  check, then kill(pid), no pidfd
 *                      CLEAN_OUTSIDE       right_target  leftovers are ended without the door
 *                      LEFTOVER_ANY_LOCK   right_target  a read lock on life makes a leftover, too
 *                      PROBE_BY_TAKING     no_false_held a reader takes byte 1 to see whether it is free
 *                      LIFE_NO_WAIT        no_false_held the starter does not wait out an instant's read lock
 *                      FIXED_PATIENCE      patience      a deadline that does not move with progress
 *                      RECORD_LOST         patience      the disk is full, so progress cannot be seen
 *                      SPAWN_IN_DOOR       nobody_hangs  the helper is started before the door is left
 *                      LIFE_FIRST          reader_truth  byte 0 is locked before byte 1
 *                      READER_ASKS_ONCE    reader_truth  the reader does not ask the owner byte again
 *                      READER_ASKS_WRITE   reader_truth  the reader asks whether a write lock would be granted
 *                      FILES_OUTLIVE       right_target  another process shares the owner's table of descriptors
 *                                                        (CLONE_FILES), so byte 1 outlives the owner's PID
 *                      LIVES_ON            right_target  an owner lets go of the slot and lives on
 *                      LET_LIFE_GO_FIRST   no cycle      (with LIVES_ON) it lets go of byte 0 before byte 1: a waiter spins
 *   the cure for LIVES_ON: SIGNAL_IN_DOOR, signals are sent, and slots let go of, inside the door.
 *
 * The configuration: N contenders, in every mix of policies or with ONLY_REPLACE=1 all under replace; CRASHES, the
 * most kills from outside; READER adds a reader.
 */
#ifndef N
#define N 3
#endif
#ifndef CRASHES
#define CRASHES 1
#endif

/* Policies. REFUSE stands for attach, too: both leave at once with what they saw. */
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

/* ---- signals, and who may be reached by one ---------------------------------------------------------------- */

/* A signal to the owner. `meant` is the process that owned the slot when the contender set out. A signal to a
 * dead process reaches nobody (ESRCH). */
#define owner_target_ok(p) (ended(p) || (p < ALL && p == meant && (state[p] == KILLED || owner_byte == p)))
/* Started and moving: hands off. */
#define moving(p) (state[p] == RUNNING && phase[p] == STARTING && !stalled[p])

inline signal_owner(kill) {
#ifdef BARE_PID
    target = who[number];
#endif
    right_target = owner_target_ok(target);
    assert(right_target);
    if
    :: !ended(target) ->
        patience_kept = !moving(target);
        assert(patience_kept);
        if
        :: kill -> state[target] = KILLED
        :: else -> asked[target] = true
        fi
    :: else
    fi
}

/* A signal to what is taken for a leftover: it must be a child whose owner is gone. */
inline signal_leftover() {
#ifdef BARE_PID
    target = who[number];
#endif
    right_target = ended(target) || (target >= ALL && target < PROCESSES && owner_byte != target - ALL &&
                                     state[target - ALL] != RUNNING);
    assert(right_target);
    if
    :: !ended(target) -> end_child(target - ALL)
    :: else
    fi
}

/* ---- a contender, and the owner it may become -------------------------------------------------------------- */

/* A new process may be given the number of any dead one that is still to be had. */
inline be_born() {
    if
    :: number_of[me] = me
    :: state[0] == DEAD && who[number_of[0]] == 0 -> number_of[me] = number_of[0]
    :: state[1] == DEAD && who[number_of[1]] == 1 -> number_of[me] = number_of[1]
#if N == 3
    :: state[2] == DEAD && who[number_of[2]] == 2 -> number_of[me] = number_of[2]
#endif
    :: child[0] == ENDED && who[CHILD(0)] == CHILD(0) -> number_of[me] = CHILD(0)
    :: child[1] == ENDED && who[CHILD(1)] == CHILD(1) -> number_of[me] = CHILD(1)
#if N == 3
    :: child[2] == ENDED && who[CHILD(2)] == CHILD(2) -> number_of[me] = CHILD(2)
#endif
    fi;
    who[number_of[me]] = me;
    state[me] = RUNNING
}

/* What the record says of the owner that was meant. A record of another epoch says nothing. */
#define record_current (record_epoch == meant_epoch)
#define record_says_ready (record_current && record_ready)
#define record_moved (record_current && (record_ready || record_progress != seen))

/* The stall timer. A moving owner moves within the time: that is what `moving` means. So the timer ends only on
 * one who stands still, unless movement cannot be seen. */
#ifdef FIXED_PATIENCE
#define stall_timer true
#elif defined(RECORD_LOST)
#define stall_timer (!record_moved)
#else
#define stall_timer (!record_moved && !(target < ALL && moving(target)))
#endif

#ifdef RECORD_LOST
#define write_record_or_not(p, r) if :: record_progress = p; record_ready = r :: skip fi
#else
#define write_record_or_not(p, r) record_progress = p; record_ready = r
#endif

#define leave_door() door = NOBODY
#define forget() number = 0; target = NOBODY; seen = 0
#define forget_meant() meant = NOBODY; meant_epoch = 0; meant_pid = 0; kill_next = false

#define no_other_lives(me) \
    (no_other(me, 0) && no_other(me, 1) && no_other(me, 2) && (N == 2 || no_other(me, N)))
#define no_other(me, i) (i == me || (!child_lives(i) && !(state[i] == RUNNING && phase[i] != NOT_OWNER)))

inline start_child() {
    if
    :: child[me] = MORTAL
    :: child[me] = STUBBORN
    :: skip
    fi
}

#define after_my_twin (!has_twin || state[me - 1] != UNBORN)

proctype Contender(byte me, policy; bool has_twin) {
    byte number;                /* the number that the kernel gave for the owner, or found for a leftover */
    byte target = NOBODY;       /* the process that our pidfd refers to */
    byte meant = NOBODY;        /* for the properties only: the process we set out to replace */
    byte meant_epoch, meant_pid;
    byte seen;                  /* progress when we last looked */
    bool kill_next;
    {
#ifdef CLEAN_OUTSIDE
        atomic { be_born() };
        if
        :: atomic { policy == REPLACE && owner_byte == NOBODY -> skip };
            goto clean
        :: skip
        fi;
#endif

        /* A process that waits for the door for the first time has done nothing yet that anybody could see but
         * to have a PID, and it has that inside the door, too: so it is born when it gets the door. And where two
         * contenders are alike, let the one with the smaller name come first. */
        atomic { after_my_twin && door == NOBODY ->
                 if :: state[me] == UNBORN -> be_born() :: else fi;
                 door = me; goto inside };

at_door:
        atomic { door == NOBODY -> door = me; forget(); kill_next = false };
inside:

        /* Inside. Bytes 1 and 0 can only come free, and nobody but us writes the epoch: so asking byte 1,
         * reading the epoch and asking byte 0 are one step. */
        if
        :: atomic { owner_byte != NOBODY ->
               no_false_held = (owner_byte < ALL && owner_byte != me);
               assert(no_false_held);
               number = number_of[owner_byte];
               leave_door();
               if
               :: policy == REFUSE -> answer[me] = HELD; goto leave
               :: policy == WAIT -> answer[me] = WAITING; goto wait_for_life
               :: policy == REPLACE ->
#if defined(NO_EPOCH) || defined(START_OVER_FRESH)
                   /* START_OVER_FRESH clears meant_epoch below; NO_EPOCH never compares at all. `meant` stays:
                    * whom the contender set out to replace does not change by its forgetting it. */
                   if
                   :: meant == NOBODY -> meant = owner_byte
                   :: else
                   fi;
                   if
#ifdef START_OVER_FRESH
                   :: meant_epoch != 0 && meant_epoch != epoch -> answer[me] = SUPERSEDED; goto leave
#endif
                   :: else -> meant_epoch = epoch; meant_pid = number
                   fi
#else
                   if
                   :: meant_epoch == 0 -> meant_epoch = epoch; meant_pid = number; meant = owner_byte
                   :: meant_epoch == epoch && meant_pid == number
                   :: else -> answer[me] = SUPERSEDED; goto leave
                   fi
#endif
               fi }
        :: atomic { owner_byte == NOBODY && life_write != NOBODY ->
               if
               :: policy == REPLACE -> goto clean
               :: else ->
                   answer[me] = WAITING;
#ifndef WAIT_IN_DOOR
                   leave_door();
#endif
                   goto wait_for_life
               fi }
        :: atomic { owner_byte == NOBODY && life_write == NOBODY -> goto take }
        fi;

        /* ---- replace: step 1, the pidfd first, then byte 1 again */
        atomic { target = who[number] };
        if
        :: atomic { owner_byte < ALL && number_of[owner_byte] == number -> skip }
        :: atomic { !(owner_byte < ALL && number_of[owner_byte] == number) ->
#ifdef START_OVER_FRESH
               meant_epoch = 0;
#endif
               goto at_door }
        fi;
        /* step 2 */
        if
#ifndef NO_EPOCH
        :: atomic { epoch != meant_epoch -> answer[me] = SUPERSEDED; goto leave }
        :: epoch == meant_epoch
#else
        :: skip
#endif
        fi;

        /* step 4 */
look:   if
        :: atomic { record_says_ready -> skip }
        :: atomic { !record_says_ready -> seen = (record_current -> record_progress : 0) };
            if
            :: atomic { record_moved -> goto look }
            :: atomic { stall_timer && !ended(target) -> skip }
            :: atomic { ended(target) -> goto at_door }
            fi
        fi;

        /* steps 5 and 6: TERM, and when the grace is over KILL */
signal:
#ifdef SIGNAL_IN_DOOR
        atomic { door == NOBODY -> door = me };
        if
        :: atomic { owner_byte < ALL && number_of[owner_byte] == number && epoch == meant_epoch -> skip }
        :: atomic { !(owner_byte < ALL && number_of[owner_byte] == number && epoch == meant_epoch) ->
               leave_door(); goto at_door }
        fi;
        atomic { signal_owner(kill_next); leave_door() };
#else
        atomic { signal_owner(kill_next) };
#endif
        if
        :: atomic { !life_read_would_wait(me) -> life_read[me] = true };
            atomic { life_read[me] = false; goto at_door }
        :: atomic { !kill_next -> kill_next = true; goto signal }      /* grace over, at any time */
#ifndef WAIT_LIFE_AFTER_KILL
        :: atomic { kill_next && ended(target) -> goto at_door }
#endif
        fi;

        /* ---- wait: for life, whoever has it */
wait_for_life:
end_waiting:
        atomic { !life_read_would_wait(me) -> life_read[me] = true };
#ifdef WAIT_IN_DOOR
        if
        :: atomic { door == me -> life_read[me] = false; answer[me] = NO_ANSWER; goto take }
        :: door != me
        fi;
#endif
        atomic { life_read[me] = false; answer[me] = NO_ANSWER; goto at_door };

        /* ---- leftovers, inside the door: find one by what it holds, pidfd, look again, signal */
clean:  if
#ifdef CLEAN_OUTSIDE
        :: atomic { door != me && life_write == NOBODY -> goto at_door }
        :: atomic { door == me && life_write == NOBODY -> goto take }
#else
        :: atomic { life_write == NOBODY -> goto take }
#endif
        :: atomic { life_write != NOBODY && child_lives(life_write) -> number = CHILD(life_write) }
        :: atomic { life_write != NOBODY && state[life_write] == RUNNING -> number = number_of[life_write] }
#ifdef LEFTOVER_ANY_LOCK
        :: atomic { life_read[0] && me != 0 -> number = number_of[0] }
        :: atomic { life_read[1] && me != 1 -> number = number_of[1] }
#endif
        fi;
        atomic { target = who[number] };
        if
        :: atomic { life_write != NOBODY && (who[number] == CHILD(life_write) && child_lives(life_write) ||
                                             who[number] == life_write && state[life_write] == RUNNING) -> skip }
#ifdef LEFTOVER_ANY_LOCK
        :: atomic { who[number] < ALL && life_read[who[number]] -> skip }
#endif
        :: else -> goto clean
        fi;
        atomic { signal_leftover(); target = NOBODY; number = 0; goto clean };

        /* ---- free, and the door is ours: take it */
take:
#ifdef EPOCH_AFTER_OWNER
        atomic { owner_byte == NOBODY -> owner_byte = me; phase[me] = STARTING; note() };
        atomic { epoch++ };
#else
        atomic { epoch++ };
#ifdef LIFE_FIRST
        atomic { !life_write_would_wait(me) -> life_write = me; note() };
#endif
        atomic { no_false_held = (owner_byte == NOBODY); assert(no_false_held);
                 owner_byte = me; phase[me] = STARTING; note() };
#endif
#ifdef LIFE_NO_WAIT
        atomic { no_false_held = !life_write_would_wait(me); assert(no_false_held); life_write = me };
#elif !defined(LIFE_FIRST)
        atomic { !life_write_would_wait(me) -> life_write = me };
#endif
        /* From here on this process believes that the slot is its own: whoever must end before has ended. */
        atomic { one_owner = no_other_lives(me); assert(one_owner);
                 if :: stalled[me] = true :: skip fi;
                 record_epoch = epoch; record_progress = 0; record_ready = false;
#ifdef SPAWN_IN_DOOR
                 start_child() };
        atomic { leave_door(); answer[me] = OWNER
#else
                 /* To die between these three is to die before the door was asked for, or without a child. */
                 leave_door(); answer[me] = OWNER;
                 start_child();
#endif
                 forget(); forget_meant() };

end_owner:
        do
        :: atomic { phase[me] == STARTING && !stalled[me] && seen < LAST_PROGRESS ->
               seen++; write_record_or_not(seen, false) }
        :: atomic { phase[me] == STARTING && !stalled[me] && seen == LAST_PROGRESS ->
               phase[me] = READY; seen = 0; write_record_or_not(0, true) }
        :: atomic { asked[me] -> break }
#ifdef LIVES_ON
        :: me != FRESH && phase[me] == READY && !child_lives(me) -> goto let_go
#endif
        od;
        /* Asked to go: end the helper first, then exit. One who does not do so is killed when the grace is over. */
        atomic { if :: child_lives(me) -> end_child(me) :: else fi };

#ifdef LIVES_ON
        goto leave;
        /* Byte 1 first, as the kernel does it at a death; else a waiter would spin between door and life. */
let_go:
#ifdef SIGNAL_IN_DOOR
        atomic { door == NOBODY -> door = me };
        atomic { owner_byte = NOBODY; phase[me] = NOT_OWNER; note() };
        atomic { life_write = NOBODY; answer[me] = LET_GO; note(); leave_door() };
#elif defined(LET_LIFE_GO_FIRST)
        atomic { life_write = NOBODY; note() };
        atomic { owner_byte = NOBODY; phase[me] = NOT_OWNER; answer[me] = LET_GO; note() };
#else
        atomic { owner_byte = NOBODY; phase[me] = NOT_OWNER; note() };
        atomic { life_write = NOBODY; answer[me] = LET_GO; note() };
#endif
end_lives_on:
        false;
#endif

leave:  state[me] = KILLED;     /* exit, and a kill, are the same to the kernel */
        false
    } unless {
        state[me] == KILLED;
        /* The kernel closes the files of a dead process: byte 1 first, then the open file, if nobody shares it. */
        atomic { forget(); forget_meant();
                 stalled[me] = false; asked[me] = false; phase[me] = NOT_OWNER;
                 if :: me != FRESH -> answer[me] = NO_ANSWER :: else fi;      /* nobody asks the dead */
#ifdef FILES_OUTLIVE
                 state[me] = DEAD };
        atomic { if :: owner_byte == me -> owner_byte = NOBODY; note() :: else fi };
        atomic { close_if_last(me) }
#else
                 if :: owner_byte == me -> owner_byte = NOBODY; note() :: else fi };
        atomic { state[me] = DEAD; close_if_last(me) }
#endif
    }
}

/* ---- a reader: two questions that take nothing ------------------------------------------------------------- */
#ifdef READER
proctype Reader() {
    /* Owner, then life, and when that says ORPHANED, owner once more. */
    atomic { was_free = false; was_orphaned = false; note();
             if :: owner_byte != NOBODY -> goto said :: else fi };
#ifdef READER_ASKS_WRITE
    atomic { if :: life_write == NOBODY && !others_read(NOBODY) ->
#else
    atomic { if :: life_write == NOBODY ->
#endif
                reader_truth = was_free; assert(reader_truth); goto said :: else fi };
#ifdef READER_ASKS_ONCE
    atomic { reader_truth = was_orphaned; assert(reader_truth) };
#else
    atomic { if :: owner_byte != NOBODY -> skip :: else -> reader_truth = was_orphaned; assert(reader_truth) fi };
#endif
said:
    atomic { was_free = false; was_orphaned = false }
}
#endif

#ifdef PROBE_BY_TAKING
proctype Prober() {
    atomic { owner_byte == NOBODY -> owner_byte = READER_ID };
    owner_byte = NOBODY
}
#endif

/* ---- what comes from outside ------------------------------------------------------------------------------- */

inline crash(i) { crashes > 0 && state[i] == RUNNING -> crashes--; state[i] = KILLED }

inline stranger_with(i) {
    !stranger_came && state[i] == DEAD && who[number_of[i]] == i -> who[number_of[i]] = STRANGER; stranger_came = true
}
inline stranger_with_child(i) {
    !stranger_came && child[i] == ENDED && who[CHILD(i)] == CHILD(i) -> who[CHILD(i)] = STRANGER; stranger_came = true
}

proctype World() {
end_world:
    do
    /* kill -9, at any step of anybody */
    :: atomic { crash(0) }
    :: atomic { crash(1) }
#if N == 3
    :: atomic { crash(2) }
#endif
    /* a helper ends by itself */
    :: atomic { child[0] == MORTAL -> end_child(0) }
    :: atomic { child[1] == MORTAL -> end_child(1) }
    :: atomic { child[2] == MORTAL -> end_child(2) }
#if N == 3
    :: atomic { child[3] == MORTAL -> end_child(3) }
#endif
    /* a stranger is born with the number of a dead process */
    :: atomic { stranger_with(0) }
    :: atomic { stranger_with(1) }
    :: atomic { stranger_with_child(0) }
    :: atomic { stranger_with_child(1) }
#if N == 3
    :: atomic { stranger_with(2) }
    :: atomic { stranger_with_child(2) }
#endif
    od
}

/* ---- when nothing moves any more --------------------------------------------------------------------------- */

/* Nobody may be without an answer, unless it waits as it was told to and there is something to wait for. */
#define slot_busy (owner_byte != NOBODY || life_write != NOBODY)
#define at_rest(i) ((i == FRESH && state[i] == UNBORN) || state[i] == DEAD || answer[i] == OWNER || answer[i] == LET_GO || \
                    (answer[i] == WAITING && slot_busy))
#define all_at_rest (at_rest(0) && at_rest(1) && at_rest(2) && (N == 2 || at_rest(N)))
/* Everybody who came was answered, and when nobody was killed, somebody owns the slot. */
#ifdef LIVES_ON
#define somebody_won true
#else
#define somebody_won (owner_byte != NOBODY || !no_crash)
#endif

proctype Quiet() {
    atomic { timeout ->
        nobody_hangs = all_at_rest && somebody_won;
        assert(nobody_hangs);
        run Contender(FRESH, REPLACE, false) };
    /* Whatever happened before, a plain start now wins; or one who had been waiting came first. */
    atomic { timeout ->
        nobody_hangs = all_at_rest;
        assert(nobody_hangs);
#ifdef LIVES_ON
        next_start_wins = answer[FRESH] == OWNER || answer[FRESH] == SUPERSEDED;
#else
        next_start_wins = owner_byte != NOBODY && life_write == owner_byte && state[owner_byte] == RUNNING &&
                          (owner_byte == FRESH || answer[FRESH] == SUPERSEDED);
#endif
        assert(next_start_wins) }
}

#ifndef ONLY_REPLACE
#define ONLY_REPLACE 0
#endif
init {
    atomic {
        byte i = 0;
        do
        :: i < ALL -> number_of[i] = i; who[i] = i; who[CHILD(i)] = CHILD(i); i++
        :: else -> break
        od;
        if
        :: crashes = 0
#if CRASHES > 0
        :: crashes = 1
#endif
#if CRASHES > 1
        :: crashes = 2
#endif
        fi;
        no_crash = (crashes == 0);
        /* Contenders are alike, so a mix counts once, whoever has which policy. */
        byte policy = REPLACE;
        bool has_twin = false;
        i = 0;
        do
        :: i < N && ONLY_REPLACE == 0 && policy < REFUSE -> policy++; has_twin = false
        :: i < N -> run Contender(i, policy, has_twin); i++; has_twin = true
        :: i == N -> break
        od;
        policy = 0; has_twin = false;
        run World();
        run Quiet();
#ifdef READER
        run Reader();
#endif
#ifdef PROBE_BY_TAKING
        run Prober();
#endif
        i = 0
    }
}
