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
 *   mechanism off      IGNORE_LIFE         one_owner     byte 1 alone decides, leftovers or not
 *                      BELIEVE_RECORD      next_start_wins  a record that says ready is believed without its owner
 *                      NO_EPOCH            right_target  replace whoever owns (ping-pong)
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
 *                      LET_LIFE_GO_FIRST   cycle         with LIVES_ON: it lets go of byte 0 first, and a waiter spins
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

#include "slot_kernel.pml"
#include "slot_contender.pml"

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
#define at_rest(i) ((i == FRESH && state[i] == UNBORN) || state[i] == DEAD || \
                    answer[i] == OWNER || answer[i] == LET_GO || \
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
