"""What happened in a turn besides its words: tool calls and the model's thinking, from the host's hooks or its messages."""

from __future__ import annotations

import json
import time
from typing import Any, Dict, List, Optional

MAX_CALLS = 64
# Together they stay below the helper's limit for a line (16 MiB) when every character has to be escaped.
MAX_TEXT = 8_000  # of one input, output or thought
MAX_WORDS = 400_000  # of one side of a turn
FAILURES_BEFORE_HINT = 3
HINT = (
    "\n\n[{name} has failed {count} times in a row. holdfast_search may know how it was done before.]"
)


def cut(value: Any, most: int = MAX_TEXT) -> str:
    """As text of a bounded size that can be written as UTF-8: half of a surrogate pair cannot."""
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False, default=str)
    kept = text[:most].encode("utf-8", "replace").decode("utf-8")
    return kept if len(text) <= most else kept + f" … ({len(text) - most} more characters)"


def _text_of(content: Any) -> str:
    """Of a message: plain, or in parts."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(str(one.get("text") or "") for one in content if isinstance(one, dict) and one.get("type") == "text")
    return ""


def failed(result: Any, status: str = "") -> bool:
    if status:
        return status == "error"
    text = result if isinstance(result, str) else ""
    try:
        answer = json.loads(text)
    except ValueError:
        return text.lstrip().lower().startswith("error")
    return isinstance(answer, dict) and (bool(answer.get("error")) or answer.get("success") is False)


class Turn:
    """Of one session, from the end of the last turn to the end of this one."""

    def __init__(self) -> None:
        self.calls: "List[Dict[str, Any]]" = []
        self.thinking = ""
        self._streaks: "Dict[str, int]" = {}

    def tool_called(self, name: str, args: Any, result: Any, words: "Dict[str, Any]") -> None:
        now = int(time.time() * 1000)
        took = words.get("duration_ms")
        call: "Dict[str, Any]" = {"name": name, "input": cut(args), "output": cut(result), "endedAt": now}
        if isinstance(took, (int, float)) and took >= 0:
            call["startedAt"] = now - int(took)
        if words.get("tool_call_id"):
            call["toolCallId"] = str(words["tool_call_id"])
        if failed(result, str(words.get("status") or "")):
            call["errorCode"] = str(words.get("error_type") or "error")
            self._streaks[name] = self._streaks.get(name, 0) + 1
        else:
            self._streaks.pop(name, None)
        if len(self.calls) < MAX_CALLS:
            self.calls.append(call)

    def hint(self, name: str) -> str:
        count = self._streaks.get(name, 0)
        return HINT.format(name=name, count=count) if count and count % FAILURES_BEFORE_HINT == 0 else ""

    def end(self, messages: "Optional[List[Dict[str, Any]]]") -> "Dict[str, Any]":
        """What belongs to this turn, for turn.end; the next one begins."""
        calls, thinking = self.calls, self.thinking
        if messages and not (calls and thinking):
            from_messages = of_messages(messages)
            calls = calls or from_messages["toolCalls"]
            thinking = thinking or from_messages["agentThinking"]
        self.calls, self.thinking = [], ""
        out: "Dict[str, Any]" = {"toolCalls": calls}
        if thinking:
            out["agentThinking"] = cut(thinking)
        return out


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
            outputs[str(message.get("tool_call_id") or "")] = _text_of(message.get("content"))
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
