"""The turns in what the host is about to compress, and whether a stored turn is one of them. Pure."""

from __future__ import annotations

import re
from typing import Any, Iterable, List, NamedTuple, Tuple

from .capture import is_review, text_of
from .words import alike, normal

# What a host puts in the place of messages that it has compressed is no evidence of anything.
_SUMMARY = re.compile(r"\s*\[context (?:compaction|summary)\b", re.I)
_REDACTED = re.compile(r"\[redacted:[a-z-]{1,40}\]")
TELLING = 16  # characters, for a text within another


class Said(NamedTuple):
    """One turn, as far as it went. Without words of the user: what the assistant said behind a part that is gone."""

    user: str
    parts: "Tuple[str, ...]"  # of the assistant, in their order

    @property
    def answer(self) -> str:
        return "\n\n".join(self.parts)


def turns_of(messages: "Iterable[Any]") -> "List[Said]":
    """Of messages as they are, or as the host has prepared them: those of tools and of the system are left out."""
    turns: "List[Said]" = []
    ours = True  # what follows is not the host talking to itself
    for message in messages:
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant"):
            continue
        text = normal(text_of(message.get("content")))
        if not text or message.get("_compressed_summary") or _SUMMARY.match(text):
            continue
        if role == "user":
            ours = not is_review(text)
            if ours:
                turns.append(Said(text, ()))
        elif ours:
            if not turns:
                turns.append(Said("", ()))
            turns[-1] = Said(turns[-1].user, (*turns[-1].parts, text))
    return turns


def assistants_of(messages: "List[Any]") -> "List[str]":
    """What the assistant said in the last turn of these."""
    turns = turns_of(messages)
    return list(turns[-1].parts) if turns else []


def last_user_of(messages: "List[Any]") -> str:
    for one in reversed(messages):
        if isinstance(one, dict) and one.get("role") == "user":
            return normal(text_of(one.get("content")))
    return ""


def joined(parts: "Iterable[str]", answer: str) -> "Tuple[str, ...]":
    """Everything that the assistant said in a turn, the last word last and nothing twice."""
    before = [one for one in parts if one != answer]
    return tuple(dict.fromkeys([*before, answer] if answer else before))


def same_text(stored: str, said: str) -> bool:
    """The store has [redacted:…] in the place of a secret. In time that grows with the length."""
    pieces = _REDACTED.split(stored.strip())
    if len(pieces) == 1:
        return pieces[0] == said
    first, last = pieces[0], pieces[-1]
    if not said.startswith(first) or not said.endswith(last) or len(first) + len(last) > len(said):
        return False
    at, end = len(first), len(said) - len(last)
    for piece in pieces[1:-1]:
        at = said.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


# By its answer as well; by its words alone, since no answer is known; the beginning of it.
WHOLE, SAME, PART = "whole", "same", "part"


def how_stored(said: Said, user: str, agent: str) -> str:
    """How much of a turn a stored one is; "": it is another. The store has the last word of the assistant, or all its words, or,
    of a turn that was broken off, the first ones; and of the user perhaps only what was meant, without the instructions
    around it."""
    kept = agent.strip()
    last = said.parts[-1] if said.parts else ""
    answered = bool(last) and (last in kept or same_text(kept, last) or same_text(kept, said.answer))
    if not said.user:
        return WHOLE if answered and len(last) >= TELLING else ""
    if same_text(user, said.user):
        if answered:
            return WHOLE
        if not said.parts:
            return SAME
        return PART if kept in said.answer else ""
    meant = user.strip()
    return WHOLE if answered and (alike(meant, said.user) or (len(meant) >= TELLING and meant in said.user)) else ""
