"""Many threads on one object, one of which closes it; slow callbacks; an interpreter that leaves in the middle."""

from __future__ import annotations

import asyncio
import threading
import time
import unittest
from typing import Any, Callable, List

import holdfast
from common import HoldfastTest, eventually

QUICK = {"stop_plan": "eof:500ms,term:500ms,kill"}

HOST = """
import sys, threading, time
import holdfast
supervisor = holdfast.Supervisor()
hold = supervisor.hold(sys.argv[1:], stop_plan="eof:300ms,term:300ms,kill")
hold.wait_ready()
begun = threading.Event()
def sleep(*_):
    begun.set()
    time.sleep(1.6)   # longer than the exit waits for it
def spin(*_):
    begun.set()
    end = time.monotonic() + 1.6
    while time.monotonic() < end:
        pass
def soon(*_):
    begun.set()
    time.sleep(0.4)   # over while the exit is under way
"""


class Threads(HoldfastTest):
    def setUp(self) -> None:
        super().setUp()
        self.supervisor = holdfast.Supervisor()

    def tearDown(self) -> None:
        self.supervisor.close()
        super().tearDown()

    def beside(self, uses: "List[Callable[[Any], Any]]", make: "Callable[[], Any]", rounds: int) -> None:
        """Each use on a thread of its own, again and again, while the object is closed and replaced by a new one."""
        current = [make()]
        wrong: "List[BaseException]" = []
        over = threading.Event()

        def work(use: "Callable[[Any], Any]") -> None:
            while not over.is_set():
                try:
                    use(current[0])
                except (holdfast.Closed, holdfast.TimedOut):
                    pass
                except BaseException as error:  # noqa: BLE001 - told below
                    wrong.append(error)
                    return

        threads = [threading.Thread(target=work, args=(use,)) for use in uses]
        for thread in threads:
            thread.start()
        for _ in range(rounds):
            old, current[0] = current[0], make()
            old.close()
        over.set()
        for thread in threads:
            thread.join()
        current[0].close()
        self.assertEqual(wrong, [])

    def test_a_hold_is_closed_while_others_use_it(self) -> None:
        kept = self.supervisor.hold(self.helper(), **QUICK)
        kept.wait_ready()
        uses: "List[Callable[[Any], Any]]" = [
            lambda hold: hold.status,
            lambda hold: hold.request("echo", [1], timeout=100),
            lambda hold: hold.wait_ready(10),
            lambda hold: hold.start("echo", [1], timeout=100).wait(),
            lambda hold: hold.request_then("echo", [1], lambda *_: None, timeout=100),
            lambda hold: hold.subscribe("note", lambda *_: None),
            lambda hold: hold.session(lambda on: None).request("echo", [1], timeout=100),
        ]
        self.beside(uses, lambda: self.supervisor.hold(self.helper(), **QUICK), 1500)
        self.assertEqual((kept.status["holds"], kept.status["starts"]), (1, 1))

    def test_a_supervisor_is_closed_while_others_use_it(self) -> None:
        uses: "List[Callable[[Any], Any]]" = [lambda supervisor: supervisor.status] * 4
        self.beside(uses, holdfast.Supervisor, 60)

    def test_calls_and_sessions_are_closed_while_others_use_them(self) -> None:
        hold = self.supervisor.hold(self.helper(), **QUICK)
        call = hold.start("sleep", {"ms": 2000})
        answers: "List[Any]" = []
        waiter = threading.Thread(target=lambda: answers.append(call.wait()))
        waiter.start()
        time.sleep(0.5)  # until it waits, which nothing tells
        call.close()
        waiter.join()
        self.assertEqual(answers, ["slept"], "who waits already gets it")
        with self.assertRaises(holdfast.Closed):
            call.done()
        self.beside([lambda session: session.request("echo", [1]), lambda session: session.open_on], hold.session, 200)

    def test_whoever_waits_on_a_hold_is_told_that_it_was_closed(self) -> None:
        options = dict(QUICK, ready_by="health", health_method="health")
        others = self.supervisor.hold(self.helper("--stall"), **options)
        hold = self.supervisor.hold(self.helper("--stall"), **options)
        raised: "List[str]" = []

        def wait(what: "Callable[[], Any]") -> None:
            try:
                what()
            except holdfast.HoldfastError as error:
                raised.append(type(error).__name__)

        threads = [
            threading.Thread(target=wait, args=(lambda: hold.wait_ready(None),)),
            threading.Thread(target=wait, args=(lambda: hold.request("echo", timeout=None),)),
        ]
        for thread in threads:
            thread.start()
        self.assertTrue(eventually(lambda: others.status["waiting"] == 1))
        hold.close()
        for thread in threads:
            thread.join(20)
        self.assertEqual(raised, ["Closed", "Closed"])

    def test_an_opening_may_ask_from_another_thread_and_its_session_ends_with_it(self) -> None:
        hold = self.supervisor.hold(self.helper(), **QUICK)
        kept: "List[holdfast.Session]" = []
        answers: "List[Any]" = []

        def opening(inside: holdfast.Session) -> None:
            kept.append(inside)
            thread = threading.Thread(target=lambda: answers.append(inside.request("echo", [1], timeout=100)))
            thread.start()
            thread.join()

        session = hold.session(opening)
        self.assertEqual(session.request("echo", [2], timeout=200), [2])
        self.assertEqual(answers, [[1]])
        with self.assertRaises(holdfast.Closed):
            kept[0].request("echo")

    def test_every_answer_is_told_also_when_the_supervisor_goes(self) -> None:
        supervisor = holdfast.Supervisor()
        hold = supervisor.hold(self.helper(), **QUICK)
        hold.wait_ready()
        told: "List[Any]" = []

        def then(error: Any, result: Any, generation: int) -> None:
            time.sleep(0.02)
            told.append(type(error))

        for _ in range(300):
            hold.request_then("hang", {}, then, timeout=None)
        supervisor.close()
        self.assertTrue(eventually(lambda: len(told) == 300), len(told))
        self.assertEqual(set(told), {holdfast.Closed})

    def test_tasks_end_when_the_supervisor_goes(self) -> None:
        supervisor = holdfast.Supervisor()
        hold = supervisor.hold(self.helper(), **QUICK)

        async def main() -> None:
            await hold.wait_ready_async()
            tasks = [asyncio.ensure_future(hold.request_async("hang", {}, timeout=None)) for _ in range(1000)]
            await asyncio.sleep(0)
            await asyncio.get_running_loop().run_in_executor(None, supervisor.close)
            done, pending = await asyncio.wait(tasks, timeout=200)
            self.assertEqual((len(done), len(pending)), (1000, 0))
            self.assertEqual({type(one.exception()) for one in done}, {holdfast.Closed})

        asyncio.run(main())

    def test_slow_callbacks_hold_up_neither_each_other_nor_tasks(self) -> None:
        hold = self.supervisor.hold(self.helper(), **QUICK)
        hold.wait_ready()
        door = threading.Event()
        inner = threading.Event()
        outcome: "List[bool]" = []

        def outer(*_: Any) -> None:
            hold.request_then("echo", [2], lambda *_: inner.set(), timeout=100)
            outcome.append(inner.wait(200))

        hold.request_then("echo", [1], outer)
        self.assertTrue(eventually(lambda: outcome == [True]), outcome)
        for _ in range(80):  # more than may be called at a time
            hold.request_then("echo", [1], lambda *_: door.wait(600))

        async def main() -> None:
            self.assertEqual(await hold.request_async("echo", [3], timeout=200), [3])

        try:
            asyncio.run(main())
        finally:
            door.set()

    def test_the_async_forms(self) -> None:
        hold = self.supervisor.hold(self.helper(), **QUICK)
        opened: "List[int]" = []

        async def main() -> None:
            self.assertEqual(await hold.wait_ready_async(), 1)
            session = hold.session(lambda inside: opened.append(inside.request("pid")))
            first = await session.request_async("pid")
            self.assertEqual(await session.request_async("echo", [1]), [1])
            self.assertEqual(opened, [first])
            self.assertEqual(await hold.replace_async(1), 2)
            second = await session.request_async("pid")
            self.assertEqual((opened, session.open_on), ([first, second], 2))
            with self.assertRaises(holdfast.RemoteError):
                await session.request_async("fail")

            def refuse(inside: holdfast.Session) -> None:
                raise KeyError("who are you")

            with self.assertRaises(KeyError):
                await hold.session(refuse).request_async("echo")

        asyncio.run(main())
        call = hold.start("sleep", {"ms": 200})
        self.assertFalse(call.wait_done(0.01))
        self.assertTrue(call.wait_done(20))
        self.assertEqual(call.wait(), "slept")

    def test_times(self) -> None:
        hold = self.supervisor.hold(self.helper(), **QUICK)
        for timeout in (float("inf"), threading.TIMEOUT_MAX, 1e300, 10**30, None):
            self.assertEqual(hold.request("echo", [1], timeout=timeout), [1])
        with self.assertRaisesRegex(ValueError, "NaN"):
            hold.request("echo", [1], timeout=float("nan"))

    def test_a_handler_whose_answer_comes_too_late_has_not_failed(self) -> None:
        hold = self.supervisor.hold(self.helper(), serve_within=0.1, **QUICK)
        over = threading.Event()

        def slow(method: str, params: object) -> None:
            time.sleep(0.3)
            threading.Timer(0.1, over.set).start()

        hold.serve("x", slow)
        with self.assertRaises(AssertionError):  # nothing is logged
            with self.assertLogs("holdfast", "WARNING"):
                self.assertIn("no answer in time", str(hold.request("ask", {"what": "x"})))
                self.assertTrue(over.wait(200))


class Leaving(HoldfastTest):
    """The interpreter ends while callbacks run. Python ends their threads inside them (pthread_exit, up to 3.13)."""

    def leave(self, code: str, *words: str) -> None:
        done = self.run_python(HOST + code, *self.helper(*words))
        self.assertEqual((done.returncode, done.stderr), (0, ""), code)
        self.assert_nothing_left()

    def test_with_a_handler_under_way(self) -> None:
        for how in ("soon", "sleep", "spin"):
            with self.subTest(how):
                self.leave(f"hold.serve('x', {how})\nhold.start('ask', {{'what': 'x'}})\nbegun.wait(200)\n")

    def test_with_an_answer_being_told(self) -> None:
        for how in ("soon", "sleep", "spin"):
            with self.subTest(how):
                self.leave(f"for _ in range(5):\n    hold.request_then('echo', [1], {how})\nbegun.wait(200)\n")

    def test_with_a_subscriber_at_work(self) -> None:
        for how in ("soon", "spin"):
            with self.subTest(how):
                self.leave(f"hold.subscribe('*', {how})\nhold.request('notify', {{'count': 3}})\nbegun.wait(200)\n")

    def test_with_a_session_being_opened(self) -> None:
        for how in ("soon", "sleep", "spin"):
            with self.subTest(how):
                opening = f"session = hold.session({how})\n"
                ask = "def ask():\n    try:\n        session.request('echo')\n    except holdfast.Closed:\n        pass\n"
                self.leave(opening + ask + "threading.Thread(target=ask, daemon=True).start()\nbegun.wait(200)\n")

    def test_with_threads_that_go_on_asking(self) -> None:
        self.leave(
            """
def ask():
    while True:
        try:
            hold.request("echo", [1])
            hold.status
            begun.set()
        except holdfast.Closed:
            pass
for _ in range(4):
    threading.Thread(target=ask, daemon=True).start()
begun.wait(200)
"""
        )


if __name__ == "__main__":
    unittest.main()
