"""Where things are, and what a user may choose. All of it follows the Hermes home, so two profiles never meet."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any, Dict, List

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
    return os.environ.get("HERMES_HOME") or os.path.join(os.path.expanduser("~"), ".hermes")


@dataclass(frozen=True)
class Places:
    """Of one Hermes home. realpath, so that two spellings of one home are one home."""

    root: str
    config: str
    memory: str
    queue: str


def places(hermes_home: str = "") -> Places:
    root = os.path.join(os.path.realpath(hermes_home or default_home()), "holdfast")
    return Places(root, os.path.join(root, "config.json"), os.path.join(root, "memory"), os.path.join(root, "queue"))


def outside(where: Places) -> "List[str]":
    """What the host's backup of its home would miss: our folder, where somebody has put it elsewhere by a link."""
    home, real = os.path.dirname(where.root), os.path.realpath(where.root)
    return [] if real.startswith(home.rstrip("/") + "/") else [real]


def make_private(where: Places) -> None:
    """The folders that are ours, for the user alone."""
    for path in (where.root, where.memory):
        os.makedirs(path, mode=0o700, exist_ok=True)


def checked(values: "Dict[str, Any]") -> "Dict[str, Any]":
    """The known values of the right kind; raises ValueError for a known key with a wrong value."""
    out: "Dict[str, Any]" = {}
    for field in SCHEMA:
        key = field["key"]
        if key not in values:
            continue
        value = values[key]
        if field.get("type") == "boolean":
            if isinstance(value, str):
                if value.strip().lower() not in ("true", "false", "yes", "no", "1", "0"):
                    raise ValueError(f"{key} is true or false, not {value!r}")
                value = value.strip().lower() in ("true", "yes", "1")
            value = bool(value)
        elif field.get("type") == "integer":
            try:
                value = int(value)
            except (TypeError, ValueError):
                raise ValueError(f"{key} is a whole number, not {value!r}") from None
            if not field["minimum"] <= value <= field["maximum"]:
                raise ValueError(f"{key} is from {field['minimum']} to {field['maximum']}, not {value}")
        elif value not in field["choices"]:
            raise ValueError(f"{key} is one of {', '.join(field['choices'])}, not {value!r}")
        out[key] = value
    return out


def load(where: Places) -> "Dict[str, Any]":
    """What was saved, over the defaults. A file that is not there is no news; one that cannot be read raises ValueError."""
    try:
        with open(where.config, encoding="utf-8") as file:
            saved = json.load(file)
    except FileNotFoundError:
        return dict(DEFAULTS)
    except (OSError, ValueError) as error:
        raise ValueError(f"{where.config} cannot be read ({error}); correct it or remove it") from error
    if not isinstance(saved, dict):
        raise ValueError(f"{where.config} is not a JSON object; correct it or remove it")
    return {**DEFAULTS, **checked(saved)}


def save(where: Places, values: "Dict[str, Any]") -> None:
    """Whole or not at all, readable by the user alone. Keys that are not given stay as they were."""
    try:
        before = load(where)
    except ValueError:
        before = dict(DEFAULTS)
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
