"""Every member of the interface, and what the host may do wrong with it."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
import types
from typing import Any, Callable, Dict, List
from unittest import mock

import sim
from common import PLUGIN, HermesTest, eventually, main, patient


def tool(provider: Any, name: str, **args: Any) -> "Dict[str, Any]":
    return dict(json.loads(provider.handle_tool_call(name, args)))


class Members(HermesTest):
    def test_it_is_a_provider_of_the_host_with_every_member(self) -> None:
        provider = self.provider()
        self.assertIsInstance(provider, sim.MemoryProvider)
        provider.sync_turn("one thing", "said")
        self.stored(provider)
        provider.prefetch("one thing")
        self.assertEqual(provider.recall_status(), sim.RecallStatus("Holdfast memory", 1))
        provider.prefetch("zzz")
        self.assertIsNone(provider.recall_status(), "of the last prefetch only")
        own = type(provider)
        self.assertEqual([name for name in sim.MEMBERS if name not in vars(own)], [], "each of its own")
        for name in sim.MEMBERS[1:]:
            theirs = inspect.signature(getattr(sim.MemoryProvider, name)).parameters
            ours = inspect.signature(getattr(own, name)).parameters
            any_word = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in ours.values())
            for word, parameter in theirs.items():
                known = any_word or word in ours or parameter.kind is inspect.Parameter.VAR_KEYWORD
                self.assertTrue(known, f"{name} does not take {word}")
        broken = type("Broken", (sim.MemoryProvider,), {"name": "broken", "is_available": None, "get_tool_schemas": None})
        with self.assertRaises(TypeError):  # the control: initialize() is missing
            broken()

    def test_what_is_remembered_is_for_the_user_alone(self) -> None:
        mute = os.path.join(self.home, "mute")
        with open(mute, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\nwhile read line; do :; done\n")
        os.chmod(mute, 0o755)
        os.environ["HOLDFAST_MEMORY"] = mute  # never answers, so that something waits
        self.addCleanup(lambda: os.environ.pop("HOLDFAST_MEMORY", None))
        home = os.path.join(self.home, "fresh")
        before = os.umask(0)
        try:
            provider = self.provider("s", hermes_home=home)
            provider.sync_turn("private words", "x")
            seen = 0
            for folder, _, files in os.walk(os.path.join(home, "holdfast")):
                self.assertEqual(stat.S_IMODE(os.stat(folder).st_mode), 0o700, folder)
                for name in files:
                    self.assertEqual(stat.S_IMODE(os.stat(os.path.join(folder, name)).st_mode), 0o600, name)
                    seen += name.endswith(".json")
            self.assertEqual(seen, 1)
        finally:
            os.umask(before)
        provider._link.outbox.release()  # nothing will ever be answered
        provider.shutdown()

    def test_one_provider_serves_many_sessions(self) -> None:
        provider = self.provider("own")
        for turn in range(3):
            for name in ("a", "b", ""):
                provider.prefetch("anything", session_id=name)
                provider.sync_turn(f"{turn} in {name or 'own'}", "x", session_id=name)
        found = [(one["sessionId"], one["userText"]) for one in self.stored(provider)]
        self.assertEqual(found, [(name, f"{turn} in {name}") for turn in range(3) for name in ("a", "b", "own")])
        episodes = {(one["sessionId"], one["episodeId"]) for one in self.stored(provider)}
        self.assertEqual(len(episodes), 3)

    def test_a_helper_that_stands_still_costs_prefetch_its_budget_and_no_more(self) -> None:
        provider = self.provider()
        provider.sync_turn("before it stood still", "x")
        self.stored(provider)
        pid = self.helpers()[0]
        os.kill(pid, signal.SIGSTOP)
        recall = sys.modules[type(provider).__module__.rpartition(".")[0] + ".recall"]
        self.assertLess(recall.BUDGET, 6.0, "the host gives up at 8 s")
        began = time.monotonic()
        with mock.patch.object(recall, "BUDGET", 0.5):
            self.assertEqual(provider.prefetch("stood still"), "")
        self.assertLess(time.monotonic() - began, patient(0.5))
        provider.sync_turn("while it stood still", "y")
        self.assertEqual(len(self.log.messages), 1, self.log.messages)
        os.kill(pid, signal.SIGCONT)
        self.assertEqual(len(self.stored(provider)), 2)
        self.assertIn("before it stood still", provider.prefetch("stood still"))

    def test_what_was_stored_already_is_not_stored_again_when_its_answer_was_lost(self) -> None:
        queue, copy = os.path.join(self.home, "holdfast", "queue"), os.path.join(self.home, "copy")
        code = (
            "import os, signal, sys; sys.path.insert(0, sys.argv[1]); import sim\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('s', hermes_home=sys.argv[3])\n"
            "p.sync_turn('first', 'x'); p.on_turn_start(2, 'Verifier feedback: passed'); p.sync_turn('second', 'y')\n"
            "p.on_delegation('task', 'result'); p.on_session_end([]); os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        words = [sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__)), PLUGIN, self.home]
        # Nothing gets through before it is killed, so all of it is in the queue.
        subprocess.run(words, env={**os.environ, "HOLDFAST_MEMORY": "/bin/false"}, stderr=subprocess.DEVNULL, timeout=300)
        shutil.copytree(queue, copy)
        for again in range(3):
            provider = self.provider(f"later {again}")
            traces = self.stored(provider)
            self.assertEqual([one["userText"] for one in traces], ["first", "second", "task"])
            judged = self.ask(provider, "memory.get_trace", id=traces[0]["id"])["feedback"]
            self.assertEqual([one["polarity"] for one in judged], ["positive"])
            provider.shutdown()
            self.assertEqual(os.listdir(queue), [])
            shutil.rmtree(queue)
            shutil.copytree(copy, queue)  # as if no answer had ever come

    def test_a_queue_that_cannot_be_is_told_once(self) -> None:
        os.makedirs(os.path.join(self.home, "holdfast"))
        with open(os.path.join(self.home, "holdfast", "queue"), "w", encoding="utf-8"):
            pass
        provider = self.provider()
        for _ in range(3):
            provider.sync_turn("nowhere to wait", "x")
            self.assertEqual(provider.prefetch("x"), "")
        self.assertEqual(len(self.log.messages), 2, self.log.messages)
        os.unlink(os.path.join(self.home, "holdfast", "queue"))
        provider.sync_turn("there is room again", "x")
        self.assertEqual([one["userText"] for one in self.stored(provider)], ["there is room again"])
        shutil.rmtree(os.path.join(self.home, "holdfast", "queue"))  # by hand, while it is in use
        provider.sync_turn("and again", "x")
        self.assertEqual([one["userText"] for one in self.stored(provider)], ["there is room again", "and again"])
        self.assertEqual(len(self.log.messages), 2, self.log.messages)

    def test_everything_answers_before_initialize(self) -> None:
        provider = sim.load_provider(PLUGIN)
        self.assertEqual(provider.name, "holdfast")
        self.assertTrue(provider.is_available())
        self.assertEqual(provider.unavailable_reason(), "")
        self.assertIn("holdfast_search", provider.system_prompt_block())
        self.assertEqual(provider.prefetch("x", session_id="s"), "")
        self.assertIsNone(provider.recall_status())
        provider.sync_turn("a", "b", session_id="s")
        provider.queue_prefetch("x")
        provider.on_turn_start(1, "x")
        provider.on_session_end([])
        provider.on_session_switch("new")
        provider.on_delegation("t", "r", child_session_id="c")
        provider.on_memory_write("add", "user", "x", {})
        self.assertEqual(provider.on_pre_compress([]), "")
        self.assertEqual(len(provider.get_tool_schemas()), 6)
        self.assertIn("not_initialized", provider.handle_tool_call("holdfast_search", {"query": "x"}))
        provider.shutdown()
        self.assertEqual((self.helpers(), self.log.messages), ([], []))

    def test_configuration_without_initialize(self) -> None:
        provider = sim.load_provider(PLUGIN)
        self.assertEqual({one["key"] for one in provider.get_config_schema()}, {"recall", "users", "top_k"})
        provider.save_config({"top_k": "3", "users": "apart", "unknown": 1}, self.home)
        path = os.path.join(self.home, "holdfast", "config.json")
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        provider.save_config({"recall": False}, self.home)
        with open(path, encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"recall": False, "users": "apart", "top_k": 3})
        with self.assertRaisesRegex(ValueError, "users is one of together, apart"):
            provider.save_config({"users": "mixed"}, self.home)
        os.environ["HERMES_HOME"] = self.home
        self.addCleanup(lambda: os.environ.pop("HERMES_HOME"))
        self.assertEqual(provider.backup_paths(), [], "the host's backup has its home anyway")
        elsewhere = os.path.join(self.home, "elsewhere")
        os.makedirs(os.path.join(elsewhere, "data"))
        os.makedirs(os.path.join(self.home, "linked"))
        os.symlink(os.path.join(elsewhere, "data"), os.path.join(self.home, "linked", "holdfast"))
        os.environ["HERMES_HOME"] = os.path.join(self.home, "linked")
        self.assertEqual(provider.backup_paths(), [os.path.join(elsewhere, "data")])
        os.environ["HERMES_HOME"] = self.home
        off = self.provider("off")
        off.sync_turn("not recalled", "yes")
        self.assertEqual(len(self.stored(off)), 1)
        self.assertEqual(off.prefetch("not recalled"), "")

    def test_unavailable_says_why_and_recovers_when_the_cause_is_gone(self) -> None:
        folder = os.path.join(self.home, "plugins", "holdfast")
        shutil.copytree(PLUGIN, folder)
        program = os.path.join(folder, "lib", "holdfast", "holdfast-memory")
        os.rename(program, program + ".away")
        provider = sim.load_provider(folder)
        os.environ["PATH"], before = "/nowhere", os.environ["PATH"]
        self.addCleanup(lambda: os.environ.update(PATH=before))
        self.assertFalse(provider.is_available())
        self.assertIn("holdfast-memory", provider.unavailable_reason())
        for _ in range(3):
            provider.initialize("s", hermes_home=self.home)
            provider.sync_turn("a", "b")
            self.assertEqual(provider.prefetch("x"), "")
        self.assertEqual(len([one for one in self.log.messages if "initialize" in one]), 1, self.log.messages)
        self.assertIn("holdfast hermes install", self.log.messages[0])
        os.rename(program + ".away", program)
        self.assertTrue(provider.is_available())
        provider.initialize("s", hermes_home=self.home)
        provider.sync_turn("after the repair", "works")
        self.assertEqual([one["userText"] for one in self.stored(provider)], ["a"] * 3 + ["after the repair"])

    def test_without_its_library_it_loads_says_why_and_recovers(self) -> None:
        folder = os.path.join(self.home, "plugins", "holdfast")
        shutil.copytree(PLUGIN, folder)
        code = (
            "import os, sys; sys.path.insert(0, sys.argv[1]); import sim\n"
            "library = sys.argv[2] + '/lib/holdfast/libholdfast.so.1'; os.rename(library, library + '.away')\n"
            "p = sim.load_provider(sys.argv[2])\n"
            "print(p.is_available(), 'libholdfast.so.1 is missing' in p.unavailable_reason())\n"
            "for _ in range(3): p.initialize('s', hermes_home=sys.argv[3]); p.sync_turn('lost', 'x'); p.prefetch('x')\n"
            "os.rename(library + '.away', library); print(p.is_available())\n"
            "p.initialize('s', hermes_home=sys.argv[3]); p.sync_turn('found', 'x'); print(p._link.outbox.wait_empty(200))\n"
            "print('found' in p.prefetch('found')); p.shutdown()\n"
        )
        words = [sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__)), folder, self.home]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=600)
        self.assertEqual(ended.stdout.split(), ["False", "True", "True", "True", "True"], ended.stderr)
        self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
        self.assertIn("libholdfast.so.1 cannot be loaded", ended.stderr)

    def test_tools(self) -> None:
        provider = self.provider()
        for number in range(12):
            provider.sync_turn(f"persimmon fact {number} " + "long " * 400, "answer " * 400)
        trace = self.stored(provider)[0]
        hold = provider._link.hold()
        skill = hold.request("skill.add", {"title": "Brew tea", "body": "80 degrees"})["id"]
        world = hold.request("world.add", {"title": "Kettle", "body": "in the kitchen"})["id"]
        found = tool(provider, "holdfast_search", query="persimmon", limit=5)
        self.assertEqual(len(found["memories"]), 5)
        self.assertTrue(all(len(one["text"]) <= 701 for one in found["memories"]))
        whole = tool(provider, "holdfast_get", id=trace["id"])
        self.assertEqual((whole["id"], whole["episode_id"]), (trace["id"], trace["episodeId"]))
        turns = provider.handle_tool_call("holdfast_timeline", {"episode_id": trace["episodeId"]})
        self.assertEqual(len(json.loads(turns)["turns"]), 12)
        self.assertLessEqual(len(turns), 12_000)
        self.assertEqual(tool(provider, "holdfast_skill_list")["skills"][0]["id"], skill)
        self.assertEqual(tool(provider, "holdfast_skill_get", id=skill)["text"], "80 degrees")
        self.assertEqual(tool(provider, "holdfast_environment")["environment"][0]["id"], world)
        self.assertEqual(tool(provider, "holdfast_get", id=world)["text"], "in the kitchen")

    def test_no_answer_of_a_tool_is_longer_than_it_says(self) -> None:
        provider = self.provider()
        hold = provider._link.hold()
        ids = [hold.request("skill.add", {"title": '"' * 500, "body": body * 6000})["id"] for body in ('"\n', "\0", "\x01", "é")]
        for number in range(3):
            provider.sync_turn('"\n' * 3000 + str(number), '\t"' * 3000)
        trace = self.stored(provider)[0]
        asked: "List[Any]" = [("holdfast_skill_get", {"id": one}) for one in ids] + [
            ("holdfast_get", {"id": trace["id"]}), ("holdfast_get", {"id": ids[0]}), ("holdfast_skill_list", {}),
            ("holdfast_timeline", {"episode_id": trace["episodeId"]}), ("holdfast_get", {"id": "\x01" * 9000}),
            ("holdfast_search", {"query": '"' * 9000, "limit": 50}), ("\x01" * 9000, {}),
        ]
        for name, args in asked:
            text = provider.handle_tool_call(name, args)
            self.assertLessEqual(len(text), 12_000, (name, args))
            json.loads(text)
        self.assertGreater(len(provider.handle_tool_call("holdfast_skill_get", {"id": ids[0]})), 8000, "and not much less")

    def test_tools_see_only_the_memory_of_their_own_context(self) -> None:
        user = self.provider("s1")
        user.sync_turn("of the user", "x")
        trace = self.stored(user)[0]
        for words in ({"agent_context": "subagent"}, {"agent_context": "cron"}):
            other = self.provider("s1", **words)
            self.assertEqual(tool(other, "holdfast_get", id=trace["id"])["code"], "not_found")
            self.assertEqual(tool(other, "holdfast_timeline", episode_id=trace["episodeId"])["code"], "episode_not_found")
            with self.assertRaises(Exception):
                self.ask(other, "memory.timeline", episodeId=trace["episodeId"], namespace=other._link.namespace, limit=5)
        self.assertEqual(tool(user, "holdfast_get", id=trace["id"])["user"], "of the user")
        self.assertEqual(len(tool(user, "holdfast_timeline", episode_id=trace["episodeId"])["turns"]), 1)

    def test_tools_answer_bad_arguments_with_json_errors(self) -> None:
        provider = self.provider()
        for name, args, code in (
            ("holdfast_get", {"id": "tr_nothing"}, "not_found"),
            ("holdfast_skill_get", {"id": "sk_nothing"}, "not_found"),
            ("holdfast_timeline", {"episode_id": "ep_nothing"}, "episode_not_found"),
            ("holdfast_get", {}, "invalid_argument"),
            ("holdfast_get", {"id": 7}, "invalid_argument"),
            ("holdfast_search", {"query": "  "}, "invalid_argument"),
            ("holdfast_search", {"query": "x", "limit": "many"}, "invalid_argument"),
            ("holdfast_search", {"query": "x", "limit": [1]}, "invalid_argument"),
            ("holdfast_search", {"query": "x", "limit": float("inf")}, "invalid_argument"),
            ("holdfast_search", {"query": "x", "limit": float("nan")}, "invalid_argument"),
            ("holdfast_search", None, "invalid_argument"),
            ("holdfast_search", [1], "invalid_argument"),
            ("no_such_tool", {}, "unknown_tool"),
        ):
            answer = json.loads(provider.handle_tool_call(name, args))
            self.assertEqual(answer["code"], code, (name, args, answer))
            self.assertTrue(answer["error"])
        self.assertEqual(self.log.messages, [])

    def test_what_happened_in_a_turn_is_kept_with_it(self) -> None:
        provider = self.provider()
        shown = [
            sim.Host.tool_called("s1", "terminal", {"n": number}, '{"error": "no"}', number=f"c{number}", turn="t1")
            for number in range(3)
        ]
        self.assertEqual(shown[:2], ['{"error": "no"}'] * 2)
        self.assertTrue(shown[2].startswith('{"error": "no"}') and "holdfast_search" in shown[2], shown[2])
        sim.Host.tool_called("s1", "write", {}, '{"error": "no"}', turn="t1", status="blocked", error_type="plugin_block")
        history = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y", "reasoning": "I thought so"}]
        sim.Host.turn_finished("s1", "x", "y", history, "t1")
        provider.sync_turn("with tools", "done", session_id="s1")
        messages: "List[Dict[str, Any]]" = [
            {"role": "user", "content": "from messages"},
            {"role": "assistant", "tool_calls": [{"id": "m1", "function": {"name": "read", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "m1", "content": "text"},
            {"role": "assistant", "content": "done"},
        ]
        provider.sync_turn("from messages", "done", session_id="s1", messages=messages)
        first, second = self.stored(provider)
        self.assertEqual([one["errorCode"] for one in first["toolCalls"]], ["tool_error"] * 3 + ["plugin_block"])
        self.assertEqual(first["agentThinking"], "I thought so")
        self.assertEqual([(one["name"], one["output"]) for one in second["toolCalls"]], [("read", "text")])

    def test_a_tool_that_is_blocked_has_not_failed(self) -> None:
        provider = self.provider()
        for _ in range(4):
            shown = sim.Host.tool_called("s1", "write", {}, '{"error": "no"}', status="blocked", error_type="plugin_block")
            self.assertEqual(shown, '{"error": "no"}')
        provider.shutdown()

    def test_calls_of_another_turn_under_the_same_session_are_not_its_own(self) -> None:
        provider = self.provider()
        sim.Host.tool_called("s1", "mine", {}, "ok", turn="t1")
        sim.Host.tool_called("s1", "reviewers", {}, "ok", turn="review of t0")
        sim.Host.turn_finished("s1", "first", "done", [], "t1")
        sim.Host.tool_called("s1", "next", {}, "ok", turn="t2")  # before the worker came to the sync of the first
        provider.sync_turn("first", "done", session_id="s1")
        sim.Host.turn_finished("s1", "second", "done", [], "t2")
        provider.sync_turn("second", "done", session_id="s1")
        # A host of an age without turn ids: whatever was heard since the last sync.
        sim.Host.tool_called("s1", "old", {}, "ok")
        provider.sync_turn("third", "done", session_id="s1")
        names = [[call["name"] for call in one["toolCalls"]] for one in self.stored(provider)]
        self.assertEqual(names, [["mine"], ["next"], ["old"]])

    def test_a_reviewer_does_not_take_the_events_of_the_agent_it_reviews(self) -> None:
        agent = sim.Agent(PLUGIN, self.home, "s1")
        reviewer = self.provider("s1", agent_context="flush")  # a slow one: it is there all the time
        for turn in range(3):
            agent.turn(f"turn {turn}", "done", tools=["a", "b"])
            self.assertTrue(agent.manager.settle())
            self.stored(agent.provider)  # the next turn can only recall what is there by then
        reviewer.shutdown()
        agent.manager.drain()
        calls = [[(call["name"], "startedAt" in call) for call in one["toolCalls"]] for one in self.stored(agent.provider)]
        self.assertEqual(calls, [[("a", True), ("b", True)]] * 3, "with the times that only the hooks tell")
        self.assertEqual(agent.said[:1], ["* Holdfast memory: 1"], "the second turn recalled the first")
        agent.manager.shutdown_all()

    def test_a_turn_that_was_taken_back_is_not_judged(self) -> None:
        provider = self.provider()
        provider.sync_turn("taken back", "x")
        sim.Host.tool_called("s1", "half", {}, "ok", turn="t1")
        provider.on_session_switch("s1", rewound=True)
        provider.on_turn_start(2, "Verifier feedback: failed")
        provider.sync_turn("instead", "y")
        traces = self.stored(provider)
        self.assertEqual([one["toolCalls"] for one in traces], [[], []])
        self.assertEqual(self.ask(provider, "memory.get_trace", id=traces[0]["id"])["feedback"], [])
        self.assertEqual(traces[0]["episodeId"], traces[1]["episodeId"])

    def test_what_the_host_notes_belongs_to_the_session_it_names(self) -> None:
        provider = self.provider("own")
        metadata = {"write_origin": "assistant_tool", "session_id": "named", "platform": "cli", "tool_name": "memory"}
        sim.MemoryManager(provider).on_memory_write("add", "memory", "likes quinces", metadata)
        provider.on_memory_write("add", "user", "has a kettle")
        self.assertEqual([one["sessionId"] for one in self.stored(provider)], ["named", "own"])

    def test_what_the_host_takes_back_is_not_recalled(self) -> None:
        provider = self.provider()
        provider.sync_turn("I am allergic to peanuts", "noted")
        for note in ("allergic to peanuts", "drinks oolong", "lives in Ghent"):
            provider.on_memory_write("add", "user", note)
        provider.on_memory_write("remove", "user", "", metadata={"previous_content": "allergic to peanuts"})
        provider.on_memory_write("replace", "user", "drinks sencha", metadata={"old_text": "oolong"})
        provider.on_memory_write("remove", "user", "never noted")
        self.assertEqual([one["agentText"] for one in self.stored(provider)], ["noted", "lives in Ghent", "drinks sencha"],
                         "what was said stays; what was noted and taken back goes")
        self.assertNotIn("oolong", provider.prefetch("what does the user drink, oolong?"))
        self.assertEqual(self.log.messages, [])

    def test_verifier_feedback_is_bound_to_the_turn_it_judges(self) -> None:
        provider = self.provider()
        provider.sync_turn("first task", "first answer")
        provider.on_turn_start(2, "Verifier feedback: failed, r = -0.8")
        provider.sync_turn("second task", "second answer")
        provider.on_turn_start(3, "no, that is wrong")
        provider.sync_turn("third task", "third answer")
        provider.on_turn_start(4, "Verification result: passed")
        judged = {}
        for trace in self.stored(provider):
            whole = self.ask(provider, "memory.get_trace", id=trace["id"])
            judged[whole["userText"]] = [(one["polarity"], one["magnitude"], one["traceId"] == trace["id"])
                                         for one in whole["feedback"]]
        self.assertEqual(
            judged,
            {"first task": [("negative", 0.8, True)], "second task": [], "third task": [("positive", 1.0, True)]},
        )

    def test_contexts_are_kept_apart(self) -> None:
        user = self.provider("s1")
        user.sync_turn("the user likes quinces", "noted", session_id="s1")
        for context in ("subagent", "cron"):
            other = self.provider("s1", agent_context=context)
            self.assertEqual(other.prefetch("quinces", session_id="s1"), "")
            other.sync_turn(f"{context} prompt about quinces", "done", session_id="s1")
            self.stored(other)
            self.assertIn(f"{context} prompt", other.prefetch("quinces prompt", session_id="s1"))
            found = tool(other, "holdfast_search", query="quinces")
            self.assertEqual([one["text"] for one in found["memories"]], [f"{context} prompt about quinces\ndone"])
        flush = self.provider("s1", agent_context="flush")
        flush.sync_turn("flush about quinces", "done", session_id="s1")
        flush.on_memory_write("add", "user", "flush quinces")
        self.assertEqual(len(self.stored(user)), 3)
        recalled = user.prefetch("quinces prompt", session_id="s1")
        self.assertIn("the user likes quinces", recalled)
        self.assertNotIn("prompt about", recalled)

    def test_users_of_a_gateway_together_and_apart(self) -> None:
        for choice, shared in (("together", True), ("apart", False)):
            home = os.path.join(self.home, choice)
            os.mkdir(home)
            sim.load_provider(PLUGIN).save_config({"users": choice}, home)
            first = self.provider("a", hermes_home=home, user_id="1")
            first.sync_turn("medlar secret", "kept")
            self.stored(first)
            second = self.provider("b", hermes_home=home, user_id="2")
            self.assertEqual("medlar" in second.prefetch("medlar secret"), shared)
            # In a group they are in one session of the host.
            both = [self.provider("group", hermes_home=home, user_id=user) for user in ("1", "2")]
            for number, one in enumerate(both):
                one.sync_turn(f"loquat of user {number}", "kept", session_id="group")
                self.stored(one)
            for number, one in enumerate(both):
                recalled = one.prefetch("loquat", session_id="group")
                found = json.dumps(tool(one, "holdfast_search", query="loquat"))
                for text in (recalled, found):
                    self.assertIn(f"loquat of user {number}", text)
                    self.assertEqual(f"loquat of user {1 - number}" in text, shared, choice)

    def test_profiles_never_mix(self) -> None:
        one, two = (os.path.join(self.home, name) for name in ("one", "two"))
        os.mkdir(one)
        os.mkdir(two)
        first, second = self.provider("s", hermes_home=one), self.provider("s", hermes_home=two)
        first.sync_turn("only in one: loquat", "yes")
        self.stored(first)
        self.assertIn("loquat", first.prefetch("loquat"))
        self.assertEqual(second.prefetch("loquat"), "")
        self.assertEqual(self.stored(second), [])

    def test_a_session_that_was_left_is_not_used_again(self) -> None:
        provider = self.provider("old")
        provider.sync_turn("in the old one", "a")
        provider.on_session_switch("new", parent_session_id="old", reset=True)
        provider.sync_turn("in the new one", "b")
        provider.prefetch("anything")
        provider.on_delegation("task", "result", child_session_id="child")
        provider.on_memory_write("add", "user", "a fact")
        sim.Host.tool_called("old", "t", {}, "r")
        provider.sync_turn("again in the new one", "c")
        provider.on_session_switch("old", parent_session_id="new")
        provider.sync_turn("resumed", "d")
        found = [(one["userText"], one["sessionId"], len(one["toolCalls"])) for one in self.stored(provider)]
        self.assertEqual(
            found,
            [
                ("in the old one", "old", 0),
                ("in the new one", "new", 0),
                ("task", "new", 0),
                ("Noted for the user profile", "new", 0),
                ("again in the new one", "new", 0),
                ("resumed", "old", 0),
            ],
        )

    def test_a_session_is_opened_again_on_a_new_generation(self) -> None:
        provider = self.provider("s1")
        provider.prefetch("x")
        conversation = provider._link.conversation("s1")
        self.assertEqual(conversation.handle.open_on, 1)
        os.kill(self.helpers()[0], signal.SIGKILL)
        provider.prefetch("x")
        self.assertEqual(conversation.handle.open_on, 2)

    def asked(self) -> "Callable[[Any, str], Dict[str, Any]]":
        """From here on the helper asks for a model at each search; gives what it is answered."""
        answers = self.noisy()
        count = 0

        def search(provider: Any, query: str) -> "Dict[str, Any]":
            nonlocal count
            count += 1
            tool(provider, "holdfast_search", query=query)
            self.assertTrue(eventually(lambda: os.path.exists(answers) and len(open_lines(answers)) >= count))
            return dict(json.loads(open_lines(answers)[count - 1]))

        return search

    def test_the_model_is_asked_through_the_newest_provider_and_falls_to_a_survivor(self) -> None:
        search = self.asked()
        old = self.provider("old")
        with sim.profile("/the/new/profile"):
            new = self.provider("new")
        self.assertEqual(search(old, "first")["result"]["text"], "said first")
        new.shutdown()
        self.assertEqual(search(old, "second")["result"]["text"], "said second")
        self.assertEqual(sim.Host.llm_calls, ["first", "second"])
        self.assertEqual(sim.Host.llm_words[0], {"task": "memory", "model": None, "max_tokens": 64, "timeout": 2.5})
        self.assertEqual(sim.Host.llm_homes, ["/the/new/profile", ""], "each with the profile that it was made for")
        self.assertEqual(self.log.messages, [])

    def test_models_of_other_ages_and_none(self) -> None:
        search = self.asked()
        provider = self.provider()
        client = types.SimpleNamespace(chat=types.SimpleNamespace(completions=types.SimpleNamespace()))
        asked: "List[Any]" = []

        def create(**words: Any) -> Any:
            asked.append(words)
            return {"choices": [{"message": {"content": [{"type": "text", "text": "<think>hm</think>in parts"}]}}]}

        client.chat.completions.create = create
        sim.Host.older_client(client)
        self.assertEqual(search(provider, "one")["result"]["text"], "in parts")
        self.assertEqual((asked[0]["model"], asked[0]["max_tokens"]), ("old-model", 64))
        client.chat.completions.create = lambda **_: sim.answer(None)
        self.assertIn("answered nothing", search(provider, "two")["error"]["message"])
        sim.Host.older_client(None)
        self.assertIn("no model is set up", search(provider, "three")["error"]["message"])
        sim.Host.install_modules()
        del sys.modules["agent.auxiliary_client"].call_llm
        self.assertIn("offers no model", search(provider, "four")["error"]["message"])
        self.assertEqual(len(self.log.messages), 1, self.log.messages)
        self.assertIn("auxiliary.memory", self.log.messages[0])
        sim.Host.install_modules()
        self.assertEqual(search(provider, "five")["result"]["text"], "said five")

    def test_a_model_that_fails_or_is_called_off_is_told_once(self) -> None:
        search = self.asked()
        provider = self.provider()

        class CalledOff(BaseException):
            pass

        for failure in (RuntimeError("no key"), CalledOff(), TimeoutError()):
            sys.modules["agent.auxiliary_client"].call_llm = raising(failure)  # type: ignore[attr-defined]
            self.assertIn("error", search(provider, "anything"))
        self.assertEqual(len(self.log.messages), 1, self.log.messages)

    def test_prefetch_returns_at_once_while_the_store_is_opening_and_says_so(self) -> None:
        # Another process has the home, and cannot be reached: for our helper the store stays closed.
        program = os.path.join(PLUGIN, "lib", "holdfast", "holdfast-memory")
        os.makedirs(self.data)
        words = [program, "--home=" + self.data, "--no-viewer"]
        owner = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert owner.stdin is not None and owner.stdout is not None
        owner.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"session.open","params":{"agent":"x"}}\n')
        owner.stdout.readline()
        os.unlink(os.path.join(self.data, "memory.sock"))
        provider = self.provider()
        self.old_enough(provider)
        for _ in range(3):
            asked = self.asked_in(provider, lambda: self.assertEqual(provider.prefetch("anything"), ""))
            self.assertEqual(asked, ["core.health"], "nothing that would wait for the store")
            self.assertIn("opening", provider.recall_status().provider_label)
            self.assertEqual(self.asked_in(provider, lambda: provider.sync_turn("said while it opens", "kept")), [])
        owner.kill()
        owner.communicate()
        self.assertEqual([one["userText"] for one in self.stored(provider)], ["said while it opens"] * 3)
        self.assertIn("said while it opens", sim.recall_when_open(provider, "opens"))

    def test_a_request_that_went_with_its_owner_is_made_again_and_not_for_ever(self) -> None:
        provider = self.provider()
        module = sys.modules[type(provider).__module__.rpartition(".")[0] + ".link"]
        lost = provider._link.shared.package.RemoteError(-32000, "gone", {"code": "transport_closed"}, 1)
        tried: "List[float]" = []

        def ask(left: float, answers_at: int) -> str:
            tried.append(left)
            if len(tried) < answers_at:
                raise lost
            return "here"

        self.assertEqual(module.again(lambda left: ask(left, 3), time.monotonic() + 5), "here")
        self.assertEqual(len(tried), 3)
        with self.assertRaises(type(lost)):
            module.again(lambda left: ask(left, 10**6), time.monotonic() + 5)
        self.assertLess(len(tried), 50)
        tried.clear()
        with self.assertRaises(type(lost)):
            module.again(lambda left: ask(left, 10**6), time.monotonic() - 1)
        self.assertEqual(len(tried), 1, "no time, no second one")
        with self.assertRaises(ZeroDivisionError):
            module.again(lambda left: 1 // 0, time.monotonic() + 5)
        provider.shutdown()

    def test_the_queue_is_bounded_and_says_so_once(self) -> None:
        provider = self.provider()
        spool = provider._link.outbox._spool
        spool.MAX_ITEMS = 0
        for _ in range(3):
            provider.sync_turn("too much", "x")
        del spool.MAX_ITEMS
        provider.sync_turn("enough", "x")
        self.assertEqual([one["userText"] for one in self.stored(provider)], ["enough"])
        self.assertEqual(len(self.log.messages), 1, self.log.messages)
        self.assertIn("could not be kept", self.log.messages[0])

    def test_a_queue_whose_files_cannot_be_removed_goes_on(self) -> None:
        provider = self.provider()
        spool = provider._link.outbox._spool
        tries: "List[int]" = []

        def broken(item: Any) -> None:
            tries.append(1)
            raise OSError("read-only")

        spool.remove = broken
        provider.sync_turn("its file stays", "x")
        self.assertTrue(eventually(lambda: bool(tries)))
        provider._link.outbox.wait_empty(10)
        del spool.remove
        provider.sync_turn("and the next is stored", "x")
        self.assertEqual([one["userText"] for one in self.stored(provider)], ["its file stays", "and the next is stored"])
        self.assertEqual(len(self.log.messages), 1, self.log.messages)

    def test_strange_words_do_no_harm(self) -> None:
        provider = self.provider()
        provider.sync_turn("half a pair \ud800 and a zero \0", "ü 漢字 🫖")
        provider.sync_turn(None, None)
        provider.sync_turn("", "   ")
        provider.sync_turn("x" * 3_000_000, "y")
        provider.sync_turn({"a": 1}, ["parts"])
        self.assertEqual(provider.prefetch("half \ud800"), provider.prefetch("half \ud800"))
        self.assertEqual(len(self.stored(provider)), 3)
        self.assertEqual(self.log.messages, [])


def raising(failure: BaseException) -> "Callable[..., Any]":
    def call(task: "Any" = None, **_: Any) -> Any:
        raise type(failure)(*failure.args)  # a new one: what is raised keeps those alive through whom it went

    return call


def open_lines(path: str) -> "List[str]":
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


if __name__ == "__main__":
    main()
