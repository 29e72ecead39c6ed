"""200 turns over 5 host processes, with kill -9 of hosts and helpers at random: every synced turn is stored exactly once and
in order, and what the first session stored, the next ones recall."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from typing import Any, List

from common import HERE, PLUGIN, HermesTest, main

TURNS = int(os.environ.get("HOLDFAST_HERMES_TURNS", "200"))
HOSTS = 5
SEED = int(os.environ.get("HOLDFAST_HERMES_SEED", "0")) or random.randrange(1, 1 << 30)


class Conversation(HermesTest):
    def start(self, number: int, first: int, last: int) -> "subprocess.Popen[str]":
        words = ["what is the password of the greenhouse?", "heliotrope"] if number else ["", ""]
        return subprocess.Popen(
            [sys.executable, os.path.join(HERE, "conversation_host.py"), PLUGIN, self.home, f"session-{number}", str(first),
             str(last), *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )

    def run_host(self, number: int, first: int, last: int, kill_at: int, chance: random.Random) -> "List[str]":
        """The turns that it said it had synced."""
        host = self.start(number, first, last)
        assert host.stdin is not None and host.stdout is not None
        synced: "List[str]" = []
        recalled = None
        for line in host.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "recalled":
                recalled = rest
            if word != "synced":
                continue
            synced.append(rest)
            if chance.random() < 0.05:
                for pid in self.helpers():
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass  # went by itself meanwhile
            if len(synced) == kill_at:
                host.kill()
                break
            host.stdin.write("on\n")
        # What it wrote before it was killed counts, too.
        rest_of_output = host.stdout.read()
        synced += [line.partition(" ")[2] for line in rest_of_output.splitlines() if line.startswith("synced ")]
        host.stdout.close()
        try:
            host.stdin.close()
        except BrokenPipeError:
            pass
        host.wait(timeout=60)
        if number:
            self.assertEqual(recalled, "yes", f"session {number} does not recall what session 0 stored")
        return synced

    def test_every_synced_turn_is_stored_exactly_once_and_in_order(self) -> None:
        chance = random.Random(SEED)
        said: "List[str]" = []
        share = TURNS // HOSTS
        for number in range(HOSTS):
            last = TURNS if number == HOSTS - 1 else (number + 1) * share
            kill_at = share if number == HOSTS - 1 else chance.randint(share // 2, share)
            while len(said) < last:
                before = len(said)
                said += self.run_host(number, len(said), last, kill_at, chance)
                self.assertGreater(len(said), before)
                kill_at = 0
        final = self.provider("final")
        found = [one["userText"].partition(":")[0] for one in self.stored(final, 60.0)]
        words = f"seed {SEED}"
        self.assertEqual(len(said), TURNS, words)
        self.assertEqual([one for one in said if found.count(one) != 1], [], words)
        # sync_turn may have written a turn whose host was killed before it could say so: stored once, never twice.
        self.assertEqual(sorted(set(found)), sorted(found), words)
        self.assertEqual([one for one in found if one in set(said)], said, words)
        final.shutdown()
        del final
        self.gone()
        queue = os.path.join(self.home, "holdfast", "queue")
        self.assertEqual(os.listdir(queue), [], "nothing waits any more")


class Control(HermesTest):
    def test_without_the_queue_on_disk_a_killed_host_loses_turns(self) -> None:
        """The check above can fail: the same, with the files taken away after the kill."""
        os.environ["HOLDFAST_MEMORY"] = "/bin/false"  # nothing is ever stored, so everything waits
        self.addCleanup(lambda: os.environ.pop("HOLDFAST_MEMORY", None))
        host = Conversation.start(self, 0, 1, 3)  # type: ignore[arg-type]
        assert host.stdin is not None and host.stdout is not None
        self.assertTrue(host.stdout.readline().startswith("synced"))
        host.kill()
        host.communicate()
        del os.environ["HOLDFAST_MEMORY"]
        queue = os.path.join(self.home, "holdfast", "queue")
        kept: "List[Any]" = [os.path.join(a, c) for a, _, b in os.walk(queue) for c in b if c.endswith(".json")]
        self.assertEqual(len(kept), 1)
        os.unlink(kept[0])
        provider = self.provider("after")
        self.assertEqual(self.stored(provider), [])


if __name__ == "__main__":
    main()
