"""What the tests of the Python face share: a private home, the helper, and looking at processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import uuid
from typing import Callable, List

BUILD = os.environ["HOLDFAST_BUILD_DIR"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
HELPER = os.path.join(BUILD, "bin", "zoo", "rpc_helper")


def environment(home: str) -> "dict[str, str]":
    """For programs that a test starts, and for itself."""
    variables = dict(os.environ)
    variables.update(
        HOLDFAST_HOME=home,
        HOLDFAST_LIBRARY=os.path.join(BUILD, "lib", "libholdfast.so.1"),
        HOLDFAST_KEEP=os.path.join(BUILD, "bin", "holdfast-keep"),
        PYTHONPATH=os.path.join(ROOT, "bindings", "python") + os.pathsep + os.path.dirname(os.path.abspath(__file__)),
        PYTHONDONTWRITEBYTECODE="1",
    )
    return variables


def processes(token: str, name: str = "rpc_helper") -> "List[int]":
    """Living processes of that name whose arguments carry the token."""
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read()
            with open(f"/proc/{entry}/stat", "rb") as file:
                state = file.read().rpartition(b")")[2].split()[0]
        except OSError:
            continue
        program = os.path.basename(words.split(b"\0")[0].decode())
        if token.encode() in words and state not in (b"Z", b"X") and (not name or program == name):
            found.append(int(entry))
    return found


def patient(ample: float) -> float:
    """How long a test waits for what must come, when `ample` seconds are enough on a quiet machine: a busy one is no failure."""
    return ample * 10


def eventually(condition: "Callable[[], bool]", ample: float = 15.0) -> bool:
    end = time.monotonic() + patient(ample)
    while not condition():
        if time.monotonic() > end:
            return condition()
        time.sleep(0.005)
    return True


class HoldfastTest(unittest.TestCase):
    def setUp(self) -> None:
        self._directory = tempfile.TemporaryDirectory()
        self.home = self._directory.name
        self.token = "hf" + uuid.uuid4().hex[:16]
        os.environ["HOLDFAST_HOME"] = self.home

    def tearDown(self) -> None:
        left = processes(self.token, "")
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self._directory.cleanup()

    def helper(self, *words: str) -> "List[str]":
        return [HELPER, "--token=" + self.token, *words]

    def helpers(self) -> "List[int]":
        return processes(self.token)

    def assert_nothing_left(self) -> None:
        self.assertTrue(eventually(lambda: not processes(self.token, "")), processes(self.token, ""))

    def run_python(self, code: str, *arguments: str, timeout: float = patient(60.0)) -> "subprocess.CompletedProcess[str]":
        """A Python of its own, with every ResourceWarning an error."""
        return subprocess.run(
            [sys.executable, "-W", "error::ResourceWarning", "-c", code, *arguments],
            env=environment(self.home),
            capture_output=True,
            text=True,
            timeout=timeout,
        )
