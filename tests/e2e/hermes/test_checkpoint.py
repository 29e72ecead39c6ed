"""Before the host compresses a conversation, everything in it is in the store, and nothing twice when its sync comes later."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from typing import Any, Dict, List, Tuple

import sim
from common import HERE, PLUGIN, HermesTest, main

Message = Dict[str, Any]


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


class Checkpoint(HermesTest):
    def begin(self, provider: Any, text: str, **author: Any) -> None:
        provider.on_turn_start(1, text, **{"author_id": None, "author_name": None, "author_is_bot": False, **author})

    def in_store(self, provider: Any) -> "List[Tuple[str, str]]":
        """What the owner has now, whatever waits elsewhere."""
        traces = self.ask(provider, "memory.list_traces", limit=1000)["traces"][::-1]
        return [(one["userText"], one["agentText"]) for one in traces]

    def test_it_promises_what_it_keeps(self) -> None:
        provider = self.provider()
        self.assertEqual(type(provider).pre_compress_checkpoint_api_version, 2)
        manager = sim.MemoryManager(provider)
        self.begin(provider, "plant medlars")
        told = manager.on_pre_compress([user("plant medlars"), assistant("which sort?")], require_checkpoint=True)
        self.assertEqual(self.in_store(provider), [("plant medlars", "which sort?")], "stored when it returns")
        self.assertIn("holdfast_search", told)
        manager.drain()

    def test_a_turn_is_there_once_when_its_sync_comes_later(self) -> None:
        provider = self.provider()
        for begun in (True, False):  # a host that says when a turn begins, and one that does not
            with self.subTest(begun=begun):
                text = f"a long task {begun}"
                if begun:
                    self.begin(provider, text)
                transcript = [user(text), assistant("I look first"), assistant("the first half is done")]
                for _ in range(2):  # the host may try again
                    provider.on_pre_compress(transcript[:2])
                provider.on_pre_compress(transcript, require_checkpoint=True)
                stored = [one for one in self.in_store(provider) if one[0] == text]
                self.assertEqual(stored, [(text, "I look first\n\nthe first half is done")])
                sim.Host.tool_called("s1", "dig", {}, "ok", turn="t")
                sim.Host.turn_finished("s1", text, "all is done", [], "t")
                provider.sync_turn(text, "all is done", session_id="s1")
                whole = [one for one in self.stored(provider) if one["userText"] == text]
                self.assertEqual([one["agentText"] for one in whole],
                                 ["I look first\n\nthe first half is done\n\nall is done"], "nothing of it is lost")
                self.assertEqual([call["name"] for call in whole[0]["toolCalls"]], ["dig"])
        self.assertEqual(self.log.messages, [])

    def test_a_turn_that_was_over_and_waits_for_the_worker_is_stored_once(self) -> None:
        provider = self.provider()
        for number in range(3):
            self.begin(provider, f"turn {number}")
            sim.Host.turn_finished("s1", f"turn {number}", "done", [])
        transcript = [one for number in range(3) for one in (user(f"turn {number}"), assistant("done"))]
        provider.on_pre_compress(transcript, require_checkpoint=True)
        expected = [(f"turn {number}", "done") for number in range(3)]
        self.assertEqual(self.in_store(provider), expected)
        for number in range(3):
            provider.sync_turn(f"turn {number}", "done", session_id="s1")
        self.begin(provider, "Verifier feedback: passed")
        traces = self.stored(provider)
        self.assertEqual([(one["userText"], one["agentText"]) for one in traces], expected)
        judged = self.ask(provider, "memory.get_trace", id=traces[-1]["id"])["feedback"]
        self.assertEqual([one["polarity"] for one in judged], ["positive"], "it is the turn that is judged")

    def test_what_was_said_twice_is_there_twice(self) -> None:
        provider = self.provider()
        transcript: "List[Message]" = []
        for number in range(3):
            self.begin(provider, "continue")
            provider.sync_turn("continue", f"step {number}", session_id="s1")
            transcript += [user("continue"), assistant(f"step {number}")]
        self.begin(provider, "continue")
        provider.on_pre_compress([*transcript, user("continue"), assistant("half of step 3")], require_checkpoint=True)
        provider.sync_turn("continue", "step 3", session_id="s1")
        self.assertEqual([one["agentText"] for one in self.stored(provider)],
                         ["step 0", "step 1", "step 2", "half of step 3\n\nstep 3"])

    def test_an_interrupted_turn_whose_sync_never_comes_is_kept(self) -> None:
        provider = self.provider()
        self.begin(provider, "interrupted")
        self.begin(provider, "after it")
        provider.sync_turn("after it", "done", session_id="s1")
        transcript = [user("interrupted"), user("after it"), assistant("done")]
        for _ in range(2):
            provider.on_pre_compress(transcript, require_checkpoint=True)
        self.assertEqual(sorted(self.in_store(provider)), [("after it", "done"), ("interrupted", "")])

    def test_the_session_goes_on_under_another_name_and_nothing_is_stored_again(self) -> None:
        provider = self.provider("one")
        self.begin(provider, "before")
        provider.sync_turn("before", "done", session_id="one")
        self.begin(provider, "in the middle of it")
        tail = [user("before"), assistant("done"), user("in the middle of it"), assistant("half")]
        provider.on_pre_compress(tail, require_checkpoint=True)
        provider.on_session_switch("two", parent_session_id="one")
        summary = {"role": "user", "content": "[CONTEXT COMPACTION — REFERENCE ONLY] said before", "_compressed_summary": True}
        provider.on_pre_compress([summary, *tail, assistant("three quarters")], require_checkpoint=True)
        provider.on_pre_compress([summary, assistant("almost all")], require_checkpoint=True)  # its beginning is gone by now
        provider.sync_turn("in the middle of it", "all", session_id="two")
        self.stored(provider)
        self.assertEqual(self.in_store(provider), [("before", "done"),
                                                   ("in the middle of it", "half\n\nthree quarters\n\nalmost all\n\nall")])
        # And in the next process, that knows nothing of it.
        provider.shutdown()
        shutil.rmtree(os.path.join(self.home, "holdfast", "queue"), ignore_errors=True)
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); import sim\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('two', hermes_home=sys.argv[3])\n"
            "messages = [{'role': r, 'content': c} for r, c in (('user', 'before'), ('assistant', 'done'),\n"
            "    ('user', 'in the middle of it'), ('assistant', 'all'), ('user', 'never synced'), ('assistant', 'lost?'))]\n"
            "p.on_pre_compress(messages, require_checkpoint=True); p.shutdown()\n"
        )
        for _ in range(2):
            subprocess.run([sys.executable, "-c", code, HERE, PLUGIN, self.home], check=True, timeout=60)
        later = self.provider("later")
        self.assertEqual([text for text, _ in self.in_store(later)], ["before", "in the middle of it", "never synced"])

    def test_what_the_store_has_redacted_is_known_again(self) -> None:
        first = self.provider("s1")
        secret = "deploy with password=hunter2hunter2 and ghp_0123456789abcdefghijABCDEFGHIJ012345 now"
        first.sync_turn(secret, "done, api_key=a1b2c3d4e5f6 was used", session_id="s1")
        self.stored(first)
        code = (
            "import json, sys; sys.path.insert(0, sys.argv[1]); import sim\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('s1', hermes_home=sys.argv[3])\n"
            "p.on_pre_compress(json.loads(sys.argv[4]), require_checkpoint=True); p.shutdown()\n"
        )
        told = json.dumps([user(secret), assistant("done, api_key=a1b2c3d4e5f6 was used")])
        subprocess.run([sys.executable, "-c", code, HERE, PLUGIN, self.home, told], check=True, timeout=60)
        self.assertEqual(len(self.stored(first)), 1)

    def test_it_outlives_a_kill_of_host_and_helper(self) -> None:
        words = [sys.executable, os.path.join(HERE, "checkpoint_host.py"), PLUGIN, self.home, "chat", "first", "second"]
        for again in range(2):
            host = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            assert host.stdout is not None
            self.assertEqual(host.stdout.readline(), b"stored\n")
            for pid in self.helpers():
                os.kill(pid, signal.SIGKILL)
            host.kill()
            host.communicate()
            self.gone()
            provider = self.provider("later")
            found = sorted(self.in_store(provider))
            self.assertEqual(found, [("first", "")] * (again + 1) + [("second", "")] * (again + 1), "said anew is said again")
            provider.shutdown()

    def test_a_turn_is_there_once_when_the_host_is_killed_between_the_checkpoint_and_the_sync(self) -> None:
        """Its sync got as far as the queue; then everything was killed, and it is delivered twice."""
        code = (
            "import os, signal, sys; sys.path.insert(0, sys.argv[1]); import sim\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('chat', hermes_home=sys.argv[3])\n"
            "p.on_turn_start(1, 'task'); p.on_pre_compress([{'role': 'user', 'content': 'task'}], require_checkpoint=True)\n"
            "pid = p._link.hold().status['pid']; assert pid > 1; os.kill(pid, signal.SIGSTOP)\n"
            "p.sync_turn('task', 'done', session_id='chat'); os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        subprocess.run([sys.executable, "-c", code, HERE, PLUGIN, self.home], timeout=60)
        for pid in self.helpers():
            os.kill(pid, signal.SIGKILL)
        self.gone()
        queue, copy = os.path.join(self.home, "holdfast", "queue"), os.path.join(self.home, "copy")
        shutil.copytree(queue, copy)
        for again in range(3):
            provider = self.provider(f"later {again}")
            self.assertEqual([(one["userText"], one["agentText"]) for one in self.stored(provider)], [("task", "done")])
            provider.shutdown()
            shutil.rmtree(queue, ignore_errors=True)
            shutil.copytree(copy, queue)

    def test_a_store_that_does_not_answer_fails_the_host_that_required_it_and_no_other(self) -> None:
        provider = self.provider()
        provider.sync_turn("before", "done", session_id="s1")
        self.stored(provider)
        module = sys.modules[type(provider).__module__]
        for name, seconds in (("WITHIN", 0.5), ("NOT_ASKED", 0.5)):
            before = getattr(module, name)
            setattr(module, name, seconds)
            self.addCleanup(setattr, module, name, before)
        pid = self.helpers()[0]
        os.kill(pid, signal.SIGSTOP)
        try:
            self.begin(provider, "during")
            self.assertEqual(provider.on_pre_compress([user("during")]), "", "nothing is promised")
            with self.assertRaisesRegex(RuntimeError, "has not answered"):
                provider.on_pre_compress([user("during")], require_checkpoint=True)
        finally:
            os.kill(pid, signal.SIGCONT)
        module.WITHIN = 60.0  # type: ignore[attr-defined]
        self.assertIn("kept word for word", provider.on_pre_compress([user("during")], require_checkpoint=True))
        self.assertEqual(self.in_store(provider), [("before", "done"), ("during", "")], "what waited is not stored twice")
        self.assertEqual(len(self.log.messages), 1, self.log.messages)

    def test_a_turn_that_no_queue_takes_or_no_store_ever_will_is_not_promised(self) -> None:
        provider = self.provider()
        spool = provider._link.outbox._spool
        spool.MAX_ITEMS = 0
        self.begin(provider, "too much")
        with self.assertRaisesRegex(Exception, "no more are kept"):
            provider.on_pre_compress([user("too much")], require_checkpoint=True)
        self.assertEqual(provider.on_pre_compress([user("too much")]), "")
        del spool.MAX_ITEMS
        self.assertIn("kept", provider.on_pre_compress([user("too much")], require_checkpoint=True))
        self.assertEqual(self.in_store(provider), [("too much", "")])

    def test_before_initialize_and_for_the_hosts_own_housekeeping(self) -> None:
        provider = sim.load_provider(PLUGIN)
        self.assertEqual(provider.on_pre_compress([user("x")]), "")
        with self.assertRaisesRegex(RuntimeError, "not in use"):
            provider.on_pre_compress([user("x")], require_checkpoint=True)
        flush = self.provider("s1", agent_context="flush")
        self.assertEqual(flush.on_pre_compress([user("x")], require_checkpoint=True), "")
        self.assertEqual(self.stored(flush), [])

    def test_strange_messages_do_no_harm(self) -> None:
        provider = self.provider()
        strange: "List[Any]" = [
            None, 7, {}, {"role": "user"}, {"role": "user", "content": None}, {"role": "tool", "content": "x"},
            {"role": "system", "content": "x"}, assistant("an answer whose question is gone"),
            {"role": "user", "content": [{"type": "text", "text": "in parts"}, {"type": "image_url"}]},
            assistant("half \ud800 a pair"), user("Review the conversation above and consider saving"), assistant("nothing"),
            user("x" * 500_000),
        ]
        provider.on_pre_compress(strange, require_checkpoint=True)
        provider.on_pre_compress(strange, require_checkpoint=True)
        provider.on_pre_compress(None, require_checkpoint=True)
        found = [(user_text[:10], agent) for user_text, agent in self.in_store(provider)]
        self.assertEqual(found, [("", "an answer whose question is gone"), ("in parts", "half ? a pair"), ("x" * 10, "")])

    def test_each_author_of_a_group_keeps_what_was_theirs(self) -> None:
        sim.load_provider(PLUGIN).save_config({"users": "apart"}, self.home)
        provider = self.provider("group", platform="chat", user_id="1")
        self.begin(provider, "medlar of A", author_id="1")
        provider.sync_turn("medlar of A", "a", session_id="group", turn_author={"id": "1", "name": "A", "is_bot": False})
        self.begin(provider, "medlar of B", author_id="2")
        messages = [user("medlar of A"), assistant("a"), user("medlar of B"), assistant("b")]
        provider.on_pre_compress(messages, require_checkpoint=True)
        provider.shutdown()
        code = (
            "import json, sys; sys.path.insert(0, sys.argv[1]); import sim\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('group', hermes_home=sys.argv[3], platform='chat', user_id='1')\n"
            "p.on_pre_compress(json.loads(sys.argv[4]), require_checkpoint=True); p.shutdown()\n"
        )
        # A later process does not know who wrote what; of the last nobody does.
        told = json.dumps([*messages, user("medlar of somebody"), assistant("c")])
        for _ in range(2):
            subprocess.run([sys.executable, "-c", code, HERE, PLUGIN, self.home, told], check=True, timeout=60)
        seen = {}
        for number in ("1", "2", "3", ""):
            one = self.provider("direct", platform="chat", user_id=number)
            text = sim.recall_when_open(one, "medlar of")
            seen[number] = [who for who in ("of A", "of B", "of somebody") if "medlar " + who in text]
        self.assertEqual(seen, {"1": ["of A"], "2": ["of B"], "3": [], "": []})
        self.assertEqual(sorted(text for text, _ in self.in_store(one)), ["medlar of A", "medlar of B", "medlar of somebody"])


if __name__ == "__main__":
    main()
