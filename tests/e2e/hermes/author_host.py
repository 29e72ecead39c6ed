"""A host with one group chat: two people and a bot take turns in one session. Says each turn on its output after sync_turn has
returned, and ends when it is killed.

    author_host.py PLUGIN HOME SESSION
"""

from __future__ import annotations

import logging
import os
import sys

import sim

AUTHORS = ({"id": "1", "name": "A", "is_bot": False}, {"id": "2", "name": "B", "is_bot": False},
           {"id": "2", "name": "C", "is_bot": True}, None)


def main(plugin: str, home: str, session: str) -> int:
    logging.disable(logging.CRITICAL)
    provider = sim.load_provider(plugin)
    provider.initialize(session, hermes_home=home, platform="chat", user_id="1")
    manager = sim.MemoryManager(provider)
    number = 0
    while True:
        author = AUTHORS[number % len(AUTHORS)]
        said = f"quince {number:05d} of {number % len(AUTHORS)}"
        words = author or {"id": None, "name": None, "is_bot": False}
        manager.on_turn_start(number, said, author_id=words["id"], author_name=words["name"], author_is_bot=words["is_bot"])
        manager.sync_all(said, "noted", session_id=session, author=author)
        manager.settle()
        os.write(1, f"{said}\n".encode())
        number += 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
