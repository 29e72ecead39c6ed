"""One host process of the long conversation. Says each synced turn on its output after sync_turn has returned.

    conversation_host.py PLUGIN HOME SESSION FIRST LAST FACT_QUESTION FACT
"""

from __future__ import annotations

import logging
import os
import sys

import sim

logging.basicConfig(level=logging.WARNING, format="%(message)s")


def say(word: str) -> None:
    os.write(1, word.encode() + b"\n")


def main(plugin: str, home: str, session: str, first: str, last: str, question: str, fact: str) -> int:
    sim.Host.install_modules()
    provider = sim.load_provider(plugin)
    provider.initialize(session, hermes_home=home, platform="cli")
    if question:
        say("recalled " + ("yes" if fact in sim.recall_when_open(provider, question, session) else "no"))
    for turn in range(int(first), int(last)):
        text = f"turn {turn} of process {os.getpid()}"
        if turn % 3 == 0:
            provider.prefetch(text, session_id=session)
        provider.sync_turn(f"{text}: {'the password of the greenhouse is heliotrope' if turn == 0 else 'chatter'}", "ok",
                           session_id=session)
        say("synced " + text)
        if sys.stdin.readline() != "on\n":  # in step with whoever kills
            break
    provider.shutdown()
    say("done")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
