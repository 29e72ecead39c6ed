"""What Hermes has that a plugin may use. Each is looked for when it is needed, and may be missing or of another age."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import json
import math
import re
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable, Dict, List, MutableSequence, Optional, Type

from .capture import text_of

TASK = "memory"  # its settings are auxiliary.memory in the host's config.yaml
_THOUGHTS = re.compile(r"\s*<think(?:ing)?>.*?</think(?:ing)?>\s*", re.I | re.S)


class NoModel(RuntimeError):
    """The host has no model for its plugins."""


def _find(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name, None)
    except Exception:  # noqa: B902 - a host module that cannot be imported is the same as none
        return None


def provider_base() -> "Type[Any]":
    base = _find("agent.memory_provider", "MemoryProvider")
    return base if isinstance(base, type) else object


@dataclass(frozen=True)
class PlainRecallStatus:
    """As the host's own RecallStatus, for hosts that have none."""

    provider_label: str
    count: int
    glyph: str = "🧠"


def recall_status(label: str, count: int) -> Any:
    kind = _find("agent.memory_provider", "RecallStatus") or PlainRecallStatus
    try:
        return kind(provider_label=label, count=count)
    except TypeError:
        return PlainRecallStatus(label, count)


MOST_OBSERVATIONS = 16
MOST_BYTES = 60 << 10  # of all of them; the host drops what is beyond 64 KiB


def prefetched(text: str, hits: "List[Dict[str, Any]]") -> Any:
    """What prefetch() returns: with an observation for each of the best hits where the host takes such, else the text alone."""
    result = _find("agent.memory_provider", "MemoryPrefetchResult")
    observation = _find("agent.memory_provider", "MemoryObservation")
    if not text or not callable(result) or not callable(observation):
        return text
    left, made = MOST_BYTES, []
    try:
        for hit in hits[:MOST_OBSERVATIONS]:
            payload = _payload(hit)
            left -= len(json.dumps(payload, ensure_ascii=False).encode("utf-8")) + 200
            if left < 0:
                break
            made.append(observation(source_kind="memory", schema="holdfast.recall.hit", version=1, payload=payload))
        return result(context=text, observations=made)
    except (TypeError, ValueError):  # of another age
        return text


def _payload(hit: "Dict[str, Any]") -> "Dict[str, Any]":
    """Of one hit, in plain JSON of one level."""
    out: "Dict[str, Any]" = {"id": str(hit.get("refId") or ""), "kind": str(hit.get("refKind") or "")}
    out["text"] = str(hit.get("snippet") or "")[:1000].encode("utf-8", "replace").decode("utf-8")
    for name, theirs in (("episode_id", "episodeId"), ("time_ms", "ts"), ("score", "score")):
        value = hit.get(theirs)
        if isinstance(value, (str, int)) or (isinstance(value, float) and math.isfinite(value)):
            out[name] = value
    return out


# Where a host does not tell, these: what they would recall is about nothing.
_TRIVIAL = re.compile(
    r"(?:y|n|k|yes|no|ok|okay|yep|nope|yeah|nah|sure|thanks|thank you|hi|hey|hello|yo|cool|nice|great|done|next|continue|"
    r"go ahead|go on|do it|proceed|got it|lgtm)\W*", re.I
)


def is_trivial(prompt: str) -> bool:
    """A greeting, a nod or a command of the host: nothing that could be looked for."""
    words = prompt.strip()
    ask = _find("agent.memory_provider", "is_trivial_prompt")
    if callable(ask):
        with contextlib.suppress(Exception):
            return bool(ask(words))
    return not words or words.startswith("/") or _TRIVIAL.fullmatch(words) is not None


def home() -> str:
    """Of the profile that the caller's context names; "" when the host does not tell. Imports nothing."""
    finder = getattr(sys.modules.get("hermes_constants"), "get_hermes_home", None)
    if callable(finder):
        with contextlib.suppress(Exception):
            return str(finder() or "")
    return ""


def hook_lists() -> "Optional[Dict[str, MutableSequence[Any]]]":
    """The hooks of the plugin manager that lives now; the host has one for each home. A module that the host has not
    imported itself is not imported for this: then there is no manager."""
    module = sys.modules.get("hermes_cli.plugins")
    finder = getattr(module, "get_plugin_manager", None)
    manager = finder() if callable(finder) else None
    hooks = getattr(manager, "_hooks", None)
    return hooks if isinstance(hooks, dict) else None


def complete(params: "Dict[str, Any]") -> "Dict[str, Any]":
    """host.llm.complete, by the host's auxiliary model. Raises NoModel when the host has none, or what the model raises."""
    messages: "List[Dict[str, Any]]" = [
        {"role": str(one.get("role", "user")), "content": str(one.get("content", ""))}
        for one in params.get("messages") or []
        if isinstance(one, dict)
    ]
    if not messages:
        raise ValueError("messages is required")
    wishes: "Dict[str, Any]" = {}
    for name, theirs in (("model", "model"), ("temperature", "temperature"), ("max_tokens", "maxTokens")):
        if params.get(theirs) is not None:
            wishes[name] = params[theirs]
    if params.get("timeoutMs"):
        wishes["timeout"] = float(params["timeoutMs"]) / 1000
    began = time.monotonic()
    try:
        answer = _asked(messages, wishes)
    except Exception:
        raise
    except BaseException as error:  # the host's own word for "cancelled" is not an Exception
        raise RuntimeError(f"the host gave the request up ({type(error).__name__})") from error
    text = _text_of_answer(answer)
    if not text:
        raise RuntimeError("the host's model answered nothing")
    out: "Dict[str, Any]" = {
        "text": text,
        "model": str(_part(answer, "model") or ""),
        "durationMs": int((time.monotonic() - began) * 1000),
    }
    usage = _part(answer, "usage")
    if usage is not None:
        out["usage"] = {
            "promptTokens": int(_part(usage, "prompt_tokens") or 0),
            "completionTokens": int(_part(usage, "completion_tokens") or 0),
        }
    return out


def _asked(messages: "List[Dict[str, Any]]", wishes: "Dict[str, Any]") -> Any:
    """By call_llm, which finds the model, its key and a substitute; a host from before that has a client to be asked."""
    call = _find("agent.auxiliary_client", "call_llm")
    if callable(call):
        return call(**_taken_by(call, {"task": TASK, **wishes}), messages=messages)
    find_client = _find("agent.auxiliary_client", "get_text_auxiliary_client")
    if not callable(find_client):
        raise NoModel("this Hermes offers no model to its plugins (no call_llm in agent.auxiliary_client)")
    client, model = find_client(**_taken_by(find_client, {"task": TASK}))
    if client is None:
        raise NoModel("no model is set up in Hermes for side tasks")
    return client.chat.completions.create(**{"model": model, **wishes}, messages=messages)


def _taken_by(function: "Callable[..., Any]", words: "Dict[str, Any]") -> "Dict[str, Any]":
    """Those that this age of the function knows."""
    try:
        known = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return words
    if any(one.kind is inspect.Parameter.VAR_KEYWORD for one in known.values()):
        return words
    return {name: value for name, value in words.items() if name in known}


def _part(whole: Any, name: str) -> Any:
    """Of an answer: an object of the model's library, or what a proxy made of it."""
    return whole.get(name) if isinstance(whole, dict) else getattr(whole, name, None)


def _text_of_answer(answer: Any) -> str:
    choices = _part(answer, "choices")
    message = _part(choices[0], "message") if choices else None
    # What a model thinks aloud is not its answer.
    return _THOUGHTS.sub("", text_of(_part(message, "content"))).strip()
