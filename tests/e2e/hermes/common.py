"""What the tests share: a home of their own, the plugin as it is installed, and a sampler beside it."""

from __future__ import annotations

import gc
import json
import logging
import os
import select
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any, Callable, Dict, List, Optional
from unittest import mock

import sampler
import sim

BUILD = os.environ["HOLDFAST_BUILD_DIR"]
PLUGIN = os.path.join(BUILD, "share", "holdfast", "hermes")
PROGRAMS = os.path.join(BUILD, "bin")
HERE = os.path.dirname(os.path.abspath(__file__))


def patient(ample: float) -> float:
    """How long a test waits for what must come, when `ample` seconds are enough on a quiet machine: a busy one is no failure."""
    return ample * 10


def eventually(condition: "Callable[[], bool]", ample: float = 20.0) -> bool:
    end = time.monotonic() + patient(ample)
    while not condition():
        if time.monotonic() > end:
            return condition()
        time.sleep(0.005)
    return True


class Sampler:
    """A process that counts helpers every 10 ms."""

    def __init__(self, data: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "sampler.py"), data], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
        )
        assert self._process.stdout is not None
        self._process.stdout.readline()
        self.most = 0

    def wait_for(self, count: int) -> None:
        """Until so many were seen at once: a helper that lives shortly must not slip between two looks."""
        assert self._process.stdout is not None
        end = time.monotonic() + patient(20)
        while self.most < count:
            ready, _, _ = select.select([self._process.stdout], [], [], max(0.0, end - time.monotonic()))
            assert ready, f"{count} helpers were never seen at once"
            self.most = int(self._process.stdout.readline())

    def stop(self) -> "Dict[str, int]":
        out, _ = self._process.communicate(b"", timeout=patient(30))
        return dict(json.loads(out.splitlines()[-1]))


class Captured(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.messages: "List[str]" = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


class HermesTest(unittest.TestCase):
    def setUp(self) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="hf-hermes-")
        self.home = os.path.realpath(self._directory.name)
        self.data = os.path.join(self.home, "holdfast", "memory")
        os.environ["HOLDFAST_HOME"] = os.path.join(self.home, "hf")
        self.log = Captured()
        logging.getLogger("holdfast").addHandler(self.log)
        sim.Host.rebuild_manager()
        for calls in (sim.Host.llm_calls, sim.Host.llm_words, sim.Host.llm_homes):
            calls.clear()  # type: ignore[attr-defined]
        sim.Host.install_modules()
        self._sampler: "Optional[Sampler]" = None

    def tearDown(self) -> None:
        if self._sampler is not None:
            self._sampler.stop()
        gc.collect()
        logging.getLogger("holdfast").removeHandler(self.log)
        eventually(lambda: not self.helpers())
        for pid in self.helpers():
            os.kill(pid, signal.SIGKILL)
        eventually(lambda: not sampler.keepers_of(os.path.join(self.home, "hf")))
        self._directory.cleanup()

    def sample(self) -> None:
        self._sampler = Sampler(self.data)

    def seen(self, count: int = 1) -> None:
        assert self._sampler is not None
        self._sampler.wait_for(count)

    def sampled(self) -> "Dict[str, int]":
        assert self._sampler is not None
        seen, self._sampler = self._sampler.stop(), None
        return seen

    def helpers(self) -> "List[int]":
        return sampler.helpers_of(self.data)

    def provider(self, session: str = "s1", **words: Any) -> Any:
        provider = sim.load_provider(PLUGIN)
        provider.initialize(session, **{"hermes_home": self.home, "platform": "cli", **words})
        return provider

    def ask(self, provider: Any, method: str, **params: Any) -> Any:
        return provider._link.hold().request(method, params)

    def stored(self, provider: Any, within: float = patient(20.0)) -> "List[Dict[str, Any]]":
        """All traces, oldest first, once nothing waits any more."""
        self.assertTrue(provider._link.outbox.wait_empty(within), "turns still wait")
        traces: "List[Dict[str, Any]]" = []
        while True:
            page = self.ask(provider, "memory.list_traces", limit=1000, offset=len(traces))["traces"]
            traces += page
            if len(page) < 1000:
                return traces[::-1]

    def old_enough(self, provider: Any) -> None:
        """Until its helper is none that has just been started, which alone is waited for."""
        self.assertTrue(eventually(lambda: bool(self.ask(provider, "core.health")["uptimeMs"] > 1000)))

    def asked_in(self, provider: Any, act: "Callable[[], Any]") -> "List[str]":
        """The requests that were waited for. How long they take is the machine's affair, which they are is not."""
        hold = provider._link.hold()
        with mock.patch.object(hold, "request", wraps=hold.request) as request:
            act()
        return [str(call.args[0]) for call in request.call_args_list]

    def noisy(self) -> str:
        """From here on the helper has bad manners; returns the file of the answers it gets."""
        answers = os.path.join(self.home, "answers")
        os.environ.update(
            HOLDFAST_MEMORY=os.path.join(HERE, "noisy_helper.py"),
            NOISY_HELPER=os.path.join(PLUGIN, "lib", "holdfast", "holdfast-memory"),
            NOISY_ANSWERS=answers,
        )
        self.addCleanup(lambda: os.environ.pop("HOLDFAST_MEMORY"))
        return answers

    def gone(self) -> None:
        gc.collect()
        self.assertTrue(eventually(lambda: not self.helpers()), self.helpers())


def main() -> None:
    logging.getLogger("holdfast").propagate = False
    unittest.main()
