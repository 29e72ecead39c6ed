"""Every member of the interface, and what the host may do wrong with it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from typing import Any, Dict, List

import sim
from common import PLUGIN, HermesTest, eventually, main


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
        broken = type("Broken", (sim.MemoryProvider,), {name: None for name in sim.MEMBERS[1:]})
        with self.assertRaises(TypeError):  # the control: one member is missing
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
        began = time.monotonic()
        self.assertEqual(provider.prefetch("stood still"), "")
        self.assertLess(time.monotonic() - began, 7.5, "the host gives up at 8 s")
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
        subprocess.run(words, env={**os.environ, "HOLDFAST_MEMORY": "/bin/false"}, stderr=subprocess.DEVNULL, timeout=30)
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
        self.assertEqual(provider.backup_paths(), [os.path.join(self.home, "holdfast")])
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
        self.assertEqual([one["userText"] for one in self.stored(provider)], ["after the repair"])

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
            "p.initialize('s', hermes_home=sys.argv[3]); p.sync_turn('found', 'x'); print(p._link.outbox.wait_empty(20))\n"
            "print('found' in p.prefetch('found')); p.shutdown()\n"
        )
        words = [sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__)), folder, self.home]
        ended = subprocess.run(words, capture_output=True, text=True, timeout=60)
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
        self.assertLess(len(turns), 13_000)
        self.assertEqual(tool(provider, "holdfast_skill_list")["skills"][0]["id"], skill)
        self.assertEqual(tool(provider, "holdfast_skill_get", id=skill)["text"], "80 degrees")
        self.assertEqual(tool(provider, "holdfast_environment")["environment"][0]["id"], world)
        self.assertEqual(tool(provider, "holdfast_get", id=world)["text"], "in the kitchen")

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
        manager = sim.Host.manager
        for number in range(3):
            words = {"tool_name": "terminal", "args": {"n": number}, "session_id": "s1", "tool_call_id": f"c{number}"}
            manager.invoke_hook("post_tool_call", result='{"error": "no"}', duration_ms=5, **words)
        hints = manager.invoke_hook("transform_tool_result", tool_name="terminal", result="no", session_id="s1")
        self.assertEqual(len(hints), 1)
        self.assertIn("holdfast_search", hints[0])
        history = [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y", "reasoning": "I thought so"}]
        manager.invoke_hook("post_llm_call", session_id="s1", conversation_history=history)
        provider.sync_turn("with tools", "done", session_id="s1")
        messages: "List[Dict[str, Any]]" = [
            {"role": "user", "content": "from messages"},
            {"role": "assistant", "tool_calls": [{"id": "m1", "function": {"name": "read", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "m1", "content": "text"},
            {"role": "assistant", "content": "done"},
        ]
        provider.sync_turn("from messages", "done", session_id="s1", messages=messages)
        first, second = self.stored(provider)
        self.assertEqual([one["errorCode"] for one in first["toolCalls"]], ["error"] * 3)
        self.assertEqual(first["agentThinking"], "I thought so")
        self.assertEqual([(one["name"], one["output"]) for one in second["toolCalls"]], [("read", "text")])

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
        sim.Host.manager.invoke_hook("post_tool_call", tool_name="t", args={}, result="r", session_id="old")
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

    def test_the_model_is_asked_through_the_newest_provider_and_falls_to_a_survivor(self) -> None:
        answers = self.noisy()

        def answered(count: int) -> "List[Dict[str, Any]]":
            def there() -> bool:
                return os.path.exists(answers) and len(open_lines(answers)) >= count

            self.assertTrue(eventually(there))
            return [json.loads(one) for one in open_lines(answers)]

        old, new = self.provider("old"), self.provider("new")
        tool(old, "holdfast_search", query="first")
        self.assertEqual(answered(1)[0]["result"]["text"], "said first")
        new.shutdown()
        tool(old, "holdfast_search", query="second")
        self.assertEqual(answered(2)[1]["result"]["text"], "said second")
        self.assertEqual(sim.Host.llm_calls, ["first", "second"])
        sim.Host.install_modules()
        del sys.modules["agent.auxiliary_client"].call_llm
        tool(old, "holdfast_search", query="third")
        self.assertIn("offers no model", answered(3)[2]["error"]["message"])

    def test_prefetch_returns_at_once_while_the_store_is_opening_and_says_so(self) -> None:
        # Another process has the home and does not let go: for our helper the store stays closed.
        program = os.path.join(PLUGIN, "lib", "holdfast", "holdfast-memory")
        os.makedirs(self.data)
        words = [program, "--home=" + self.data, "--no-viewer"]
        stopped = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        assert stopped.stdin is not None and stopped.stdout is not None
        stopped.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"session.open","params":{"agent":"x"}}\n')
        stopped.stdout.readline()
        stopped.send_signal(signal.SIGSTOP)
        provider = self.provider()
        provider.prefetch("warm up")
        began = time.monotonic()
        self.assertEqual(provider.prefetch("anything"), "")
        self.assertLess(time.monotonic() - began, 5.0)
        self.assertIn("opening", provider.recall_status().provider_label)
        began = time.monotonic()
        provider.sync_turn("said while it opens", "kept")
        self.assertLess(time.monotonic() - began, 5.0)
        stopped.kill()
        stopped.communicate()
        self.assertEqual([one["userText"] for one in self.stored(provider)], ["said while it opens"])
        self.assertIn("said while it opens", provider.prefetch("opens"))

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


def open_lines(path: str) -> "List[str]":
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


if __name__ == "__main__":
    main()
