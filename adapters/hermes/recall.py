"""Recall for one turn, within a budget of time."""

from __future__ import annotations

import time
from typing import Any, Callable, Dict, List, NamedTuple

from . import host
from .delivery import opening
from .link import AGENT, Conversation, Link, again
from .once import once

BUDGET = 5.5  # seconds, a reconnect included, so that it is over within 6; the host gives up at 8
GRACE = 0.3  # since the start of a helper; a store that takes longer to open is not waited for
LABEL = "Holdfast memory"
OPEN = ("ready", "indexing")  # phases: of the last one a recall says itself what it could not see yet
_GONE = (5, 18)  # superseded, closed


class Recalled(NamedTuple):
    text: str  # to put in front of the turn
    status: Any  # to show; None when there is nothing to show
    hits: "List[Dict[str, Any]]"


def recall(link: Link, serve: "Callable[[str, Any], Any]", conversation: Conversation, query: str) -> Recalled:
    deadline = time.monotonic() + BUDGET
    hold = link.hold(serve)
    found = None
    if link.ready_on:
        try:
            found = _ask(link, hold, conversation, query, deadline, link.ready_on)
        except Exception as error:  # noqa: B902 - raised again unless that generation is gone
            if getattr(error, "code", None) not in _GONE or time.monotonic() > deadline:
                raise
            link.ready_on = 0
    if found is None:
        closed = _why_closed(link, hold, conversation, deadline)
        if closed is not None:
            return Recalled("", closed, [])
        found = _ask(link, hold, conversation, query, deadline, 0)
    hits = found.get("hits") or []
    if not hits and not found.get("cut"):
        return Recalled("", None, [])
    label = LABEL + (" (not all of it was read yet)" if found.get("cut") else "")
    return Recalled(str(found.get("injectedContext") or "") if hits else "", host.recall_status(label, len(hits)), hits)


def _ask(
    link: Link, hold: Any, conversation: Conversation, query: str, deadline: float, only: int
) -> "Dict[str, Any]":
    # What was just said should be found; it is stored within milliseconds, and not waited for beyond that.
    link.outbox.wait_said(max(0.0, min(GRACE, deadline - time.monotonic())))
    left = deadline - time.monotonic()
    words = {
        "agent": AGENT,
        "sessionId": conversation.id,
        "namespace": conversation.namespace,
        "userText": query,
        "ts": int(time.time() * 1000),
        "deadlineAt": int((time.time() + max(0.1, left - 0.5)) * 1000),
    }
    found: "Dict[str, Any]" = link.request(conversation, hold, "turn.start", words, deadline, only) or {}
    record = conversation.record
    record.episode = str((found.get("query") or {}).get("episodeId") or record.episode)
    return found


def _why_closed(link: Link, hold: Any, conversation: Conversation, deadline: float) -> Any:
    """None when the store can be asked; else how far it is, as the status. Only a helper that has just been started is
    waited for, and that in a request: everything but health waits for the store, and a recall for what is read last."""
    health = _health(hold, deadline)
    moment = GRACE - float(health.get("uptimeMs") or 0) / 1000
    if _phase(health) not in (*OPEN, "failed") and moment > 0:
        words = opening(conversation.for_queue())
        until = min(time.monotonic() + moment, deadline)
        try:
            again(lambda left: hold.request("session.open", words, timeout=left, idempotent=True), until)
            return None
        except Exception:  # noqa: B902 - too late, or for a reason that health tells
            health = _health(hold, deadline)
    phase = _phase(health)
    if phase in OPEN:
        once.well("store")
        helper = hold.status
        # Served by another process, it may have to wait for a successor one day; its own store stays open.
        link.ready_on = int(helper["generation"]) if phase == "ready" and helper["pid"] == health.get("pid") else 0
        return None
    if phase == "failed":
        once.warn("store", f"the memory cannot be opened: {health.get('error')}. Turns wait on disk meanwhile")
    progress = health.get("progress") or {}
    share = f" {100 * progress['done'] // progress['total']} %" if progress.get("total") else ""
    return host.recall_status(f"{LABEL} ({phase}{share})", 0)


def _health(hold: Any, deadline: float) -> "Dict[str, Any]":
    return again(lambda left: hold.request("core.health", {}, timeout=left, idempotent=True), deadline) or {}


def _phase(health: "Dict[str, Any]") -> str:
    return str(health.get("phase") or "ready")
