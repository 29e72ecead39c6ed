"""200 turns over 5 host processes, with kill -9 of hosts and helpers at random: every synced turn is stored exactly once and
in order, and what the first session stored, the next ones recall."""

from __future__ import annotations

import collections
import json
import os
import random
import signal
import subprocess
import sys
from typing import Any, Dict, List, Tuple

from common import HERE, PLUGIN, HermesTest, main

TURNS = int(os.environ.get("HOLDFAST_HERMES_TURNS", "200"))
HOSTS = 5
SEED = int(os.environ.get("HOLDFAST_HERMES_SEED", "0")) or random.randrange(1, 1 << 30)


def faults(said: "List[str]", found: "List[str]") -> "Dict[str, Any]":
    """What is wrong with the store: empty when every turn that was synced is there once, and in order."""
    twice = [one for one, count in collections.Counter(found).items() if count > 1]
    out = {
        "lost": [one for one in said if one not in set(found)],
        # sync_turn may have written a turn whose host was killed before it could say so: stored once, never twice.
        "twice": twice,
        "out of order": [one for one in dict.fromkeys(found) if one in set(said)] != [one for one in said if one in set(found)],
    }
    return {what: which for what, which in out.items() if which}


def words_of(traces: "List[Dict[str, Any]]") -> "List[str]":
    return [str(one["userText"]).partition(":")[0] for one in traces]


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
        host.wait(timeout=600)
        if number:
            self.assertEqual(recalled, "yes", f"session {number} does not recall what session 0 stored; seed {SEED}")
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
        self.assertEqual(len(said), TURNS, f"seed {SEED}")
        self.assertEqual(faults(said, words_of(self.stored(final, 600.0))), {}, f"seed {SEED}")
        final.shutdown()
        del final
        self.gone()
        queue = os.path.join(self.home, "holdfast", "queue")
        self.assertEqual(os.listdir(queue), [], "nothing waits any more")


class Control(HermesTest):
    """The check above can fail: with the files of the queue changed after the kill."""

    def waiting(self) -> "Tuple[List[str], List[str]]":
        """What a killed host had said, and the files of it."""
        os.environ["HOLDFAST_MEMORY"] = "/bin/false"  # nothing is ever stored, so everything waits
        self.addCleanup(lambda: os.environ.pop("HOLDFAST_MEMORY", None))
        host = Conversation.start(self, 0, 1, 3)  # type: ignore[arg-type]
        assert host.stdin is not None and host.stdout is not None
        said = [host.stdout.readline().strip().partition(" ")[2]]
        host.stdin.write("on\n")
        said.append(host.stdout.readline().strip().partition(" ")[2])
        host.kill()
        host.communicate()
        del os.environ["HOLDFAST_MEMORY"]
        queue = os.path.join(self.home, "holdfast", "queue")
        files = sorted(os.path.join(a, c) for a, _, b in os.walk(queue) for c in b if c.endswith(".json"))
        self.assertEqual(len(files), 2)
        return said, files

    def test_a_turn_that_is_lost_is_noticed(self) -> None:
        said, files = self.waiting()
        os.unlink(files[0])
        found = words_of(self.stored(self.provider("after")))
        self.assertEqual(faults(said, found), {"lost": said[:1]})

    def test_a_turn_that_is_stored_twice_is_noticed(self) -> None:
        said, files = self.waiting()
        with open(files[1], encoding="utf-8") as file:
            body = json.load(file)
        body["ts"] += 1  # another turn, as far as the store can tell
        folder, name = os.path.split(files[1])
        with open(os.path.join(folder, f"{body['ts']:013d}" + name[13:]), "w", encoding="utf-8") as file:
            json.dump(body, file)
        found = words_of(self.stored(self.provider("after")))
        self.assertEqual(faults(said, found), {"twice": said[1:]})

    def test_turns_in_another_order_are_noticed(self) -> None:
        said, files = self.waiting()
        os.rename(files[0], files[0] + ".kept")
        (folder, first), last = os.path.split(files[0]), os.path.basename(files[1])
        os.rename(files[0] + ".kept", os.path.join(folder, f"{int(last[:13]) + 1:013d}" + first[13:]))
        found = words_of(self.stored(self.provider("after")))
        self.assertEqual(faults(said, found), {"out of order": True})


if __name__ == "__main__":
    print(f"HOLDFAST_HERMES_SEED={SEED}", file=sys.stderr)
    main()
