"""The child of a fork: it has a helper of its own when it wants one, and is not held up by what a thread of the parent held at
that moment."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from typing import Any, Callable

import sim
from common import HermesTest, main

WITHIN = 300.0


class Fork(HermesTest):
    def in_a_child(self, act: "Callable[[], Any]") -> bytes:
        """What it says in the end; "hangs" when it says nothing."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.write(writing, b"well" if act() is not False else b"not well")
            except BaseException as error:
                os.write(writing, repr(error).encode())
            finally:
                os._exit(0)
        os.close(writing)
        ready, _, _ = select.select([reading], [], [], WITHIN)
        said = os.read(reading, 1000) if ready else b"hangs"
        os.close(reading)
        if not ready:
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        return said

    def while_held(self, lock: Any, act: "Callable[[], Any]") -> bytes:
        held, done = threading.Event(), threading.Event()

        def hold() -> None:
            with lock:
                held.set()
                done.wait(2 * WITHIN)

        thread = threading.Thread(target=hold)
        thread.start()
        held.wait(WITHIN)
        try:
            return self.in_a_child(act)
        finally:
            done.set()
            thread.join()

    def test_no_lock_of_the_parent_holds_up_a_child(self) -> None:
        provider = self.provider("s1")
        provider.sync_turn("of the parent", "x")
        self.stored(provider)
        package = type(provider).__module__.rpartition(".")[0]
        link, shared = provider._link, provider._link.shared
        locks = {
            "the router's": shared.router._lock,
            "the provider's": provider._lock,
            "the link's": link._lock,
            "the outbox's": link.outbox._lock,
            "the shared one's": shared._lock,
            "the courses'": link.courses._lock,
            "a course's": link.course("s1").lock,
            "its ledger's": link.course("s1").ledger.lock,
            "the log's": sys.modules[package + ".once"].once._lock,
            "the binding's": sys.modules[package + ".binding"]._lock,
            "that of making what is shared": sys.modules[package + ".shared"]._making,
        }

        def use(one: Any) -> bool:
            sim.Host.tool_called("s1", "before", {}, "ok")
            one.prefetch("x")
            one.sync_turn("silent", "x")
            one.initialize("s1", hermes_home=self.home)
            sim.Host.tool_called("s1", "in the child", {}, "ok")
            one.sync_turn("of the child", "x", session_id="s1")
            stored = one._link.outbox.wait_empty(WITHIN / 2)
            calls = [[call["name"] for call in trace["toolCalls"]] for trace in self.ask(one, "memory.list_traces")["traces"]]
            one.shutdown()
            return bool(stored and calls[0] == ["in the child"])

        for name, lock in locks.items():
            with self.subTest(name):
                self.assertEqual(self.while_held(lock, lambda: use(provider)), b"well")
                self.assertEqual(self.while_held(lock, lambda: use(type(provider)())), b"well")
        said = [one["userText"] for one in self.stored(provider)]
        self.assertEqual(said, ["of the parent"] + ["of the child"] * 2 * len(locks))


if __name__ == "__main__":
    main()
