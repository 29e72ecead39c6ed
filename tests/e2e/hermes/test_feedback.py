"""The words of a verifier are bound to the turn that they judge, whatever the host does with its providers and its worker."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any, Dict, List

import sim
from common import HERE, PLUGIN, HermesTest, main

FAILED, PASSED = "Verifier feedback: failed, r = -0.8", "Verifier feedback: passed"


class Feedback(HermesTest):
    def judged(self, provider: Any) -> "Dict[str, List[str]]":
        out = {}
        for trace in self.stored(provider):
            whole = self.ask(provider, "memory.get_trace", id=trace["id"])
            out[str(whole["userText"])] = [str(one["polarity"]) for one in whole["feedback"]]
        return out

    def test_a_fresh_provider_knows_the_turn_before(self) -> None:
        first = self.provider("s1")
        first.sync_turn("one", "x")
        first.shutdown()
        del first
        second = self.provider("s1")
        second.on_turn_start(2, FAILED)
        second.sync_turn("two", "y")
        third = self.provider("s1")
        third.on_turn_start(3, PASSED)
        self.assertEqual(self.judged(third), {"one": ["negative"], "two": ["positive"]})
        self.assertEqual(self.log.messages, [])

    def test_a_turn_whose_sync_is_late_is_the_one_that_is_judged(self) -> None:
        provider = self.provider("s1")
        manager = sim.MemoryManager(provider)
        manager.sync_all("A", "a", session_id="s1")
        self.assertTrue(manager.settle())
        free = threading.Event()
        manager._work.put(lambda: free.wait(200))  # the worker is busy with something else
        for user, assistant, words in (("B", "b", FAILED), ("C", "c", PASSED)):
            sim.Host.turn_finished("s1", user, assistant, [])
            manager.sync_all(user, assistant, session_id="s1")
            manager.on_turn_start(3, words)
        free.set()
        self.assertTrue(manager.settle())
        sim.Host.turn_finished("s1", "D", "d", [])
        manager.sync_all("D", "d", session_id="s1")
        self.assertTrue(manager.settle())
        manager.on_turn_start(5, PASSED)
        self.assertEqual(self.judged(provider), {"A": [], "B": ["negative"], "C": ["positive"], "D": ["positive"]})
        manager.drain()

    def test_a_turn_that_is_never_synced_is_not_mistaken_for_another(self) -> None:
        provider = self.provider("s1")
        provider.sync_turn("A", "a")
        sim.Host.turn_finished("s1", "cut short", "by the user", [])
        provider.on_turn_start(3, FAILED)
        sim.Host.turn_finished("s1", "B", "b", [])
        provider.sync_turn("B", "b")
        self.assertEqual(self.judged(provider), {"A": [], "B": []})
        self.assertEqual(len(self.log.messages), 1, self.log.messages)
        self.assertIn("did not sync was dropped", self.log.messages[0])
        provider.on_turn_start(4, PASSED)
        self.assertEqual(self.judged(provider), {"A": [], "B": ["positive"]})

    def test_a_reviewer_is_nobodys_turn(self) -> None:
        provider = self.provider("s1")
        provider.sync_turn("A", "a")
        sim.Host.turn_finished("s1", sim.REVIEW, "nothing to do", [], "review")
        provider.on_turn_start(2, PASSED)
        self.assertEqual(self.judged(provider), {"A": ["positive"]})

    def test_a_session_that_is_resumed_in_another_process(self) -> None:
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); import sim\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('s1', hermes_home=sys.argv[3])\n"
            "p.sync_turn('early', 'x'); p.sync_turn('last', 'x'); p.on_memory_write('add', 'user', 'a note')\n"
            "p.on_delegation('task', 'result'); p.shutdown()\n"
        )
        subprocess.run([sys.executable, "-c", code, HERE, PLUGIN, self.home], check=True, timeout=600)
        provider = self.provider("s1")
        provider.on_turn_start(3, FAILED)
        provider.sync_turn("now", "y")
        found = self.judged(provider)
        self.assertEqual({text for text, judged in found.items() if judged}, {"last"})
        self.assertEqual(self.log.messages, [])

    def test_feedback_on_nothing_is_dropped_and_told_each_time(self) -> None:
        provider = self.provider("s1")
        for number in range(2):
            self.log.messages.clear()
            provider.on_session_switch(f"new {number}", reset=True)
            provider.on_turn_start(1, PASSED)
            self.assertTrue(provider._link.outbox.wait_empty(200))
            self.assertEqual(len(self.log.messages), 1, self.log.messages)
            self.assertIn("never stored was dropped", self.log.messages[0])
            provider.sync_turn("first", "x")
            provider.on_turn_start(2, PASSED)  # this one is bound, so that the next failure is news
            self.assertTrue(provider._link.outbox.wait_empty(200))
        self.assertEqual(os.listdir(os.path.join(self.home, "holdfast", "queue", "refused"))
                         if os.path.exists(os.path.join(self.home, "holdfast", "queue", "refused")) else [], [])


if __name__ == "__main__":
    main()
