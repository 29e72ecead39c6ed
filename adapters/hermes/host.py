"""What Hermes has that a plugin may use. Each is looked for when it is needed, and may be missing or of another age."""

from __future__ import annotations

import importlib
import sys
import time
from dataclasses import dataclass
from typing import Any, Dict, List, MutableSequence, Optional, Type


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


def hook_lists() -> "Optional[Dict[str, MutableSequence[Any]]]":
    """The hooks of the plugin manager that lives now. A module that the host has not imported itself is not imported for
    this: then there is no manager."""
    module = sys.modules.get("hermes_cli.plugins")
    finder = getattr(module, "get_plugin_manager", None)
    manager = finder() if callable(finder) else None
    hooks = getattr(manager, "_hooks", None)
    return hooks if isinstance(hooks, dict) else None


def complete(params: "Dict[str, Any]") -> "Dict[str, Any]":
    """host.llm.complete, by the host's auxiliary model. Raises when the host has none, or when it fails."""
    call = _find("agent.auxiliary_client", "call_llm")
    if call is None:
        raise RuntimeError("this host offers no model to its plugins")
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
    answer = call(task="memory", messages=messages, **wishes)
    out: "Dict[str, Any]" = {
        "text": str(answer.choices[0].message.content or ""),
        "model": str(getattr(answer, "model", "") or ""),
        "durationMs": int((time.monotonic() - began) * 1000),
    }
    usage = getattr(answer, "usage", None)
    if usage is not None:
        out["usage"] = {
            "promptTokens": int(getattr(usage, "prompt_tokens", 0) or 0),
            "completionTokens": int(getattr(usage, "completion_tokens", 0) or 0),
        }
    return out
