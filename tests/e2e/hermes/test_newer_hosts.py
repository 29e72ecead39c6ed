"""What newer hosts ask of a provider beside its turns, and a configuration that is wrong in every way."""

from __future__ import annotations

import contextvars
import json
import logging
import os
import stat
from typing import Any, Callable, Dict, List

import sim
from common import PLUGIN, HermesTest, main


class Hosts(HermesTest):
    def config(self, home: str, text: "Any") -> str:
        path = os.path.join(home, "holdfast", "config.json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return path


class Newer(Hosts):
    def test_the_identity_of_an_agent_follows_the_settings_of_its_profile(self) -> None:
        homes = [os.path.join(self.home, name) for name in ("one", "two")]
        for home, users in zip(homes, ("apart", "together")):
            self.config(home, json.dumps({"users": users}))
        provider = sim.load_provider(PLUGIN)  # never initialized
        seen = []
        for home in homes:
            with sim.profile(home):
                seen.append(provider.identity_signature())
                self.assertEqual(provider.cache_busting_signature(), seen[-1])
        self.assertEqual([one["holdfast_users"] for one in seen], ["apart", "together"])
        with sim.profile(homes[0]):
            provider.save_config({"users": "together"}, homes[0])
            self.assertEqual(provider.identity_signature(), seen[1])
        for one in seen:
            self.assertTrue(all(key.startswith("holdfast_") for key in one))
            json.dumps(one, allow_nan=False)

    def test_asking_for_the_identity_changes_nothing(self) -> None:
        provider = sim.load_provider(PLUGIN)
        with sim.profile(os.path.join(self.home, "nowhere")):
            for _ in range(100):
                provider.identity_signature()
        self.assertFalse(os.path.exists(os.path.join(self.home, "nowhere")))
        self.config(self.home, "{torn")
        with sim.profile(self.home):
            self.assertEqual(provider.identity_signature()["holdfast_users"], "apart")
        self.assertEqual((self.helpers(), self.log.messages), ([], []))

    def test_a_host_that_takes_observations_gets_them_within_its_bounds(self) -> None:
        provider = self.provider()
        for number in range(40):
            provider.sync_turn(f"persimmon {number} " + '"\u2028é' * 900, "answer " * 300)
        self.stored(provider)
        plain = provider.prefetch("persimmon")
        self.assertIsInstance(plain, str, "an older host")
        self.assertIn("persimmon", plain)
        sim.Host.newer_memory()
        found = provider.prefetch("persimmon")
        self.assertIsInstance(found, sim.MemoryPrefetchResult)
        self.assertIn("persimmon", found.context)
        sim.bounded(found.observations)
        self.assertGreater(len(found.observations), 1)
        for one in found.observations:
            self.assertEqual((one.source_kind, one.schema, one.version), ("memory", "holdfast.recall.hit", 1))
            self.assertTrue(one.payload["id"].startswith("tr_") and "persimmon" in one.payload["text"])
        self.assertIn(provider.prefetch("zzzz"), ("", sim.MemoryPrefetchResult()))

    def test_nothing_is_looked_for_behind_a_nod_a_greeting_or_a_command(self) -> None:
        provider = self.provider()
        provider.sync_turn("yes ok thanks continue help hindsight", "done")
        self.stored(provider)
        for trivial in ("yes", "OK!", "thanks :)", " continue… ", "/help", "hello", "go ahead", "", "  "):
            self.assertEqual((provider.prefetch(trivial), provider.recall_status()), ("", None), trivial)
        for meant in ("hindsight", "help", "yes ok", "thanks to whom?"):
            self.assertIn("hindsight", provider.prefetch(meant), meant)

    def test_what_happens_beside_the_host_happens_in_its_context(self) -> None:
        """Its log and its secrets are told apart by the context of the thread."""
        profile: "contextvars.ContextVar[str]" = contextvars.ContextVar("profile", default="the default profile")
        seen: "List[str]" = []

        class Told(logging.Handler):
            def emit(self, record: logging.LogRecord) -> None:
                seen.append(profile.get())

        told = Told()
        logging.getLogger("holdfast").addHandler(told)
        self.addCleanup(lambda: logging.getLogger("holdfast").removeHandler(told))
        program = os.path.join(self.home, "refusing")
        with open(program, "w", encoding="utf-8") as file:  # answers each request with what no later try can change
            file.write("#!/usr/bin/python3\nimport json, sys\nfor line in sys.stdin:\n"
                       "    one = json.loads(line); no = {'code': 'invalid_argument', 'name': 'x', 'message': 'x'}\n"
                       "    ok = {'result': {}} if one['method'] in ('core.health', 'session.open') else None\n"
                       "    no = {'error': {'code': -32602, 'message': 'x', 'data': no}}\n"
                       "    print(json.dumps({'jsonrpc': '2.0', 'id': one.get('id'), **(ok or no)}), flush=True)\n")
        os.chmod(program, 0o755)
        os.environ["HOLDFAST_MEMORY"] = program
        self.addCleanup(lambda: os.environ.pop("HOLDFAST_MEMORY"))
        context = contextvars.copy_context()
        context.run(profile.set, "the second profile")
        provider = context.run(self.provider)
        context.run(provider.sync_turn, "refused", "x")
        provider._link.outbox.wait_empty(20)
        self.assertEqual(len(self.log.messages), 1, self.log.messages)
        self.assertEqual(seen, ["the second profile"])
        provider.shutdown()


class BadConfiguration(Hosts):
    DEEP = "[" * 30_000 + "]" * 30_000
    BAD: "Dict[str, Any]" = {
        "torn": "{torn", "a list": "[]", "a number": "7", "null": "null", "empty": "", "no text": b"\xff\xfe\x00",
        "a zero": b"{\0}", "deep": DEEP, "deep in a member": '{"users": ' + DEEP + "}",
        "deep in objects": '{"users":' * 15_000 + "1" + "}" * 15_000, "huge": '{"top_k": ' + "9" * 20_000 + "}",
        "beyond floats": '{"top_k": 1e999}', "minus": '{"top_k": -1e999}', "no number": '{"top_k": NaN}',
        "many": '{"top_k": "many"}', "a list of one": '{"top_k": [1]}', "an object": '{"top_k": {}}', "half": '{"top_k": 1.5}',
        "none": '{"top_k": null}', "users as list": '{"users": ["apart"]}', "users as object": '{"users": {}}',
        "users as number": '{"users": 1e400}', "recall as object": '{"recall": {}}', "recall as number": '{"recall": 17}',
        "large": '{"x": "' + "x" * 200_000 + '"}', "half a pair": '{"users": "\\ud800"}',
    }

    def test_no_configuration_switches_the_queue_off(self) -> None:
        path = self.config(self.home, "{}")
        said = []
        for number, (name, text) in enumerate(self.BAD.items()):
            with self.subTest(name):
                self.log.messages.clear()
                self.config(self.home, text)
                provider = self.provider("s")
                provider.sync_turn(f"said {number}", "x")
                said.append(f"said {number}")
                self.assertIsNotNone(provider._link, "in use")
                self.assertEqual([one["userText"] for one in self.stored(provider)], said)
                self.assertIn(f"said {number}", sim.recall_when_open(provider, f"said {number}"))
                found = json.loads(provider.handle_tool_call("holdfast_search", {"query": "said"}))
                self.assertEqual(len(found["memories"]), min(8, number + 1))
                self.assertEqual(len(self.log.messages), 1, self.log.messages)
                self.assertIn("config.json", self.log.messages[0])
                self.assertLess(len(self.log.messages[0]), 600)
                self.assertEqual(set(provider.identity_signature()), {"holdfast_recall", "holdfast_top_k", "holdfast_users"})
                provider.shutdown()
                self.config(self.home, "{}")
                self.provider("s").shutdown()  # it is over, so that the next one is news
        self.assertTrue(os.path.exists(path))

    def test_no_file_and_no_end(self) -> None:
        path = self.config(self.home, "{}")
        makes: "List[Callable[[str], None]]" = [
            os.mkfifo, os.mkdir, lambda name: os.symlink("/dev/zero", name), lambda name: os.symlink(name, name)]
        for make in makes:
            os.unlink(path)
            make(path)
            provider = self.provider("s")
            provider.sync_turn("said", "x")
            self.assertEqual(self.stored(provider)[-1]["userText"], "said")
            provider.shutdown()
            if os.path.isdir(path) and not os.path.islink(path):
                os.rmdir(path)
                self.config(self.home, "{}")
        self.assertEqual(len(self.log.messages), 1, self.log.messages)

    def test_what_is_right_in_it_counts_and_what_cannot_be_told_keeps_users_apart(self) -> None:
        for text, users, top in (
            ('{"users": "together", "top_k": "many"}', "together", 8), ('{"users": 5, "top_k": 3}', "apart", 3),
            ("{torn", "apart", 8), ('{"top_k": 3}', "together", 3),
        ):
            with self.subTest(text):
                self.config(self.home, text)
                provider = self.provider("s", user_id="1")
                self.assertEqual((provider._config["users"], provider._config["top_k"]), (users, top))
                self.assertEqual("user" in provider._link.namespace, users == "apart")
                provider.shutdown()
        provider.save_config({"top_k": 4}, self.home)
        with open(os.path.join(self.home, "holdfast", "config.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), {"recall": True, "users": "together", "top_k": 4})

    def test_what_is_said_of_a_wrong_file_is_what_holds(self) -> None:
        for text, users, instead in (
            ('{"recall": "maybe"}', "together", "the defaults are used (recall is true), and users are kept together"),
            ('{"recall": [], "users": "apart"}', "apart", "the defaults are used (recall is true), and users are kept apart"),
            ('{"users": "APART"}', "apart", "users are kept apart"),
            ('{"top_k": 0}', "together", "the defaults are used (top_k is 8), and users are kept together"),
            ("{torn", "apart", "the defaults are used (recall is true, top_k is 8), and users are kept apart"),
        ):
            with self.subTest(text):
                self.log.messages.clear()
                self.config(self.home, text)
                provider = self.provider("s", user_id="1")
                self.assertEqual(provider._config["users"], users)
                self.assertEqual(len(self.log.messages), 1)
                self.assertTrue(self.log.messages[0].endswith(f". Until then {instead}"), self.log.messages[0])
                provider.shutdown()
                self.config(self.home, "{}")
                self.provider("s").shutdown()  # it is over, so that the next one is news

    def test_a_bad_file_is_repaired_by_what_is_saved(self) -> None:
        path = self.config(self.home, self.DEEP)
        provider = sim.load_provider(PLUGIN)
        provider.save_config({"users": "apart"}, self.home)
        self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o600)
        with self.assertRaisesRegex(ValueError, "top_k is a whole number"):
            provider.save_config({"top_k": [[]]}, self.home)
        for bad in (float("inf"), 10 ** 5000, {}, True):
            with self.assertRaises(ValueError):
                provider.save_config({"top_k": bad}, self.home)


if __name__ == "__main__":
    main()
