"""What happened in a turn besides its words: tool calls and the model's thinking, from the host's hooks or its messages."""

from __future__ import annotations

import json
import re
import time
from typing import Any, Dict, Iterable, List, NamedTuple, Optional

from .author import Author, who
from .locks import ProcessLock

MAX_CALLS = 64
# Together they stay below the helper's limit for a line (16 MiB) when every character has to be escaped.
MAX_TEXT = 8_000  # of one input, output or thought
MAX_WORDS = 400_000  # of one side of a turn
FAILURES_BEFORE_HINT = 3
# The host's words for how a call went. What was blocked or called off says nothing about the tool.
_WELL = ("ok", "success")
_NOT_TRIED = ("blocked", "cancelled", "denied")
# Turns that the host has with itself about the conversation; they are nobody's words.
_REVIEW = re.compile(r"\s*review the conversation above and (?:consider|update)\b", re.I)
HINT = (
    "\n\n[{name} has failed {count} times in a row. holdfast_search may know how it was done before.]"
)


def cut(value: Any, most: int = MAX_TEXT) -> str:
    """As text of a bounded size that can be written as UTF-8: half of a surrogate pair cannot."""
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    kept = text[:most].encode("utf-8", "replace").decode("utf-8")
    return kept if len(text) <= most else kept + f" … ({len(text) - most} more characters)"


def is_review(user: Any) -> bool:
    return isinstance(user, str) and bool(_REVIEW.match(user))


def text_of(content: Any) -> str:
    """Of a message: plain, or in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(one.get("text") or "") for one in content if isinstance(one, dict) and one.get("type") == "text")
    return ""


def failed(result: Any, status: str = "") -> bool:
    """The host says so, or, of an age that does not, the result itself."""
    if status:
        return status not in _WELL
    text = result if isinstance(result, str) else ""
    try:
        answer = json.loads(text)
    except ValueError:
        return text.lstrip().lower().startswith("error")
    return isinstance(answer, dict) and (bool(answer.get("error")) or answer.get("success") is False)


class Begun(NamedTuple):
    """A turn that has begun."""

    text: str
    author: "Optional[Author]"
    named: bool  # the host has said who it is, if only that it is nobody in particular
    key: str  # under which it is known on disk who is speaking


class Ended(NamedTuple):
    """A turn in which the model has had its last word."""

    id: str  # "" of a host without such
    until: int  # the number of its last call at most
    thinking: str


class Call(NamedTuple):
    number: int
    turn: str  # the id of its turn
    begun: "Optional[Begun]"  # that went on when it was made
    words: "Dict[str, Any]"


class Turn:
    """What happens in one session until its turns are synced. The host calls from several threads: tools and the model on
    the turn's own, the sync on a worker that may be late, when the turn of another author is under way; and a reviewer of the
    conversation works under the same session id, in turns of its own."""

    def __init__(self) -> None:
        self._lock = ProcessLock()
        self._calls: "List[Call]" = []
        self._count = 0
        self._streaks: "Dict[str, int]" = {}

    def tool_called(self, name: str, args: Any, result: Any, words: "Dict[str, Any]", begun: "Optional[Begun]") -> None:
        now = int(time.time() * 1000)
        took = words.get("duration_ms")
        status = str(words.get("status") or "")
        call: "Dict[str, Any]" = {"name": name, "input": cut(args), "output": cut(result), "endedAt": now}
        if isinstance(took, (int, float)) and took >= 0:
            call["startedAt"] = now - int(took)
        if words.get("tool_call_id"):
            call["toolCallId"] = str(words["tool_call_id"])
        bad = failed(result, status)
        if bad:
            call["errorCode"] = str(words.get("error_type") or status or "error")
        with self._lock:
            if not bad:
                self._streaks.pop(name, None)
            elif status not in _NOT_TRIED:
                self._streaks[name] = self._streaks.get(name, 0) + 1
            if len(self._calls) < 2 * MAX_CALLS:
                self._count += 1
                self._calls.append(Call(self._count, str(words.get("turn_id") or ""), begun, call))

    def hint(self, name: str) -> str:
        with self._lock:
            count = self._streaks.get(name, 0)
        return HINT.format(name=name, count=count) if count and count % FAILURES_BEFORE_HINT == 0 else ""

    def finished(self, turn_id: str, thinking: str) -> Ended:
        """The model has had its last word in this turn."""
        with self._lock:
            return Ended(turn_id, self._count, thinking)

    def end(
        self, messages: "Optional[List[Dict[str, Any]]]", ended: "Optional[Ended]", begun: "Optional[Begun]",
        open_ones: "Iterable[Begun]",
    ) -> "Dict[str, Any]":
        """What belongs to a turn that is synced, for turn.end. `open_ones`: turns that have begun and whose sync has not come."""
        with self._lock:
            thinking = ended.thinking if ended is not None else ""
            calls = [one for one in self._calls if _belongs(one, ended, begun)]
            mine, taken = [one.words for one in calls], {one.number for one in calls}
            waiting = {id(one) for one in open_ones}
            until = ended.until if ended is not None else self._count
            left = [one for one in self._calls if one.number > until or id(one.begun) in waiting]
            self._calls = [one for one in left if one.number not in taken]
        if messages and not (mine and thinking):
            from_messages = of_messages(messages)
            mine = mine or from_messages["toolCalls"]
            thinking = thinking or from_messages["agentThinking"]
        out: "Dict[str, Any]" = {"toolCalls": mine[:MAX_CALLS]}
        if thinking:
            out["agentThinking"] = cut(thinking)
        return out


def _belongs(call: Call, ended: "Optional[Ended]", begun: "Optional[Begun]") -> bool:
    if ended is not None and call.number > ended.until:
        return False
    if ended is not None and ended.id and call.turn:
        return call.turn == ended.id
    # Without the id of its turn, at least nothing that another author had done.
    return call.begun is None or (begun is not None and who(call.begun.author) == who(begun.author))


def thinking_of(messages: "List[Dict[str, Any]]") -> str:
    """Of the messages after the user's last one."""
    thoughts: "List[str]" = []
    for message in reversed(messages):
        if not isinstance(message, dict):
            continue
        if message.get("role") == "user":
            break
        if message.get("role") == "assistant":
            thought = message.get("reasoning") or message.get("reasoning_content")
            if isinstance(thought, str) and thought.strip():
                thoughts.append(thought.strip())
    return "\n\n".join(reversed(thoughts))


def of_messages(messages: "List[Dict[str, Any]]") -> "Dict[str, Any]":
    calls: "List[Dict[str, Any]]" = []
    outputs: "Dict[str, str]" = {}
    for message in reversed(messages):
        if not isinstance(message, dict):
            continue
        role = message.get("role")
        if role == "user":
            break
        if role == "tool":
            outputs[str(message.get("tool_call_id") or "")] = text_of(message.get("content"))
        if role == "assistant":
            for one in reversed(message.get("tool_calls") or []):
                function = one.get("function") if isinstance(one, dict) else None
                if not isinstance(function, dict) or not function.get("name"):
                    continue
                number = str(one.get("id") or "")
                call: "Dict[str, Any]" = {"name": str(function["name"]), "input": cut(function.get("arguments"))}
                if number:
                    call["toolCallId"] = number
                if number in outputs:
                    call["output"] = cut(outputs[number])
                    if failed(outputs[number]):
                        call["errorCode"] = "error"
                calls.append(call)
    return {"toolCalls": list(reversed(calls))[:MAX_CALLS], "agentThinking": thinking_of(messages)}
