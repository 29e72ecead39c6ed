"""A host in the middle of a turn: says "stored" when on_pre_compress has returned, and waits to be killed.

    checkpoint_host.py PLUGIN HOME SESSION TEXT…
"""

from __future__ import annotations

import logging
import os
import sys

import sim


def main(plugin: str, home: str, session: str, *texts: str) -> int:
    logging.disable(logging.CRITICAL)
    provider = sim.load_provider(plugin)
    provider.initialize(session, hermes_home=home, platform="cli")
    messages = []
    for number, text in enumerate(texts):
        provider.on_turn_start(number, text, author_id=None, author_name=None, author_is_bot=False)
        messages.append({"role": "user", "content": text})
    provider.on_pre_compress(messages, require_checkpoint=True)
    os.write(1, b"stored\n")
    sys.stdin.readline()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
