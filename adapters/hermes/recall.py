"""Recall for one turn, within a budget of time."""

from __future__ import annotations

import time
from typing import Any, Callable, Tuple

from . import host
from .link import AGENT, Link, again
from .shared import once

BUDGET = 6.0  # seconds, a reconnect included; the host gives up at 8
GRACE = 0.3  # for a helper that has just been started; one that takes longer to open is not waited for
LABEL = "Holdfast memory"


def recall(link: Link, serve: "Callable[[str, Any], Any]", session: str, query: str) -> "Tuple[str, Any]":
    """What to put in front of the turn, and the status to show; None when there is nothing to show."""
    deadline = time.monotonic() + BUDGET
    hold = link.hold(serve)
    closed = _why_closed(hold, deadline)
    if closed is not None:
        return "", closed
    # What was just said should be found; it is stored within milliseconds, and not waited for beyond that.
    link.outbox.wait_empty(max(0.0, min(GRACE, deadline - time.monotonic())))
    conversation = link.conversation(session)
    left = deadline - time.monotonic()
    words = {
        "agent": AGENT,
        "sessionId": conversation.id,
        "namespace": conversation.namespace,
        "userText": query,
        "ts": int(time.time() * 1000),
        "deadlineAt": int((time.time() + max(0.1, left - 0.5)) * 1000),
    }
    found = link.request(conversation, hold, "turn.start", words, deadline) or {}
    conversation.episode = str((found.get("query") or {}).get("episodeId") or conversation.episode)
    hits = found.get("hits") or []
    if not hits and not found.get("cut"):
        return "", None
    label = LABEL + (" (not all of it was read yet)" if found.get("cut") else "")
    return str(found.get("injectedContext") or "") if hits else "", host.recall_status(label, len(hits))


def _why_closed(hold: Any, deadline: float) -> Any:
    """None when the store can be asked. A helper that has just been started gets a moment; then, how far it is becomes the
    status."""
    grace_ends = 0.0
    while True:
        health = again(lambda left: hold.request("core.health", {}, timeout=left, idempotent=True), deadline)
        phase = str(health.get("phase") or "ready")
        if phase == "ready":
            once.well("store")
            return None
        if not grace_ends:
            grace_ends = time.monotonic() + GRACE - float(health.get("uptimeMs") or 0) / 1000
        if phase == "failed" or time.monotonic() >= min(grace_ends, deadline):
            break
        time.sleep(0.005)
    if phase == "failed":
        once.warn("store", f"the memory cannot be opened: {health.get('error')}. Turns wait on disk meanwhile")
    progress = health.get("progress") or {}
    share = f" {100 * progress['done'] // progress['total']} %" if progress.get("total") else ""
    return host.recall_status(f"{LABEL} ({phase}{share})", 0)
