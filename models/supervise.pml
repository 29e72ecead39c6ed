/*
 * Supervision: holds x crash x respawn x shutdown, as the supervisor library does it.
 *
 * Threads take and drop holds on one helper. The first hold starts it, all others join that start (single-flight);
 * the last drop arms a linger timer, and when that ends with nobody holding, the helper is ended. A helper that
 * dies under holders is replaced once, after a backoff timer; too many deaths and the supervisor states a failure.
 * Shutdown may come at any time and ends everything.
 *
 * The supervisor is one mutex and a step per event, so each event is one atomic step here. What makes it hard is
 * what stands between the world and the event: an exit is seen twice (the pidfd and the end of the pipe), later
 * than it happened; a timer that was cancelled may have fired already. So each event carries the generation or the
 * token that it belongs to, and one of another is dropped.
 *
 *   no_resurrection   (G5) a helper is started only for a holder and never after shutdown; and when nothing moves
 *                     any more and nobody holds, no process lives
 *   one_generation    (G6) never two live helpers
 *   one_replacement   (G6) each death under holders gives one replacement, not none and not two
 *   holders_served    when nothing moves any more, a holder has a ready helper, or was told failure or shutdown
 *
 * Variants that must fail:
 *   KEEPALIVE         no_resurrection  a periodic "is it there? start it" that does not look at the holds
 *   TIMER_NOT_STALE   no_resurrection  a backoff timer that fires although the last hold was dropped meanwhile
 *   EXIT_NOT_STALE    no_resurrection  the second report of an exit is believed, whichever generation it was of:
 *                                      a live helper is taken for dead, and nobody ends it
 *   NO_SINGLE_FLIGHT  one_generation   each hold that finds no ready helper starts one
 *   START_OVER_STOP   one_generation   a hold that comes while the helper is being ended starts one at once
 *   LOSES_CRASH       one_replacement  a hold that was taken during the backoff cancels the backoff
 */
#define THREADS 3
#ifndef ROUNDS
#define ROUNDS 2
#endif
#ifndef CRASHES
#define CRASHES 2
#endif
#define MAX_DEATHS 1            /* in a row, before the supervisor states a failure */

/* The supervisor */
#define NO_HELPER 0
#define STARTING  1
#define READY     2
#define STOPPING  3             /* told to end; its exit has not been seen yet */
#define BACKOFF   4             /* dead, and to be replaced when the timer ends */
#define FAILED    5
byte mode = NO_HELPER;
byte holds;
byte generation;                /* of the helper in STARTING, READY, STOPPING; of the dead one in BACKOFF */
byte deaths;                    /* in a row */
bool shutdown;

/* Timers. The token tells an armed timer from one that was cancelled after it had fired. */
bool linger_armed, backoff_armed;
bool linger_fired_stale, backoff_fired_stale;   /* an event of a cancelled timer is still in the queue */

/* The world */
bool alive;                     /* a helper process */
byte live_generation;
bool stop_sent;
byte exit_by_pidfd, exit_by_pipe;   /* reports of an exit on their way: of which generation; 0 none */
byte crashes;

/* For the properties only */
byte deaths_to_replace;         /* deaths under holders that have not been replaced yet */
hidden byte no_resurrection, one_generation, one_replacement, holders_served;

inline spawn() {
    no_resurrection = holds > 0 && !shutdown;
    assert(no_resurrection);
    one_generation = !alive;
    assert(one_generation);
    generation++;
    live_generation = generation;
    alive = true;
    stop_sent = false;
    mode = STARTING
}

inline cancel_linger() {
    if
    :: linger_armed -> linger_armed = false;
        if :: linger_fired_stale = true :: skip fi      /* too late, perhaps */
    :: else
    fi
}
inline cancel_backoff() {
    if
    :: backoff_armed -> backoff_armed = false;
        if :: backoff_fired_stale = true :: skip fi
    :: else
    fi
}
inline stop_helper() { stop_sent = true; mode = STOPPING }

/* ---- the supervisor's steps */

inline on_hold() {
    holds++;
    cancel_linger();
    if
    :: mode == NO_HELPER && !shutdown -> spawn()
#ifdef NO_SINGLE_FLIGHT
    :: mode == STARTING && !shutdown -> spawn()
#endif
#ifdef START_OVER_STOP
    :: mode == STOPPING && !shutdown -> spawn()
#endif
#ifdef LOSES_CRASH
    :: mode == BACKOFF -> cancel_backoff()
#endif
    :: else                     /* it is there, or coming, or going: then its exit will start the next one */
    fi
}

inline on_drop() {
    holds--;
    if
    :: holds == 0 ->
        if
        :: mode == STARTING || mode == READY -> linger_armed = true
        :: mode == BACKOFF ->
#ifndef TIMER_NOT_STALE
            cancel_backoff();
            mode = NO_HELPER;
#endif
            deaths_to_replace = 0       /* nobody is left who would want it */
        :: mode == FAILED -> mode = NO_HELPER; deaths = 0
        :: else
        fi
    :: else
    fi
}

inline on_linger() { if :: mode == STARTING || mode == READY -> stop_helper() :: else fi }

inline on_backoff() {
    spawn();
    one_replacement = deaths_to_replace == 1;
    assert(one_replacement);
    deaths_to_replace = 0
}

inline on_ready() { mode = READY }

inline on_exit(whose) {
    if
#ifdef EXIT_NOT_STALE
    :: mode == STARTING || mode == READY || mode == STOPPING ->
#else
    :: whose == generation && (mode == STARTING || mode == READY || mode == STOPPING) ->
#endif
        cancel_linger();
        if
        :: mode == STOPPING && holds > 0 && !shutdown -> spawn()       /* somebody came while it went */
        :: mode == STOPPING && !(holds > 0 && !shutdown) -> mode = NO_HELPER
        :: mode != STOPPING && (holds == 0 || shutdown) -> mode = NO_HELPER
        :: mode != STOPPING && holds > 0 && !shutdown ->
            deaths++;
            deaths_to_replace++;
            if
            :: deaths > MAX_DEATHS -> mode = FAILED; deaths_to_replace = 0
            :: else -> mode = BACKOFF; backoff_armed = true
            fi
        fi
    :: else                     /* the second report, or one of an older generation */
    fi
}

inline on_shutdown() {
    shutdown = true;
    cancel_linger();
    deaths_to_replace = 0;
    if
    :: mode == STARTING || mode == READY -> stop_helper()
    :: mode == BACKOFF || mode == FAILED -> cancel_backoff(); mode = NO_HELPER
    :: else
    fi
}

/* ---- who brings the events */

proctype Thread() {
    byte round = 0;
end_between:
    do
    :: atomic { round < ROUNDS && !shutdown -> round++; on_hold() };
        atomic { on_drop() }
    :: round == ROUNDS -> break
    od
}

/* One that never drops its hold until shutdown: for what must be true while somebody holds. */
proctype Keeper() {
end_comes:
    atomic { !shutdown -> on_hold() };
end_keeps:
    atomic { shutdown -> on_drop() }
}

proctype Timers() {
end_timers:
    do
    :: atomic { linger_armed -> linger_armed = false; on_linger() }
    :: atomic { backoff_armed -> backoff_armed = false; on_backoff() }
    /* Events of cancelled timers: their token is not the current one, so they are dropped. */
    :: atomic { linger_fired_stale -> linger_fired_stale = false }
    :: atomic { backoff_fired_stale -> backoff_fired_stale = false }
    od
}

/* An exit is reported by the pidfd and by the end of the pipe, each when it likes. Either may be the slow one: its
 * report may still be on its way when the next generation has come, and died. */
inline helper_dies() {
    alive = false;
    if
    :: exit_by_pidfd == 0 -> exit_by_pidfd = live_generation
    :: else
    fi;
    if
    :: exit_by_pipe == 0 -> exit_by_pipe = live_generation
    :: else
    fi
}
#define report_has_room (exit_by_pidfd == 0 || exit_by_pipe == 0)

proctype Helper() {
end_helper:
    do
    :: atomic { alive && mode == STARTING && live_generation == generation -> on_ready() }
    :: atomic { alive && crashes > 0 && report_has_room -> crashes--; helper_dies() }
    :: atomic { alive && stop_sent && report_has_room -> helper_dies() }
    :: atomic { exit_by_pidfd != 0 -> on_exit(exit_by_pidfd); exit_by_pidfd = 0 }
    :: atomic { exit_by_pipe != 0 -> on_exit(exit_by_pipe); exit_by_pipe = 0 }
    :: atomic { deaths > 0 && mode == READY -> deaths = 0 }             /* ready has held for a while */
    od
}

proctype Shutdown() { atomic { on_shutdown() } }

#ifdef KEEPALIVE
proctype Keepalive() {
    byte ticks = 0;
    do
    :: ticks < 2 -> atomic { ticks++; if :: generation > 0 && !alive && mode == NO_HELPER -> spawn() :: else fi }
    :: else -> break
    od
}
#endif

proctype Quiet() {
    atomic { timeout ->
        no_resurrection = holds > 0 || (!alive && !backoff_armed && !linger_armed);
        assert(no_resurrection);
        one_replacement = deaths_to_replace == 0;
        assert(one_replacement);
        holders_served = holds == 0 || shutdown || (mode == READY && alive) || mode == FAILED;
        assert(holders_served);
        no_resurrection = !shutdown || !alive;
        assert(no_resurrection) }
}

init {
    atomic {
        if :: crashes = 0 :: crashes = 1 :: crashes = CRASHES fi;
        run Thread(); run Thread();
        if :: run Thread() :: run Keeper() fi;
        run Timers(); run Helper();
        if :: run Shutdown() :: skip fi;
#ifdef KEEPALIVE
        run Keepalive();
#endif
        run Quiet()
    }
}
