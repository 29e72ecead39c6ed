"""Turns that wait: whatever keeps them from the store, they are stored in the end, once, in the order of their session, and
hold up nobody."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import threading
from typing import Any, Dict, List
from unittest import mock

from common import HERE, PLUGIN, HermesTest, eventually, main

SEED = int(os.environ.get("HOLDFAST_HERMES_SEED", "0")) or random.randrange(1, 1 << 30)


def turn(session: str, text: str, ts: int) -> "Dict[str, Any]":
    """As it is in a file of the queue."""
    params = {"agent": "hermes", "sessionId": session, "episodeId": "ep_" + session, "userText": text, "agentText": "x",
              "toolCalls": []}
    return {"kind": "turn", "ts": ts, "session": {"id": session, "agent": "hermes", "namespace": {}}, "params": params}


class QueueTest(HermesTest):
    def setUp(self) -> None:
        super().setUp()
        self.queue = os.path.join(self.home, "holdfast", "queue")

    def mark(self, provider: Any, session: str) -> str:
        spool = sys.modules[type(provider._link.outbox._spool).__module__]
        return str(spool.mark_of(session))

    def left(self, folder: str, bodies: "List[Dict[str, Any]]", marks: "Dict[str, str]") -> None:
        """By a process that is no more."""
        path = os.path.join(self.queue, folder)
        os.makedirs(path, mode=0o700)
        for number, body in enumerate(bodies):
            name = f"{body['ts']:013d}-{number:06d}-{marks[body['session']['id']]}-{number:016x}.json"
            with open(os.path.join(path, name), "w", encoding="utf-8") as file:
                json.dump(body, file)
        with open(os.path.join(path, "lock"), "w", encoding="utf-8"):
            pass

    def stored_in_the_end(self, provider: Any, within: float = 60.0) -> "List[str]":
        """The host goes on calling; what another process has in hand comes through when that is done."""

        def empty() -> bool:
            provider.queue_prefetch("x")
            return bool(provider._link.outbox.wait_empty(within))

        self.assertTrue(eventually(empty, within), "turns still wait")
        return [one["userText"] for one in self.stored(provider)]


class Refused(QueueTest):
    def setUp(self) -> None:
        super().setUp()
        self.refusals = os.path.join(self.home, "refusals")
        os.environ.update(
            HOLDFAST_MEMORY=os.path.join(HERE, "refusing_helper.py"),
            REFUSING_HELPER=os.path.join(PLUGIN, "lib", "holdfast", "holdfast-memory"),
            REFUSING=self.refusals,
        )
        self.addCleanup(lambda: os.environ.pop("HOLDFAST_MEMORY", None))

    def refuse(self, codes: "Dict[str, str]") -> None:
        with open(self.refusals + ".new", "w", encoding="utf-8") as file:
            json.dump(codes, file)
        os.replace(self.refusals + ".new", self.refusals)

    def test_what_may_pass_is_waited_for_however_often_it_was_tried(self) -> None:
        provider = self.provider()
        for code in ("internal", "not_initialized", "conflict", "no_code_of_the_contract"):
            self.log.messages.clear()
            self.refuse({"turn.end": code})
            said = [f"{code} {number}" for number in range(30)]
            for text in said:
                provider.sync_turn(text, "x")
                provider._link.outbox.wait_empty(10)
            self.assertEqual(len(self.log.messages), 1, "one outage, one message, whatever else the store answers")
            self.assertIn("turns cannot be stored now", self.log.messages[0])
            self.assertIn("holdfast logs hermes-memory", self.log.messages[0])
            os.unlink(self.refusals)
            self.assertEqual(self.stored_in_the_end(provider)[-30:], said)
        self.assertFalse(os.path.exists(os.path.join(self.queue, "refused")))

    def test_what_can_never_be_stored_is_set_aside_and_holds_up_nothing(self) -> None:
        provider = self.provider()
        for number, code in enumerate(("invalid_argument", "session_not_found", "invalid_argument")):
            self.log.messages.clear()
            self.refuse({"turn.end never": code})
            for text in ("before", "never this", "after"):
                provider.sync_turn(f"{text} {number}", "x")
            self.assertEqual(self.stored_in_the_end(provider)[-2:], [f"before {number}", f"after {number}"])
            self.assertEqual(len(os.listdir(os.path.join(self.queue, "refused"))), number + 1)
            self.assertEqual(len(self.log.messages), 1, "each time it is news")
            self.assertIn("set aside as", self.log.messages[0])

    def test_a_store_that_answers_nothing_is_not_given_what_others_left(self) -> None:
        self.refuse({"memory.list_episodes": "internal"})
        provider = self.provider("mine")
        mark = self.mark(provider, "theirs")
        self.left("0000000000001-1-dead", [turn("theirs", "left behind", 5)], {"theirs": mark})
        provider.queue_prefetch("x")
        provider._link.outbox.wait_empty(10)
        self.assertEqual(provider._link.outbox._spool._adopted, {})
        os.unlink(self.refusals)
        self.assertEqual(self.stored_in_the_end(provider), ["left behind"])


class FullDisk(QueueTest):
    CODE = (
        "import logging, os, sys; sys.path.insert(0, sys.argv[1]); import sim; from common import Captured\n"
        "log = Captured(); logging.getLogger('holdfast').addHandler(log)\n"
        "logging.getLogger('holdfast').propagate = False\n"
        "p = sim.load_provider(sys.argv[2]); p.initialize('s', hermes_home=sys.argv[3]); box = p._link.outbox\n"
        "filler = os.path.join(sys.argv[3], 'holdfast', 'memory', 'filler')\n"
        "p.sync_turn('before', 'x'); assert box.wait_empty(200)\n"
        "f = open(filler, 'wb', buffering=0)\n"
        "try:\n"
        "    while True: f.write(b'x' * 4096)\n"
        "except OSError: pass\n"
        "for n in range(60): p.sync_turn(f'during {n} ' + 'y' * 5000, 'x'); p.queue_prefetch('x'); box.wait_empty(5)\n"
        "told = [one for one in log.messages if 'cannot be stored' in one]\n"
        "f.close(); os.unlink(filler); p.sync_turn('after', 'x'); assert box.wait_empty(300)\n"
        "traces = p._link.hold().request('memory.list_traces', {'limit': 100})['traces'][::-1]\n"
        "said = [one['userText'].split(' y')[0] for one in traces]\n"
        "assert said == ['before', *(f'during {n}' for n in range(60)), 'after'], said\n"
        "assert 1 <= len(told) <= 3 and 'disk is full' in told[0], told\n"
        "p.shutdown(); print(os.listdir(os.path.join(sys.argv[3], 'holdfast', 'queue')))\n"
    )

    def test_a_store_on_a_full_disk_gets_every_turn_when_there_is_room(self) -> None:
        os.makedirs(self.data)
        mounting = f"mount -t tmpfs -o size=16m,mode=700 none {self.data} && exec \"$@\""
        ended = subprocess.run(
            ["unshare", "-m", "sh", "-c", mounting, "sh", sys.executable, "-c", self.CODE, HERE, PLUGIN, self.home],
            capture_output=True, text=True, timeout=1200,
        )
        if ended.returncode != 0 and ("unshare" in ended.stderr or "mount" in ended.stderr):
            self.skipTest("no right to mount a file system: " + ended.stderr)
        self.assertEqual((ended.stdout, ended.stderr), ("[]\n", ""))


class LeftBehind(QueueTest):
    def host(self, *words: str, **environment: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, os.path.join(HERE, "queue_host.py"), PLUGIN, self.home, *words],
            env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True,
        )

    def test_a_host_that_cannot_store_does_not_sit_on_what_a_dead_one_left(self) -> None:
        dead = self.host("chat", "0", "1000", HOLDFAST_MEMORY="/bin/false")
        assert dead.stdout is not None
        said = [dead.stdout.readline() for _ in range(3)]
        dead.kill()
        said += dead.communicate()[0].splitlines(keepends=True)
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); import logging; logging.disable(50); import sim\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('other', hermes_home=sys.argv[3])\n"
            "p._link.outbox.wait_empty(1); print('up', flush=True); sys.stdin.readline()\n"
        )
        other = subprocess.Popen(
            [sys.executable, "-c", code, HERE, PLUGIN, self.home], env={**os.environ, "HOLDFAST_MEMORY": "/bin/false"},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        self.addCleanup(other.communicate)
        assert other.stdout is not None
        self.assertEqual(other.stdout.readline(), b"up\n")
        provider = self.provider("chat")
        provider.sync_turn("chat now", "x")
        found = self.stored_in_the_end(provider)
        self.assertGreaterEqual(len(found), len(said) + 1)
        self.assertEqual(found, sorted(found), "the dead host's first, in their order")
        self.assertEqual(found[-1], "chat now")

    def in_hand(self, provider: Any, left: bool) -> "subprocess.Popen[bytes]":
        """A living process has something of the session "chat": its own, or what a dead one left."""
        mark = self.mark(provider, "chat")
        self.left("0000000000001-1-living", [turn("chat", "said before", 5)], {"chat": mark})
        if left:
            with open(os.path.join(self.queue, "0000000000001-1-living", "left"), "w", encoding="utf-8"):
                pass
        code = (
            "import fcntl, os, sys; d = os.open(sys.argv[1], os.O_RDWR); fcntl.lockf(d, fcntl.LOCK_EX)\n"
            "print('locked', flush=True); sys.stdin.readline()\n"
        )
        lock = os.path.join(self.queue, "0000000000001-1-living", "lock")
        living = subprocess.Popen([sys.executable, "-c", code, lock], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert living.stdout is not None
        self.assertEqual(living.stdout.readline(), b"locked\n")
        return living

    def test_a_session_waits_for_what_a_living_host_took_up_of_it_and_others_do_not(self) -> None:
        provider = self.provider("chat")
        living = self.in_hand(provider, left=True)
        provider.sync_turn("said now", "x", session_id="chat")
        provider.sync_turn("in another session", "x", session_id="else")
        self.assertFalse(provider._link.outbox.wait_empty(20))
        found = self.ask(provider, "memory.list_traces")["traces"]
        self.assertEqual([one["userText"] for one in found], ["in another session"])
        living.communicate(b"\n")  # it is no more, and its folder is left behind
        self.assertEqual(self.stored_in_the_end(provider), ["in another session", "said before", "said now"])

    def test_two_living_hosts_in_one_session_do_not_wait_for_each_other(self) -> None:
        provider = self.provider("chat")
        living = self.in_hand(provider, left=False)
        provider.sync_turn("said now", "x", session_id="chat")
        self.assertEqual([one["userText"] for one in self.stored(provider)], ["said now"])
        living.communicate(b"\n")
        self.assertEqual(self.stored_in_the_end(provider), ["said now", "said before"])

    def test_hosts_that_are_killed_and_come_back_keep_the_order_of_each_session(self) -> None:
        """Three at once, hosts and helpers killed at random: whoever takes up what, each session is stored in its order."""
        chance = random.Random(SEED)
        turns, names = 60, [f"host{number}" for number in range(3)]
        said: "Dict[str, List[str]]" = {name: [] for name in names}
        running: "Dict[str, subprocess.Popen[str]]" = {}

        def run(name: str) -> None:
            done = 0
            while done < turns:
                host = running[name] = self.host(name, str(done), str(turns))
                assert host.stdout is not None
                for line in host.stdout:
                    number, _, pid = line.strip().partition(" ")
                    if pid and line.endswith("\n"):
                        said[name].append(f"{name} {int(number):04d} {pid}")
                        done = int(number) + 1
                host.stdout.close()
                host.wait()

        threads = [threading.Thread(target=run, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        pause = threading.Event()
        while any(thread.is_alive() for thread in threads):
            pause.wait(chance.uniform(0.02, 0.2))
            if chance.random() < 0.5:
                for pid in self.helpers()[:1]:
                    try:
                        os.kill(pid, 9)
                    except ProcessLookupError:
                        pass
            elif running:
                chance.choice(list(running.values())).kill()
        for thread in threads:
            thread.join()
        found = self.stored_in_the_end(self.provider("final"))
        self.assertEqual(len(set(found)), len(found), f"none twice; seed {SEED}")
        for name in names:
            mine = [one for one in found if one in set(said[name])]
            self.assertEqual(mine, said[name], f"seed {SEED}")


class LongQueue(QueueTest):
    COUNT = 600

    def test_what_is_said_now_is_not_behind_what_others_left(self) -> None:
        provider = self.provider("mine")
        mark = self.mark(provider, "theirs")
        provider.prefetch("x")
        self.left("0000000000001-1-dead", [turn("theirs", f"left {n}", 5 + n) for n in range(self.COUNT)], {"theirs": mark})
        spool = provider._link.outbox._spool
        with mock.patch("os.listdir", wraps=os.listdir) as listed, mock.patch.object(spool, "read", wraps=spool.read) as read:
            provider.initialize("mine", hermes_home=self.home)
            self.assertLess(read.call_count, self.COUNT // 2, "what waits is read when it is its turn")
            provider.sync_turn("said now", "x")
            found = self.stored_in_the_end(provider)
        self.assertLess(listed.call_count, 60, "not once for each turn")
        self.assertEqual([one for one in found if one != "said now"], [f"left {n}" for n in range(self.COUNT)])
        self.assertLess(found.index("said now"), self.COUNT)


if __name__ == "__main__":
    main()
