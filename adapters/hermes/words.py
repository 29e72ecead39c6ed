"""The words of a turn, by which alone it is known: the host gives it no other name. Pure.

A host may put a time, a name or what it has remembered before or behind the words of the user in one place, and not in another.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any

from .capture import MAX_WORDS, cut

_DATE = r"\d{4}-\d\d-\d\d"
_CLOCK = r"\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AaPp][Mm]\b)?(?:Z|[+-]\d\d:?\d\d)?"
_TIME = re.compile(rf"(?:{_DATE}[T ,]*)?{_CLOCK}|{_DATE}")
_TAG = re.compile(r"<([A-Za-z][\w.-]*)[^<>]*>")
_MOST = 16  # such things on one side


def normal(text: Any) -> str:
    """As it is sent to the store; two texts that are the same in it are the same here."""
    return cut(text, MAX_WORDS).strip()


def bare(text: str) -> str:
    """Without times, […] and <tag>…</tag> on either side; as it is when there is nothing else in it. In time that grows with the
    length."""
    found = text.strip()
    for _ in range(_MOST):
        end = _before(found)
        if not end:
            break
        found = found[end:].lstrip(" \t\r\n:-–—|")
    for _ in range(_MOST):
        begin = _behind(found)
        if begin < 0:
            break
        found = found[:begin].rstrip()
    return found or text.strip()


def _before(text: str) -> int:
    """Where the first of such things ends; 0: there is none."""
    if text.startswith("["):
        return text.find("]") + 1
    tag = _TAG.match(text)
    if tag:
        close = f"</{tag.group(1)}>"
        at = text.find(close)
        return at + len(close) if at >= 0 else 0
    time = _TIME.match(text)
    return time.end() if time else 0


def _behind(text: str) -> int:
    """Where the last of such things begins; -1: there is none. On lines of its own: what a person adds stands in theirs."""
    at = -1
    if text.endswith("]"):
        at = text.rfind("[")
    elif text.endswith(">"):
        close = text.rfind("</")
        name = text[close + 2:-1] if close >= 0 else ""
        at = max(text.rfind(f"<{name}>", 0, close), text.rfind(f"<{name} ", 0, close)) if name else -1
    return at if at > 0 and text[:at].rstrip(" \t").endswith("\n") else -1


def alike(one: str, other: str) -> bool:
    """Of texts that are normal(): the same words, when one of them has something of the host's around them."""
    return one == other or bare(one) == other or one == bare(other)


def mark(text: Any) -> str:
    """Of words, where they themselves are not kept."""
    return hashlib.sha256(normal(text).encode("utf-8", "replace")).hexdigest()[:32]
