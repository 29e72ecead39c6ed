/*
 * Part of slot.pml: a contender, from its first look at the door to its answer, and the owner it may become.
 */

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

inside: /* Here bytes 1 and 0 can only come free, and nobody but us writes the epoch: so asking byte 1, reading the
         * epoch and asking byte 0 are one step. */
#ifdef BELIEVE_RECORD
        if
        :: atomic { record_epoch == epoch && record_ready && owner_byte == NOBODY ->
               leave_door(); answer[me] = HELD; goto leave }
        :: else
        fi;
#endif
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
#ifdef IGNORE_LIFE
        :: atomic { owner_byte == NOBODY -> goto take }
#else
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
#endif
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

        /* steps 5 and 6: TERM, and when the grace is over KILL. The grace may end at any time. After KILL it is the
         * process that is waited for: byte 0 may by then be held by leftovers, who end at the door only, or by a
         * newer owner, who never does. */
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
        :: atomic { !kill_next -> kill_next = true; goto signal }
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
#elif defined(IGNORE_LIFE)
        atomic { life_write = me };
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
                 /* One step: to die with the record written but inside the door looks to all others like dying just
                  * outside, and to die before the child is started like having none. */
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
