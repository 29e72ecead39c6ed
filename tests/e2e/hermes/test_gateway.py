"""The gateway's PID file, in every state that users found it in, behind `holdfast run`: the start succeeds, strangers live on,
and nothing loops."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from typing import List, Optional, Tuple

import gateway
import sampler
from common import HERE, PROGRAMS, eventually

GATEWAY = [sys.executable, os.path.join(HERE, "gateway.py")]
HELD = 69


class Gateway(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="hf-gateway-")
        self.addCleanup(directory.cleanup)
        self.home = os.path.realpath(directory.name)
        self.record = os.path.join(self.home, "gateway.pid")
        self.own_record = os.path.join(self.home, "of-holdfast.pid")
        self.environment = {**os.environ, "HOLDFAST_HOME": os.path.join(self.home, "hf")}

    def start(self, *options: str, gateway_options: "Tuple[str, ...]" = ()) -> "subprocess.Popen[str]":
        """As docs/hermes.md has it, and with a PID file of our own beside it."""
        command = [os.path.join(PROGRAMS, "holdfast"), "run", "--slot", "gateway", "--pidfile", self.own_record,
                   "--pidfile-format", "json", "--adopt", self.record, *options, "--", *GATEWAY, self.record, *gateway_options]
        return self._started(command)

    def start_bare(self, *options: str) -> "subprocess.Popen[str]":
        """As without Holdfast."""
        return self._started([*GATEWAY, self.record, *options])

    def _started(self, command: "List[str]") -> "subprocess.Popen[str]":
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=self.environment
        )
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process: "subprocess.Popen[str]") -> None:
        if process.poll() is None:
            process.terminate()
        process.communicate(timeout=300)

    def up(self, process: "subprocess.Popen[str]") -> int:
        """The gateway's own PID, once it has said that it is up."""
        assert process.stdout is not None and process.stderr is not None
        line = process.stdout.readline()
        self.assertTrue(line.startswith("up "), line or process.stderr.read())
        return int(line.split()[1])

    def gateways(self) -> "List[int]":
        found = []
        for pid in os.listdir("/proc"):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    words = file.read().split(b"\0")
                with open(f"/proc/{pid}/stat", "rb") as file:
                    state = file.read().rpartition(b")")[2].split()[0]
            except (OSError, ValueError):
                continue
            if len(words) > 2 and words[1] == GATEWAY[1].encode() and words[2] == self.record.encode() and state != b"Z":
                found.append(int(pid))
        return found

    def stranger(self) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(["/bin/sleep", "3600"])

        def end() -> None:
            process.kill()
            process.wait()

        self.addCleanup(end)
        return process

    def write(self, text: bytes) -> None:
        with open(self.record, "wb") as file:
            file.write(text)

    def test_a_record_that_a_killed_gateway_left(self) -> None:
        first = self.start()
        old = self.up(first)
        os.kill(old, signal.SIGKILL)
        first.kill()
        self.assertTrue(eventually(lambda: not self.gateways()))
        # The slot is free when the keeper has seen to the end of all that it kept.
        self.assertTrue(eventually(lambda: not sampler.keepers_of(self.environment["HOLDFAST_HOME"])))
        with open(self.record, encoding="utf-8") as file:
            self.assertEqual(json.load(file)["pid"], old, "and the record is still there")
        second = self.start()
        new = self.up(second)
        self.assertNotEqual(new, old)
        self.assertEqual(self.gateways(), [new])

    def test_a_stale_record_whose_number_a_stranger_has_now(self) -> None:
        bare = self.start_bare()
        self.up(bare)
        bare.kill()
        bare.communicate()
        with open(self.record, encoding="utf-8") as file:
            record = json.load(file)
        for policy in ("refuse", "replace"):
            stranger = self.stranger()
            record["pid"] = stranger.pid  # the number was given away; the start time is the dead one's
            self.write(json.dumps(record).encode())
            started = self.start("--if-held", policy)
            self.up(started)
            self.assertIsNone(stranger.poll(), "a stranger was ended")
            self._end(started)

    def test_gateways_of_every_age_start_beside_a_record_of_our_own(self) -> None:
        for age in ((), ("--older",)):
            started = self.start(gateway_options=age)
            pid = self.up(started)
            with open(self.own_record, encoding="utf-8") as file:
                self.assertEqual(json.load(file)["pid"], started.pid)
            self.assertEqual(gateway.read(self.record)["pid"], pid)
            self._end(started)
            self.assertEqual([os.path.exists(one) for one in (self.record, self.own_record)], [False, False])

    def test_control_a_record_of_ours_in_the_place_of_its_own_is_taken_for_another_gateway(self) -> None:
        """Why the page does not say `--pidfile gateway.pid`: an older gateway believes it, and ends."""
        self.own_record = self.record
        started = self.start(gateway_options=("--older",))
        out, _ = started.communicate(timeout=200)
        self.assertEqual((started.returncode, out), (1, f"already running: {started.pid}\n"))
        started = self.start()  # one of today has a lock, and is not misled
        self.up(started)

    def test_a_record_without_a_start_time_proves_nothing(self) -> None:
        for policy in ("refuse", "replace"):
            stranger = self.stranger()
            self.write(gateway.record(stranger.pid, with_start_time=False).encode())
            started = self.start("--if-held", policy)
            self.up(started)
            self.assertIsNone(stranger.poll(), "a stranger was ended")
            started.terminate()
            _, words = started.communicate(timeout=300)
            self.assertIn("nothing proves that it is the holder", words)

    def test_a_live_gateway_without_a_start_time_is_proven_by_its_command(self) -> None:
        bare = self.start_bare("--no-start-time")
        self.up(bare)
        started = self.start("--if-held", "replace", "--adopt-match", r"gateway\.py")
        new = self.up(started)
        self.assertEqual(bare.wait(timeout=200), 0)
        self.assertEqual(self.gateways(), [new])

    def test_empty_torn_and_binary_records(self) -> None:
        for text in (b"", b"\n", b'{"pid": 12', b"\0\xff\x00\x01" * 50, b"[]", b"-1", b'{"pid": "many"}', b"99999999999"):
            self.write(text)
            started = self.start()
            self.up(started)
            self._end(started)

    def test_a_live_holder_is_kept_or_replaced_as_it_is_asked_for(self) -> None:
        bare = self.start_bare()
        old = self.up(bare)
        refused = self.start()
        _, words = refused.communicate(timeout=200)
        self.assertEqual(refused.returncode, HELD, words)
        self.assertIn(str(old), words)
        self.assertEqual(self.gateways(), [old])
        replaced = self.start("--if-held", "replace")
        new = self.up(replaced)
        self.assertEqual(bare.wait(timeout=200), 0)
        self.assertEqual(self.gateways(), [new])
        # And one of ours by one of ours.
        third = self.start("--if-held", "replace")
        newest = self.up(third)
        replaced.wait(timeout=200)
        self.assertEqual(self.gateways(), [newest])

    def test_of_two_starters_at_once_one_wins(self) -> None:
        for _ in range(8):
            both = [self.start() for _ in range(2)]
            self.assertTrue(eventually(lambda: any(one.poll() is not None for one in both)))
            lost = [one for one in both if one.poll() is not None]
            self.assertEqual([one.returncode for one in lost], [HELD])
            winner = next(one for one in both if one not in lost)
            pid = self.up(winner)
            self.assertEqual(self.gateways(), [pid])
            for one in both:
                self._end(one)
            self.assertTrue(eventually(lambda: not self.gateways()))

    def test_a_service_manager_that_restarts_on_every_exit_does_not_loop(self) -> None:
        held = self.start()
        old = self.up(held)
        looping = ServiceManager(self, [])  # the control: told to refuse, and restarted whatever it says
        self.assertTrue(eventually(lambda: looping.starts >= 5))
        looping.stop()
        obedient = ServiceManager(self, [], prevent=HELD)
        self.assertTrue(eventually(lambda: obedient.ended))
        self.assertEqual(obedient.starts, 1)
        waiting = ServiceManager(self, ["--if-held", "wait"])
        time.sleep(1.0)
        self.assertEqual((waiting.starts, self.gateways()), (1, [old]))
        held.kill()
        held.communicate()
        self.assertTrue(eventually(lambda: len(self.gateways()) == 1 and self.gateways() != [old]))
        self.assertEqual(waiting.starts, 1)
        waiting.stop()


class ServiceManager:
    """Restart=always, without a pause."""

    def __init__(self, test: Gateway, options: "List[str]", prevent: "Optional[int]" = None) -> None:
        self.starts = 0
        self.ended = False
        self._stopping = False
        self._process: "Optional[subprocess.Popen[str]]" = None
        self._thread = threading.Thread(target=self._run, args=(test, options, prevent))
        self._thread.start()
        test.addCleanup(self.stop)

    def _run(self, test: Gateway, options: "List[str]", prevent: "Optional[int]") -> None:
        while not self._stopping:
            self._process = test.start("--host", "none", *options)
            self.starts += 1
            self._process.communicate()
            if self._process.returncode == prevent:
                break
        self.ended = True

    def stop(self) -> None:
        self._stopping = True
        while self._thread.is_alive():
            if self._process is not None and self._process.poll() is None:
                self._process.send_signal(signal.SIGTERM)
            self._thread.join(0.05)


if __name__ == "__main__":
    unittest.main()
