"""A host that says its turns in one session as fast as it can, and each on its output after sync_turn has returned.

    queue_host.py PLUGIN HOME SESSION FIRST LAST
"""

from __future__ import annotations

import logging
import os
import sys

import sim


def main(plugin: str, home: str, session: str, first: str, last: str) -> int:
    logging.disable(logging.CRITICAL)
    provider = sim.load_provider(plugin)
    provider.initialize(session, hermes_home=home)
    for turn in range(int(first), int(last)):
        provider.sync_turn(f"{session} {turn:04d} {os.getpid()}", "x", session_id=session)
        os.write(1, f"{turn} {os.getpid()}\n".encode())
        provider.queue_prefetch("x", session_id=session)
    provider.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
