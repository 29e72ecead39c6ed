// Methods of the contract for people and their tools: bringing memory in and out, checking it, notes, and
// lists to look through.
#pragma once

#include "memory/contract/contract_call.hpp"

namespace holdfast::memory {

// {records:[…], stopAtFirst?} -> {stored, present, refused:[{index, reason}], taken}; answered after the
// commit. With stopAtFirst nothing after the first refused record is stored, and `taken` says how many were
// looked at.
void transfer_import(const CallPointer& call);
// {cursor?} -> {lines, count, next?, damaged?, keptAs?}
void transfer_export(const CallPointer& call);
// {rebuild?} -> {sound, problems:[…], indexSound, indexRepaired, rebuilding?}
void core_check(const CallPointer& call);
// A note: {text*, sessionId?, tags?, agent?, ts?} -> {traceId, episodeId, sessionId}
void memory_add(const CallPointer& call);

// Each newest first: {limit?, before?} -> {…, next?}; `next` is the `before` of the page that follows.
void memory_sessions(
    const CallPointer& call); // -> {sessions:[{id, agent, openedAt, closedAt, episodes, turns}]}
void memory_episodes(const CallPointer& call); // sessionId?, until? -> {episodes:[{id, sessionId, agent,
                                               // openedAt, closedAt, turns, title, lastTs}]}
void memory_feedback(const CallPointer& call); // -> {feedback:[{…, summary}]}
// memory.timeline with {limit, after?} as well -> {traces, next?}
void memory_turns(const CallPointer& call);

} // namespace holdfast::memory
