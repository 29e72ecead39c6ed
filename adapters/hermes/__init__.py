"""Holdfast as a memory provider of Hermes.

The host makes a new provider whenever it likes and drops it without a word, so a provider here owns nothing but a hold:
proof that the one memory helper of this process and data home is wanted. Everything that lives longer is in shared.py.
"""

from __future__ import annotations

import contextlib
from typing import Any

from . import binding
from .provider import HoldfastProvider

# Part of loading the plugin, so that initialize() does not pay for it. When it fails, is_available() says why.
with contextlib.suppress(Exception):
    binding.load()

__all__ = ["HoldfastProvider", "register"]


def register(ctx: Any) -> None:
    """What the host's loader calls, each time with a fresh wish for a provider."""
    ctx.register_memory_provider(HoldfastProvider())
