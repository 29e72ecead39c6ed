"""The tools that a model gets, and their answers: JSON text of a bounded size, errors included."""

from __future__ import annotations

import json
from typing import Any, Callable, Dict, List

MOST = 12_000  # characters of an answer
SNIPPET = 700

Ask = Callable[[str, Dict[str, Any]], Any]


class BadArguments(ValueError):
    """Told to the model, in words it can act on."""


def _schema(name: str, description: str, properties: "Dict[str, Any]", required: "List[str]") -> "Dict[str, Any]":
    return {
        "name": name,
        "description": description,
        "parameters": {"type": "object", "properties": properties, "required": required},
    }


_LIMIT = {"type": "integer", "description": "At most this many (1 to 50)", "minimum": 1, "maximum": 50}

SCHEMAS: "List[Dict[str, Any]]" = [
    _schema(
        "holdfast_search",
        "Search what was said and done before, in all sessions. Returns ids for holdfast_get and holdfast_timeline.",
        {"query": {"type": "string", "description": "Words, names, dates"}, "limit": _LIMIT},
        ["query"],
    ),
    _schema(
        "holdfast_get",
        "The whole of one memory: a trace (tr_), a policy (po_) or a world model (wm_).",
        {"id": {"type": "string", "description": "As a search returned it"}},
        ["id"],
    ),
    _schema(
        "holdfast_timeline",
        "All turns of one episode, in their order.",
        {"episode_id": {"type": "string", "description": "An ep_ id, as a search returned it"}},
        ["episode_id"],
    ),
    _schema("holdfast_skill_list", "The procedures that were learned.", {"limit": _LIMIT}, []),
    _schema(
        "holdfast_skill_get",
        "One learned procedure, whole.",
        {"id": {"type": "string", "description": "An sk_ id, as holdfast_skill_list returned it"}},
        ["id"],
    ),
    _schema(
        "holdfast_environment",
        "What is known about the places and programs worked with.",
        {"query": {"type": "string", "description": "Only what has these words"}, "limit": _LIMIT},
        [],
    ),
]


def _text(args: "Dict[str, Any]", name: str, required: bool = True) -> str:
    value = args.get(name)
    if value is None and not required:
        return ""
    if not isinstance(value, str) or (required and not value.strip()):
        raise BadArguments(f"{name} must be a text that is not empty")
    return value[:4000].encode("utf-8", "replace").decode("utf-8")


def _limit(args: "Dict[str, Any]", default: int) -> int:
    value = args.get("limit")
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise BadArguments("limit must be a whole number from 1 to 50")
    try:
        number = int(value)
    except (ValueError, OverflowError):
        raise BadArguments("limit must be a whole number from 1 to 50") from None
    return max(1, min(50, number))


def _short(value: Any, most: int = SNIPPET) -> str:
    text = value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= most else text[:most] + "…"


def _hit(hit: "Dict[str, Any]") -> "Dict[str, Any]":
    out = {"id": hit.get("refId"), "kind": hit.get("refKind"), "text": _short(hit.get("snippet"))}
    for name, theirs in (("episode_id", "episodeId"), ("time_ms", "ts")):
        if hit.get(theirs):
            out[name] = hit[theirs]
    return out


def _trace(trace: "Dict[str, Any]", most: int) -> "Dict[str, Any]":
    out = {"id": trace.get("id"), "time_ms": trace.get("ts"), "user": _short(trace.get("userText"), most)}
    out["assistant"] = _short(trace.get("agentText"), most)
    tools = [str(one.get("name")) for one in trace.get("toolCalls") or [] if isinstance(one, dict)]
    if tools:
        out["tools"] = tools[:20]
    if trace.get("reflection"):
        out["reflection"] = _short(trace["reflection"])
    return out


def _object(found: "Dict[str, Any]", most: int) -> "Dict[str, Any]":
    return {
        "id": found.get("id"),
        "title": _short(found.get("title"), 200),
        "status": found.get("status"),
        "text": _short(found.get("body"), most),
    }


def _unknown(number: str) -> "Dict[str, Any]":
    return {"error": f"nothing is stored under {number}", "code": "not_found"}


def _search(ask: Ask, args: "Dict[str, Any]", about: "Dict[str, Any]") -> "Dict[str, Any]":
    words = {"query": _text(args, "query"), "topK": _limit(args, about["top_k"]), "namespace": about["namespace"]}
    found = ask("memory.search", words) or {}
    out: "Dict[str, Any]" = {"memories": [_hit(one) for one in found.get("hits") or []]}
    if found.get("cut"):
        out["note"] = "the memory is still being read; later there may be more"
    return out


def _get(ask: Ask, args: "Dict[str, Any]", about: "Dict[str, Any]") -> "Dict[str, Any]":
    number = _text(args, "id")
    kinds = {"po_": "memory.get_policy", "wm_": "memory.get_world", "sk_": "skill.get"}
    method = kinds.get(number[:3], "memory.get_trace")
    found = ask(method, {"id": number, "namespace": about["namespace"]})
    if not isinstance(found, dict):
        return _unknown(number)
    if method != "memory.get_trace":
        return _object(found, 8000)
    out = _trace(found, 4000)
    out["episode_id"] = found.get("episodeId")
    return out


def _timeline(ask: Ask, args: "Dict[str, Any]", about: "Dict[str, Any]") -> "Dict[str, Any]":
    number = _text(args, "episode_id")
    traces = (ask("memory.timeline", {"episodeId": number, "namespace": about["namespace"]}) or {}).get("traces") or []
    shown = traces[-50:]
    each = max(120, MOST // (3 * max(1, len(shown))))
    out: "Dict[str, Any]" = {"turns": [_trace(one, each) for one in shown]}
    if len(shown) < len(traces):
        out["note"] = f"the last {len(shown)} of {len(traces)}"
    return out


def _skills(ask: Ask, args: "Dict[str, Any]", _: "Dict[str, Any]") -> "Dict[str, Any]":
    found = ask("skill.list", {"limit": _limit(args, 20)}) or {}
    return {"skills": [_object(one, 200) for one in found.get("skills") or []]}


def _skill(ask: Ask, args: "Dict[str, Any]", _: "Dict[str, Any]") -> "Dict[str, Any]":
    number = _text(args, "id")
    found = ask("skill.get", {"id": number, "recordTrial": True})
    return _object(found, 10_000) if isinstance(found, dict) else _unknown(number)


def _environment(ask: Ask, args: "Dict[str, Any]", _: "Dict[str, Any]") -> "Dict[str, Any]":
    words: "Dict[str, Any]" = {"limit": _limit(args, 20)}
    query = _text(args, "query", required=False)
    if query:
        words["q"] = query
    found = ask("memory.list_world_models", words) or {}
    return {"environment": [_object(one, SNIPPET) for one in found.get("worldModels") or []]}


_TOOLS: "Dict[str, Callable[[Ask, Dict[str, Any], Dict[str, Any]], Dict[str, Any]]]" = {
    "holdfast_search": _search,
    "holdfast_get": _get,
    "holdfast_timeline": _timeline,
    "holdfast_skill_list": _skills,
    "holdfast_skill_get": _skill,
    "holdfast_environment": _environment,
}


def _shortened(value: Any, most: int) -> Any:
    """With no text in it that is longer."""
    if isinstance(value, str):
        return _short(value, most)
    if isinstance(value, dict):
        return {name: _shortened(one, most) for name, one in value.items()}
    return [_shortened(one, most) for one in value] if isinstance(value, list) else value


def _fitted(answer: "Dict[str, Any]") -> str:
    """As JSON, which says some characters with two or six: lists lose their last members, and then texts their ends, until it
    fits."""
    text = json.dumps(answer, ensure_ascii=False)
    note = {"note": "shortened; ask for less, or for one by its id"}
    for name, members in [(name, value) for name, value in answer.items() if isinstance(value, list)]:
        while len(text) > MOST and len(members) > 1:
            members = members[: len(members) // 2]
            answer = {**answer, name: members, **note}
            text = json.dumps(answer, ensure_ascii=False)
    most = MOST
    while len(text) > MOST and most > 0:
        most = most * 3 // 4
        text = json.dumps({**_shortened(answer, most), **note}, ensure_ascii=False)
    return text


def failure(message: str, code: str) -> str:
    return json.dumps({"error": _short(message), "code": code}, ensure_ascii=False)


def handle(name: str, args: Any, about: "Dict[str, Any]", ask: Ask) -> str:
    """Raises only what `ask` raises."""
    tool = _TOOLS.get(name)
    if tool is None:
        return failure(f"there is no tool {str(name)[:100]}; there are: {', '.join(_TOOLS)}", "unknown_tool")
    if not isinstance(args, dict):
        return failure("the arguments must be an object", "invalid_argument")
    try:
        return _fitted(tool(ask, args, about))
    except BadArguments as error:
        return failure(str(error), "invalid_argument")
