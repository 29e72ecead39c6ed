"""libholdfast.so, loaded once, with the types of its functions (include/holdfast.h).

ctypes lets go of the interpreter lock during every call, so waiting here holds up nobody.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint, c_uint64, c_void_p
from typing import Any, List, Optional, Union

ABI_VERSION = 1

RELEASE = CFUNCTYPE(None, c_void_p)
ANSWERED = CFUNCTYPE(None, c_void_p, c_int, c_char_p, c_void_p)
NOTIFIED = CFUNCTYPE(None, c_void_p, c_char_p, c_char_p)
SERVED = CFUNCTYPE(None, c_void_p, c_void_p)
SESSION_OPEN = CFUNCTYPE(c_int, c_void_p, c_void_p)
AFTER_RESTART = CFUNCTYPE(c_int, c_void_p, c_char_p)
WATCH_FIRED = CFUNCTYPE(None, c_void_p, c_int)



class Answer(ctypes.Structure):
    """hf_answer: an answer in memory of ours. Large texts are the library's, until free()."""

    _fields_ = [
        ("size", c_size_t),
        ("room", c_void_p),
        ("room_size", c_size_t),
        ("json", c_void_p),
        ("json_size", c_size_t),
        ("message", c_void_p),
        ("is_error", c_int),
        ("error_code", c_int),
        ("generation", c_uint64),
        ("allocated", c_int),
        ("call", c_void_p),
    ]

    allocated: int

    def __init__(self) -> None:
        self.memory = ctypes.create_string_buffer(16384)
        super().__init__(ctypes.sizeof(Answer), ctypes.addressof(self.memory), len(self.memory))

    def text(self) -> bytes:
        return ctypes.string_at(self.json, self.json_size)

    def free(self) -> None:
        self.call = None
        if self.allocated:
            self.allocated = 0
            lib.hf_free(self.json)
            lib.hf_free(self.message)


# name: (result, arguments). Texts that the caller has to free are c_void_p, so that ctypes does not swallow the pointer.
_OUT = POINTER(c_void_p)
_SIGNATURES: "dict[str, tuple[Any, List[Any]]]" = {
    "hf_abi_version": (c_int, []),
    "hf_version": (c_char_p, []),
    "hf_error_name": (c_char_p, [c_int]),
    "hf_last_message": (c_char_p, []),
    "hf_last_errno": (c_int, []),
    "hf_set_message": (None, [c_char_p]),
    "hf_free": (None, [c_void_p]),
    "hf_options_new": (c_void_p, []),
    "hf_options_free": (None, [c_void_p]),
    "hf_options_text": (c_int, [c_void_p, c_char_p, c_char_p]),
    "hf_options_number": (c_int, [c_void_p, c_char_p, c_double]),
    "hf_options_add": (c_int, [c_void_p, c_char_p, c_char_p]),
    "hf_supervisor_new": (c_int, [c_void_p, _OUT]),
    "hf_supervisor_free": (None, [c_void_p]),
    "hf_supervisor_shutdown": (c_int, [c_void_p, c_int64]),
    "hf_supervisor_status": (c_int, [c_void_p, _OUT]),
    "hf_supervisor_hold": (c_int, [c_void_p, c_void_p, _OUT]),
    "hf_hold_free": (None, [c_void_p]),
    "hf_hold_release": (None, [c_void_p]),
    "hf_hold_wait_ready": (c_int, [c_void_p, c_int64, POINTER(c_uint64)]),
    "hf_hold_status": (c_int, [c_void_p, _OUT]),
    "hf_hold_replace": (c_int, [c_void_p, c_uint64, c_int64, POINTER(c_uint64)]),
    "hf_hold_retry": (c_int, [c_void_p]),
    "hf_hold_start": (c_int, [c_void_p, c_char_p, c_char_p, c_int64, c_uint, c_uint64, _OUT]),
    "hf_hold_start_with": (
        c_int,
        [c_void_p, c_char_p, c_char_p, c_int64, c_uint, c_uint64, ANSWERED, c_void_p, RELEASE, _OUT],
    ),
    "hf_hold_request_into": (
        c_int,
        [c_void_p, c_char_p, c_char_p, c_int64, c_uint, c_uint64, c_int64, POINTER(Answer)],
    ),
    "hf_reply_into": (c_int, [c_void_p, POINTER(Answer)]),
    "hf_hold_notify": (c_int, [c_void_p, c_char_p, c_char_p]),
    "hf_call_wait": (c_int, [c_void_p, c_int64, _OUT]),
    "hf_call_done": (c_int, [c_void_p]),
    "hf_call_wait_done": (c_int, [c_void_p, c_int64]),
    "hf_call_cancel": (None, [c_void_p]),
    "hf_call_free": (None, [c_void_p]),
    "hf_reply_free": (None, [c_void_p]),
    "hf_hold_subscribe": (c_int, [c_void_p, c_char_p, NOTIFIED, c_void_p, RELEASE, _OUT]),
    "hf_hold_serve": (c_int, [c_void_p, c_char_p, SERVED, c_void_p, RELEASE, _OUT]),
    "hf_registration_free": (None, [c_void_p]),
    "hf_request_method": (c_char_p, [c_void_p]),
    "hf_request_params": (c_char_p, [c_void_p]),
    "hf_request_reply": (c_int, [c_void_p, c_char_p]),
    "hf_request_reply_error": (c_int, [c_void_p, c_int, c_char_p, c_char_p]),
    "hf_request_free": (None, [c_void_p]),
    "hf_hold_session": (c_int, [c_void_p, SESSION_OPEN, c_void_p, RELEASE, _OUT]),
    "hf_session_request": (c_int, [c_void_p, c_char_p, c_char_p, c_int64, c_uint, c_uint64, _OUT]),
    "hf_session_open_on": (c_uint64, [c_void_p]),
    "hf_session_free": (None, [c_void_p]),
    "hf_slot_acquire": (c_int, [c_void_p, _OUT, _OUT]),
    "hf_slot_free": (None, [c_void_p]),
    "hf_slot_epoch": (c_uint64, [c_void_p]),
    "hf_slot_progress": (c_int, [c_void_p, c_uint64, c_uint64, c_char_p]),
    "hf_slot_extend_patience": (c_int, [c_void_p, c_int64]),
    "hf_slot_set_status": (c_int, [c_void_p, c_char_p]),
    "hf_slot_set_address": (c_int, [c_void_p, c_char_p]),
    "hf_slot_set_phase": (c_int, [c_void_p, c_char_p]),
    "hf_slot_life_fd": (c_int, [c_void_p]),
    "hf_slot_watch_fd": (c_int, [c_void_p]),
    "hf_slot_still_mine": (c_int, [c_void_p]),
    "hf_slot_query": (c_int, [c_char_p, c_char_p, _OUT]),
    "hf_slot_list": (c_int, [c_char_p, _OUT]),
    "hf_slot_stop": (c_int, [c_char_p, c_char_p, c_void_p, POINTER(c_int)]),
    "hf_slot_wait": (c_int, [c_char_p, c_char_p, c_char_p, c_int64, c_int, _OUT]),
    "hf_registry_open": (c_int, [c_void_p, _OUT]),
    "hf_registry_free": (None, [c_void_p]),
    "hf_registry_register": (c_int, [c_void_p, c_int, c_void_p, _OUT]),
    "hf_registry_register_pidfd": (c_int, [c_void_p, c_int, c_void_p, _OUT]),
    "hf_registry_find": (c_int, [c_void_p, c_char_p, c_char_p, _OUT]),
    "hf_registry_get": (c_int, [c_void_p, c_char_p, _OUT]),
    "hf_registry_has_active": (c_int, [c_void_p, c_char_p]),
    "hf_registry_end": (c_int, [c_void_p, c_char_p, c_char_p, c_void_p, _OUT]),
    "hf_registry_forget": (c_int, [c_void_p, c_char_p]),
    "hf_registry_after_restart": (c_int, [c_void_p, c_char_p, AFTER_RESTART, c_void_p, c_void_p, _OUT]),
    "hf_registry_poll_fd": (c_int, [c_void_p]),
    "hf_registry_collect": (c_int, [c_void_p, _OUT]),
    "hf_registry_expire": (c_size_t, [c_void_p, c_int64]),
    "hf_registry_clock_ms": (c_int64, []),
    "hf_parent_watch_new": (c_int, [c_void_p, WATCH_FIRED, c_void_p, RELEASE, _OUT]),
    "hf_parent_watch_free": (None, [c_void_p]),
    "hf_parent_watch_fd": (c_int, [c_void_p]),
    "hf_parent_watch_fired": (c_int, [c_void_p]),
    "hf_parent_watch_touch": (None, [c_void_p]),
    "hf_describe_self": (c_int, [_OUT]),
}


def _candidates() -> "List[str]":
    named = os.environ.get("HOLDFAST_LIBRARY")
    if named:
        return [named]
    here = os.path.dirname(os.path.abspath(__file__))
    return [os.path.join(here, "libholdfast.so.1"), "libholdfast.so.1"]


def _load() -> ctypes.CDLL:
    problems = []
    for path in _candidates():
        try:
            library = ctypes.CDLL(path)
        except OSError as error:
            problems.append(str(error))
            continue
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(library, name)
            function.restype = result
            function.argtypes = arguments
        if library.hf_abi_version() != ABI_VERSION:
            raise ImportError(f"{path} speaks ABI {library.hf_abi_version()}; this package needs {ABI_VERSION}")
        return library
    raise ImportError(
        "libholdfast.so.1 cannot be loaded; install Holdfast or set HOLDFAST_LIBRARY to its path (" + "; ".join(problems) + ")"
    )


lib: Any = _load()


Text = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]


def encoded(text: "Optional[Text]") -> "Optional[bytes]":
    """For the library. ValueError for a text that would end there at its first NUL, TypeError for what is no text."""
    if text is None:
        return None
    text = text if isinstance(text, str) else os.fsdecode(text)
    if "\0" in text:
        raise ValueError("a text for Holdfast cannot have a NUL in it")
    return text.encode("utf-8", "surrogateescape")


def message(text: str) -> bytes:
    """Of an error, for the library: whatever is in it, it gets there."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace")


def take_text(pointer: c_void_p) -> str:
    """The text behind an out parameter, which is freed."""
    if not pointer.value:
        return ""
    try:
        return ctypes.string_at(pointer.value).decode("utf-8", "surrogateescape")
    finally:
        lib.hf_free(pointer)
