"""The supervisor from Python, with real processes."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import pathlib
import signal
import sys
import threading
import time
import unittest
import weakref
from typing import Callable

import holdfast
from common import HoldfastTest, eventually, processes

QUICK = {"stop_plan": "eof:500ms,term:500ms,kill"}


class Provider:
    """As hosts build them: one per call, never closed, with a handler and a subscription of its own."""

    def __init__(self, supervisor: holdfast.Supervisor, command: "list[str]", **options: object) -> None:
        self.hold = supervisor.hold(command, **(options or QUICK))
        self.notes: "list[object]" = []
        self.hold.subscribe("note", self.on_note)
        self.hold.serve("host.llm.complete", self.complete)

    def on_note(self, method: str, params: object) -> None:
        self.notes.append(params)

    def complete(self, method: str, params: object) -> object:
        return {"text": "done", "asked": params}

    def pid(self) -> int:
        return self.hold.request("pid")


class Supervisor(HoldfastTest):
    def setUp(self) -> None:
        super().setUp()
        self.supervisor = holdfast.Supervisor()

    def tearDown(self) -> None:
        self.supervisor.close()
        super().tearDown()

    def kill(self, pid: int) -> None:
        pidfd = os.pidfd_open(pid)
        try:
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        finally:
            os.close(pidfd)
        self.assertTrue(eventually(lambda: pid not in processes(self.token, "")))

    def test_the_first_words_of_a_helper_are_heard(self) -> None:
        """They come before the keeper has said that it runs."""
        words = "printf 'one\\ntwo\\n[3]\\n'; exec \"$0\" \"$@\""
        with holdfast.Supervisor() as supervisor:
            hold = supervisor.hold(["/bin/sh", "-c", words, *self.helper()])
            self.assertEqual(hold.request("echo", [1]), [1])
            self.assertEqual(hold.status["noise"], 3)

    def test_request_and_release(self) -> None:
        with self.supervisor.hold(self.helper(), **QUICK) as hold:
            self.assertEqual(hold.request("echo", {"a": ["é", None, 1.5]}), {"a": ["é", None, 1.5]})
            self.assertEqual(hold.request("echo"), None)
            self.assertEqual([hold.pid], self.helpers())
            self.assertEqual(hold.status["state"], "ready")
        self.assert_nothing_left()
        with self.assertRaises(holdfast.Closed):
            hold.request("echo")

    def test_a_request_is_one_call_of_the_library(self) -> None:
        from holdfast import _library

        hold = self.supervisor.hold(self.helper(), **QUICK)
        hold.wait_ready()
        made: "list[str]" = []

        def counted(name: str, function: "Callable[..., object]") -> "Callable[..., object]":
            return lambda *arguments: (made.append(name), function(*arguments))[1]

        functions = {name: getattr(_library.lib, name) for name in _library._SIGNATURES}
        for name, function in functions.items():
            setattr(_library.lib, name, counted(name, function))
        try:
            self.assertEqual(hold.request("echo", {"a": 1}), {"a": 1})
            self.assertEqual(made, ["hf_hold_request_into"])
            made.clear()
            others: "list[object]" = []
            thread = threading.Thread(target=lambda: others.append(hold.request("echo", [2])))
            thread.start()
            thread.join()
            self.assertEqual((others, made), ([[2]], ["hf_hold_request_into"]))
            # More than the memory that is kept for answers: it is the library's, and is given back.
            made.clear()
            self.assertEqual(hold.request("echo", ["x" * 20_000]), ["x" * 20_000])
            self.assertEqual(made, ["hf_hold_request_into", "hf_free", "hf_free"])
            # On the main thread one that takes its time is waited for in slices: here, until there was one.
            made.clear()
            hold.serve("x", lambda method, params: eventually(lambda: "hf_call_wait_done" in made))
            self.assertEqual(hold.request("ask", {"what": "x"}), {"answer": True})
            self.assertEqual([name for name in made if name.startswith(("hf_hold_request", "hf_call"))][0], "hf_hold_request_into")
            self.assertEqual(made[-3:], ["hf_call_wait", "hf_reply_into", "hf_call_free"])
        finally:
            for name, function in functions.items():
                setattr(_library.lib, name, function)
        hold.close()

    def test_three_dropped_providers_one_process_and_all_collected(self) -> None:
        providers = [Provider(self.supervisor, self.helper()) for _ in range(3)]
        pids = {provider.pid() for provider in providers}
        self.assertEqual(len(pids), 1)
        self.assertEqual(len(self.helpers()), 1)
        gone = [weakref.ref(provider) for provider in providers]
        del providers
        gc.collect()
        self.assertEqual([one() for one in gone], [None, None, None])
        self.assert_nothing_left()

    def test_three_dropped_providers_after_a_history(self) -> None:
        """The same after a replaced generation, a second kill during the respawn, and five deaths at the start."""
        counter = os.path.join(self.home, "starts")
        histories = {
            "stale generation": [],
            "second kill": ["--start-ms=400"],
            "five deaths": ["--counter=" + counter, "--die-first=5"],
        }
        for history, words in histories.items():
            with self.subTest(history):
                options = dict(QUICK, key=history, ready_by="health", health_method="health", health_while_starting=0.02)
                options.update(respawn_initial=0.01, respawn_max=0.05)
                providers = [Provider(self.supervisor, self.helper(*words), **options) for _ in range(3)]
                hold = providers[0].hold
                starts = 6 if history == "five deaths" else 1
                self.assertEqual(hold.wait_ready(), starts)
                if history == "stale generation":
                    self.assertEqual([provider.hold.replace(1) for provider in providers], [2, 2, 2])
                    starts = 2
                if history == "second kill":
                    self.kill(hold.pid)
                    self.assertTrue(eventually(lambda: hold.status["generation"] == 2 and hold.pid != 0))
                    self.kill(hold.pid)
                    self.assertEqual(hold.replace(2), 3)
                    starts = 3
                self.assertEqual(len({provider.pid() for provider in providers}), 1)
                self.assertEqual((len(self.helpers()), hold.status["starts"]), (1, starts))
                gone = [weakref.ref(provider) for provider in providers]
                del providers, hold
                gc.collect()
                self.assertEqual([one() for one in gone], [None, None, None])
                self.assert_nothing_left()

    def test_a_dropped_supervisor_ends_its_helpers_and_closes_its_holds(self) -> None:
        supervisor = holdfast.Supervisor()
        hold = supervisor.hold(self.helper("--daemon"), **QUICK)
        hold.request("echo")
        self.assertEqual(len(self.helpers()), 2)
        del supervisor
        gc.collect()
        self.assertEqual(self.helpers(), [])
        with self.assertRaises(holdfast.Closed) as closed:
            hold.request("echo")
        self.assertEqual(closed.exception.code, holdfast.ErrorCode.CLOSED)

    def test_starting_tells_its_progress(self) -> None:
        hold = self.supervisor.hold(
            self.helper("--start-ms=1000"), ready_by="health", health_method="health", health_while_starting=0.02, **QUICK
        )
        self.assertTrue(eventually(lambda: hold.status["state"] == "starting" and hold.status["progress"] != ""))
        self.assertEqual(hold.wait_ready(), 1)

    def test_a_killed_keeper_takes_its_tree_along(self) -> None:
        hold = self.supervisor.hold(self.helper("--daemon"), **QUICK)
        before = {hold.request("pid"), *self.helpers()}
        self.assertEqual(len(before), 2)
        (keeper,) = processes(self.token, "holdfast-keep")
        self.kill(keeper)
        self.assertEqual(hold.replace(1), 2)
        self.assertEqual(before & set(self.helpers()), set())
        hold.close()
        self.assert_nothing_left()

    def test_callbacks_that_close_over_their_owner_do_not_pin_it(self) -> None:
        class Owner:
            pass

        owner = Owner()
        owner.hold = self.supervisor.hold(self.helper(), **QUICK)
        owner.hold.serve("*", lambda method, params: owner.hold)
        gone = weakref.ref(owner)
        del owner
        gc.collect()
        self.assertIsNone(gone())
        self.assert_nothing_left()

    def test_kill_gives_exactly_one_replacement_and_the_next_request_works(self) -> None:
        hold = self.supervisor.hold(self.helper(), **QUICK)
        first = hold.request("pid")
        call = hold.start("sleep", {"ms": 3600000})
        self.kill(first)
        with self.assertRaisesRegex(holdfast.Closed, "transport closed, generation 1"):
            call.wait(100)
        self.assertNotEqual(hold.request("pid"), first)
        self.assertEqual(len(self.helpers()), 1)
        self.assertEqual(hold.status["starts"], 2)

    def test_errors_carry_their_code(self) -> None:
        hold = self.supervisor.hold(self.helper(), **QUICK)
        with self.assertRaises(holdfast.RemoteError) as remote:
            hold.request("fail")
        self.assertEqual((remote.exception.code, remote.exception.message, remote.exception.data), (-7, "as asked", [1]))
        with self.assertRaises(TimeoutError) as slow:
            hold.request("sleep", {"ms": 5000}, timeout=0.05)
        self.assertEqual(slow.exception.code, holdfast.ErrorCode.TIMED_OUT)
        with self.assertRaises(ValueError):
            self.supervisor.hold([])
        with self.assertRaisesRegex(holdfast.InvalidArgument, "no option \"nonsense\""):
            self.supervisor.hold(self.helper(), nonsense=1)
        with self.assertRaisesRegex(holdfast.GaveUp, "No such file or directory") as gave_up:
            self.supervisor.hold(["/nonexistent/helper"]).request("echo")
        self.assertEqual(gave_up.exception.code, holdfast.ErrorCode.GAVE_UP)

    @staticmethod
    def reads_nested(levels: int) -> bool:
        try:
            json.loads("[" * levels + "]" * levels)
        except RecursionError:
            return False
        return True

    def test_what_is_nested_too_deep_is_an_error_with_a_sentence(self) -> None:
        """In the library, and in the interpreter, whose bound is lower: neither a time-out nor a bare RecursionError."""
        hold = self.supervisor.hold(self.helper(), **QUICK)
        for levels in (1025, 100_000):
            with self.assertRaisesRegex(holdfast.HoldfastError, "nested deeper than 1024 levels") as deep:
                hold.request("deep", {"levels": levels}, timeout=60)
            self.assertEqual(deep.exception.code, holdfast.ErrorCode.PROTOCOL)
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(200)
        try:
            if self.reads_nested(1000):  # from Python 3.12 on its reader has a bound of its own, which is higher
                hold.request("deep", {"levels": 1000}, timeout=60)
            else:
                with self.assertRaisesRegex(holdfast.HoldfastError, "nested deeper than this interpreter reads") as low:
                    hold.request("deep", {"levels": 1000}, timeout=60)
                self.assertEqual(low.exception.code, holdfast.ErrorCode.PROTOCOL)
        finally:
            sys.setrecursionlimit(limit)
        loop: list = []
        loop.append(loop)
        with self.assertRaisesRegex(holdfast.InvalidArgument, "cannot be written as JSON"):
            hold.request("echo", loop)
        nested: list = []
        for _ in range(100_000):
            nested = [nested]
        with self.assertRaisesRegex(holdfast.InvalidArgument, "cannot be written as JSON|levels deep"):
            hold.request("echo", nested)
        while nested:  # without recursion, as its own destruction may have it
            nested = nested[0]
        self.assertEqual(hold.request("deep", {"levels": 3}), [[[]]])

    def test_a_value_of_the_wrong_kind_is_told(self) -> None:
        """And not left out, or cut at its first NUL."""
        hold = self.supervisor.hold(self.helper(), **QUICK)
        for wrong in (
            {"key": 1}, {"cancel": True}, {"framing": 1}, {"max_waiting": "3"}, {"max_waiting": True}, {"respawn_jitter": "x"},
            {"stop_plan": ["eof"]}, {"linger": "1"}, {"linger": True}, {"health_misses": "1"}, {"label": object()},
            {"directory": 1}, {"environment": "A=1"}, {"extra_environment": {"A": 1}}, {"health_params": 1},
        ):
            with self.subTest(str(wrong)), self.assertRaises(TypeError):
                self.supervisor.hold(self.helper(), **wrong).close()
        for command in ("cat -n", b"cat -n", [*self.helper(), 1], [*self.helper(), None]):
            with self.subTest(str(command)), self.assertRaises(TypeError):
                self.supervisor.hold(command).close()
        for deed in (
            lambda: self.supervisor.hold(self.helper("a\0b")),
            lambda: self.supervisor.hold(self.helper(), key="a\0b"),
            lambda: self.supervisor.hold(self.helper(), extra_environment={"A": "a\0b"}),
            lambda: hold.request("echo\0x"),
            lambda: hold.notify("echo\0x"),
            lambda: hold.subscribe("echo\0x", print),
            lambda: hold.session().request("echo\0x"),
        ):
            with self.assertRaisesRegex(ValueError, "NUL"):
                deed()
        with self.assertRaisesRegex(TypeError, "seconds"):
            hold.request("echo", timeout="3")

    def test_words_and_folders_may_be_bytes_or_paths(self) -> None:
        words = [os.fsencode(one) for one in self.helper("--\udcff", "b")]
        with self.supervisor.hold(words, directory=os.fsencode(self.home), key=b"bytes", **QUICK) as hold:
            pid = hold.request("pid")
            self.assertEqual(os.readlink(f"/proc/{pid}/cwd"), os.path.realpath(self.home))
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                self.assertEqual(file.read().split(b"\0")[-3:], [b"--\xff", b"b", b""])
        with self.supervisor.hold([pathlib.Path(words[0].decode()), *words[1:]], directory=pathlib.Path(self.home)) as hold:
            self.assertEqual(hold.request("echo", [1]), [1])

    def test_handlers_and_subscriptions(self) -> None:
        provider = Provider(self.supervisor, self.helper())
        answer = provider.hold.request("ask", {"what": "host.llm.complete"})
        self.assertEqual(answer, {"answer": {"text": "done", "asked": {"n": 0}}})
        provider.hold.request("notify", {"what": "note", "count": 3})
        self.assertTrue(eventually(lambda: len(provider.notes) == 3))
        self.assertEqual(provider.notes, [{"i": 0}, {"i": 1}, {"i": 2}])

    def test_a_survivor_takes_over_when_the_newest_provider_is_collected(self) -> None:
        old = Provider(self.supervisor, self.helper())
        new = Provider(self.supervisor, self.helper())
        new.complete = None  # never asked: it is dropped first
        del new
        gc.collect()
        self.assertIn("answer", old.hold.request("ask", {"what": "host.llm.complete"}))

    def test_a_handler_that_raises_is_an_error_for_the_helper(self) -> None:
        hold = self.supervisor.hold(self.helper(), **QUICK)

        def broken(method: str, params: object) -> object:
            raise RuntimeError("no model")

        hold.serve("x", broken)
        with self.assertLogs("holdfast", "ERROR"):
            answer = hold.request("ask", {"what": "x"})
        self.assertEqual(answer["refused"]["message"], "RuntimeError: no model")

    def test_sessions_reopen_on_each_generation(self) -> None:
        hold = self.supervisor.hold(self.helper(), **QUICK)
        opened = []
        session = hold.session(lambda inside: opened.append(inside.request("pid")))
        first = session.request("pid")
        session.request("echo", [1])
        self.assertEqual(opened, [first])
        self.kill(first)
        second = session.request("pid")
        self.assertEqual(opened, [first, second])
        self.assertEqual(session.open_on, 2)

        class NoAccount(Exception):
            pass

        def refuse(inside: holdfast.Session) -> None:
            raise NoAccount("who are you")

        with self.assertRaises(NoAccount):
            hold.session(refuse).request("echo")

    def test_a_helper_that_dies_in_each_opening_is_given_up(self) -> None:
        options = dict(QUICK, respawn_max_failures=3, respawn_initial=0.01, respawn_max=0.02)
        hold = self.supervisor.hold(self.helper(), **options)
        session = hold.session(lambda inside: inside.request("exit"))
        with self.assertRaises(holdfast.GaveUp):
            session.request("echo", timeout=200)

    def test_a_session_keeps_its_opener_and_an_owner_of_both_is_collected(self) -> None:
        opened = []

        class Login:
            def __init__(self, hold: holdfast.Hold) -> None:
                self.hold = hold
                self.session = hold.session(self.open)

            def open(self, inside: holdfast.Session) -> None:
                opened.append(inside.request("pid"))

        hold = self.supervisor.hold(self.helper(), **QUICK)
        session = Login(hold).session
        gc.collect()
        pid = session.request("pid")
        self.assertEqual(opened, [pid], "nobody but the session has the opener")
        del hold
        gone = weakref.ref(session)
        del session
        gc.collect()
        self.assertIsNone(gone())
        self.assert_nothing_left()

    def test_the_interpreter_lock_is_free_while_waiting(self) -> None:
        hold = self.supervisor.hold(self.helper(), **QUICK)
        hold.wait_ready()
        ticks = 0
        waiter = threading.Thread(target=lambda: hold.request("sleep", {"ms": 2000}))
        waiter.start()
        while waiter.is_alive():
            ticks += 1
            time.sleep(0.001)
        self.assertGreater(ticks, 5)  # and it would be none or one

    def test_asyncio(self) -> None:
        hold = self.supervisor.hold(self.helper(), **QUICK)

        async def main() -> None:
            answers = await asyncio.gather(*(hold.request_async("echo", [i]) for i in range(100)))
            self.assertEqual(answers, [[i] for i in range(100)])
            with self.assertRaises(holdfast.RemoteError):
                await hold.request_async("fail")
            slow = asyncio.ensure_future(hold.request_async("sleep", {"ms": 3600000}))
            await asyncio.sleep(0.05)
            slow.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await slow
            self.assertTrue(eventually(lambda: hold.status["in_flight"] == 0))

            async def complete(method: str, params: object) -> object:
                await asyncio.sleep(0.01)
                return "from the loop"

            hold.serve("coroutine", complete)
            self.assertEqual(await hold.request_async("ask", {"what": "coroutine"}), {"answer": "from the loop"})

        asyncio.run(main())

    def test_500_providers_from_8_threads_are_one_process_then_none(self) -> None:
        most = 0
        keeper = Provider(self.supervisor, self.helper())
        first = keeper.pid()
        pids = set()

        def work() -> None:
            for _ in range(63):
                provider = Provider(self.supervisor, self.helper())
                pids.add(provider.pid())

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            most = max(most, len(self.helpers()))
            time.sleep(0.01)
        for thread in threads:
            thread.join()
        self.assertEqual(pids, {first})
        self.assertEqual(most, 1)
        del keeper
        gc.collect()
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
