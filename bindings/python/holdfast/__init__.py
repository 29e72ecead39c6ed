"""Holdfast keeps each helper process to exactly one, alive exactly as long as somebody holds it, and gone, with
everything it started, the moment nobody does."""

from ._library import lib as _lib
from .errors import (
    Cancelled,
    Closed,
    ErrorCode,
    GaveUp,
    Held,
    HoldfastError,
    InvalidArgument,
    NotFound,
    NotPermitted,
    Overflow,
    RemoteError,
    TimedOut,
)
from .hooks import HookRouter
from .parent_watch import PARENT_VARIABLE, ParentWatch, describe_self
from .registry import Registry
from .slot import Slot, list_slots, query, stop_slot, wait_for_slot
from .supervisor import Call, Hold, IncomingRequest, Registration, Session, Supervisor

__version__: str = _lib.hf_version().decode()

__all__ = [
    "PARENT_VARIABLE",
    "Call",
    "Cancelled",
    "Closed",
    "ErrorCode",
    "GaveUp",
    "Held",
    "Hold",
    "HoldfastError",
    "HookRouter",
    "IncomingRequest",
    "InvalidArgument",
    "NotFound",
    "NotPermitted",
    "Overflow",
    "ParentWatch",
    "Registration",
    "Registry",
    "RemoteError",
    "Session",
    "Slot",
    "Supervisor",
    "TimedOut",
    "describe_self",
    "list_slots",
    "query",
    "stop_slot",
    "wait_for_slot",
]
