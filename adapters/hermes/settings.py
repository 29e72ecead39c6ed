"""Where things are, and what a user may choose. All of it follows the Hermes home, so two profiles never meet."""

from __future__ import annotations

import errno
import json
import os
import stat
from dataclasses import dataclass
from typing import Any, Dict, List, Tuple

from . import host

FOR_A_MOMENT = (errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EINTR, errno.EAGAIN)
DEFAULTS: "Dict[str, Any]" = {"recall": True, "users": "together", "top_k": 8}

SCHEMA: "List[Dict[str, Any]]" = [
    {
        "key": "recall",
        "description": "Put what was remembered in front of each turn",
        "type": "boolean",
        "default": DEFAULTS["recall"],
    },
    {
        "key": "users",
        "description": "Whether the users of a gateway share one memory (together) or each has their own (apart)",
        "choices": ["together", "apart"],
        "default": DEFAULTS["users"],
    },
    {
        "key": "top_k",
        "description": "How many memories the search tool returns",
        "type": "integer",
        "minimum": 1,
        "maximum": 50,
        "default": DEFAULTS["top_k"],
    },
]


def default_home() -> str:
    return host.home() or os.environ.get("HERMES_HOME") or os.path.join(os.path.expanduser("~"), ".hermes")


@dataclass(frozen=True)
class Places:
    """Of one Hermes home. realpath, so that two spellings of one home are one home."""

    root: str
    config: str
    memory: str
    queue: str
    speakers: str  # of turns that have begun


def places(hermes_home: str = "") -> Places:
    root = os.path.join(os.path.realpath(hermes_home or default_home()), "holdfast")
    return Places(root, *(os.path.join(root, name) for name in ("config.json", "memory", "queue", "speakers")))


def outside(where: Places) -> "List[str]":
    """What the host's backup of its home would miss: our folder, where somebody has put it elsewhere by a link."""
    home, real = os.path.dirname(where.root), os.path.realpath(where.root)
    return [] if real.startswith(home.rstrip("/") + "/") else [real]


def make_private(where: Places) -> None:
    """The folders that are ours, for the user alone."""
    for path in (where.root, where.memory):
        os.makedirs(path, mode=0o700, exist_ok=True)


LARGEST = 1 << 16  # bytes of the file


def _value(field: "Dict[str, Any]", value: Any) -> Any:
    """Of the right kind; raises ValueError."""
    key = field["key"]
    wrong = ValueError(f"{key} is {_kind(field)}, not {_shown(value)}")
    if field.get("type") == "boolean":
        if isinstance(value, bool) or (isinstance(value, (int, float)) and value in (0, 1)):
            return bool(value)
        if isinstance(value, str) and value.strip().lower() in ("true", "false", "yes", "no", "1", "0"):
            return value.strip().lower() in ("true", "yes", "1")
        raise wrong
    if field.get("type") == "integer":
        if isinstance(value, bool) or not isinstance(value, (int, float, str)):
            raise wrong
        try:
            number = int(value)
        except (ValueError, OverflowError):
            raise wrong from None
        if number != value and not isinstance(value, str):
            raise wrong
        if not field["minimum"] <= number <= field["maximum"]:
            raise ValueError(f"{key} is from {field['minimum']} to {field['maximum']}, not {_shown(value)}")
        return number
    if not isinstance(value, str) or value not in field["choices"]:
        raise wrong
    return value


def _kind(field: "Dict[str, Any]") -> str:
    if "choices" in field:
        return f"one of {', '.join(field['choices'])}"
    return "true or false" if field["type"] == "boolean" else "a whole number"


def _shown(value: Any) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # digits without end, or lists in lists
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else text[:80] + "…"


def checked(values: "Dict[str, Any]") -> "Dict[str, Any]":
    """The known values of the right kind; raises ValueError for a known key with a wrong value."""
    return {one["key"]: _value(one, values[one["key"]]) for one in SCHEMA if one["key"] in values}


# Where it cannot be told what a user has chosen, nobody is shown what another said.
CAREFUL: "Dict[str, Any]" = {**DEFAULTS, "users": "apart"}


def _read(path: str) -> Any:
    """Raises ValueError, or OSError. What is no file, or has no end, does not hold up the host."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise ValueError("it is no file")
        text = file.read(LARGEST + 1)
    if len(text) > LARGEST:
        raise ValueError(f"it has more than {LARGEST} bytes")
    try:
        return json.loads(text.decode("utf-8"))
    except (RecursionError, MemoryError, OverflowError) as error:
        raise ValueError(f"{type(error).__name__}: it is nested too deeply") from None


def _saved(where: Places) -> "Tuple[Dict[str, Any], List[str], str]":
    """The values that are right, the keys of those that are not, and why."""
    keys = [one["key"] for one in SCHEMA]
    try:
        saved = _read(where.config)
    except FileNotFoundError:
        return {}, [], ""
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in FOR_A_MOMENT:
            raise
        return {}, keys, f"{where.config} cannot be read ({error}); correct it or remove it"
    if not isinstance(saved, dict):
        return {}, keys, f"{where.config} is not a JSON object; correct it or remove it"
    right: "Dict[str, Any]" = {}
    wrong: "Dict[str, str]" = {}
    for field in SCHEMA:
        if field["key"] in saved:
            try:
                right[field["key"]] = _value(field, saved[field["key"]])
            except ValueError as error:
                wrong[field["key"]] = str(error)
    return right, list(wrong), f"{where.config}: {'; '.join(wrong.values())}; correct it" if wrong else ""


def read(where: Places) -> "Tuple[Dict[str, Any], str]":
    """What was saved, over the defaults, and what is wrong with it and holds instead ("": nothing). A file that is not there is
    no news; in one that is wrong, each value that is right counts. Raises OSError when the file may be fine and cannot be read
    now."""
    right, wrong, why = _saved(where)
    found = {**DEFAULTS, **{key: CAREFUL[key] for key in wrong}, **right}
    instead = ", ".join(f"{key} is {json.dumps(found[key])}" for key in wrong if key != "users")
    instead = f"the defaults are used ({instead}), and " if instead else ""
    return found, f"{why}. Until then {instead}users are kept {found['users']}" if why else ""


def save(where: Places, values: "Dict[str, Any]") -> None:
    """Whole or not at all, readable by the user alone. Keys that are not given stay as they were."""
    before = {**DEFAULTS, **_saved(where)[0]}
    make_private(where)
    temporary = f"{where.config}.{os.getpid()}.tmp"
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        os.fchmod(file.fileno(), 0o600)
        json.dump({**before, **checked(values)}, file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, where.config)
