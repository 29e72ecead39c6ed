"""A turn belongs to its author: in a chat with several people nobody is shown what another said, and everybody finds what was
theirs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Dict, Optional

import sim
from common import HERE, PLUGIN, HermesTest, main

Author = Dict[str, Any]
A: Author = {"id": "1", "name": "Ada", "is_bot": False}
B: Author = {"id": "2", "name": "Bob", "is_bot": False}
BOT: Author = {"id": "2", "name": "Relay", "is_bot": True}
NOBODY: Author = {"id": None, "name": None, "is_bot": False}


class Authors(HermesTest):
    users = "apart"

    def setUp(self) -> None:
        super().setUp()
        sim.load_provider(PLUGIN).save_config({"users": self.users}, self.home)

    def group(self, session: str = "group", **words: Any) -> Any:
        return self.provider(session, **{"platform": "chat", "user_id": "1", **words})

    def begin(self, provider: Any, message: str, author: Author, session: str = "group") -> None:
        provider.on_turn_start(1, message, author_id=author["id"], author_name=author["name"], author_is_bot=author["is_bot"])

    def say(self, provider: Any, user: str, author: "Optional[Author]", session: str = "group") -> None:
        """A turn as a current host has it."""
        self.begin(provider, user, author or NOBODY)
        provider.sync_turn(user, "noted", session_id=session, **({"turn_author": author} if author else {}))

    def recalled(self, provider: Any, query: str, author: Author, session: str = "group") -> str:
        """All that the author gets to see in a turn: what is put in front of it, and what the tools find."""
        self.begin(provider, query, author)
        text = str(provider.prefetch(query, session_id=session))
        found = provider.handle_tool_call("holdfast_search", {"query": query, "limit": 50})
        provider.sync_turn(query, "looked up", session_id=session, turn_author=author)
        self.assertTrue(provider._link.outbox.wait_empty(20))
        return "\n".join([text, *(one["text"] for one in json.loads(found)["memories"])])


class Apart(Authors):
    def test_words_of_another_author_are_recalled_for_that_one_alone(self) -> None:
        provider = self.group()
        for user, author in (("medlar of A", A), ("medlar of B", B), ("medlar of the bot", BOT), ("medlar of nobody", None)):
            self.say(provider, user, author)
        self.stored(provider)
        for author, own in ((A, ["of A", "of nobody"]), (B, ["of B"]), (BOT, ["of the bot"]), (NOBODY, ["of A", "of nobody"])):
            with self.subTest(author=author["name"]):
                seen = self.recalled(provider, "medlar", author)
                told = [one for one in ("of A", "of B", "of the bot", "of nobody") if "medlar " + one in seen]
                self.assertEqual(told, own)
        elsewhere = self.provider("direct", platform="chat", user_id="2")  # B alone with the agent
        self.assertIn("medlar of B", elsewhere.prefetch("medlar"))
        for other in ("of A", "of the bot", "of nobody"):
            self.assertNotIn("medlar " + other, elsewhere.prefetch("medlar"))
        other_platform = self.provider("direct", platform="mail", user_id="2")
        self.assertEqual(other_platform.prefetch("medlar"), "")

    def test_the_author_of_a_turn_whose_sync_is_late_is_that_turns_own(self) -> None:
        provider = self.group()
        manager = sim.MemoryManager(provider)
        for number in range(12):  # all of them begin before the worker comes to the first
            author = (A, B, BOT)[number % 3]
            manager.on_turn_start(number, f"loquat {number}", author_id=author["id"], author_name=author["name"],
                                  author_is_bot=author["is_bot"])
            sim.Host.tool_called("group", f"tool{number}", {}, "ok", turn=f"t{number}")
            sim.Host.turn_finished("group", f"loquat {number}", "noted", [], f"t{number}")
            manager.sync_all(f"loquat {number}", "noted", session_id="group", author=author)
        self.assertTrue(manager.settle())
        found = {one["userText"]: one["sessionId"] for one in self.stored(provider)}
        ends = ("user=chat:1", "user=chat:2", "bot=chat:2")
        self.assertEqual({text: name.partition("#")[2] for text, name in found.items()},
                         {f"loquat {number}": ends[number % 3] for number in range(12)})
        manager.drain()

    def test_a_host_that_names_the_author_only_when_a_turn_begins(self) -> None:
        provider = self.group()
        for user, author in (("of A", A), ("of B", B)):
            self.begin(provider, user, author)
            provider.sync_turn(user, "noted", session_id="group")
        provider.sync_turn("of nobody", "noted", session_id="group")
        found = {one["userText"]: one["sessionId"].partition("#")[2] for one in self.stored(provider)}
        self.assertEqual(found, {"of A": "user=chat:1", "of B": "user=chat:2", "of nobody": "user=chat:1"})

    def test_what_happens_in_the_turn_of_another_author_belongs_to_that_one(self) -> None:
        provider = self.group()
        self.say(provider, "first", A)
        self.begin(provider, "second", B)
        provider.on_memory_write("add", "user", "B is allergic to sorrel", {"session_id": "group"})
        provider.on_delegation("sorrel task", "done", child_session_id="c")
        sim.Host.tool_called("group", "of_b", {}, "sorrel", turn="t")
        sim.Host.turn_finished("group", "second", "noted", [], "t")
        provider.sync_turn("second", "noted", session_id="group", turn_author=B)
        self.say(provider, "third", A)
        traces = self.stored(provider)
        owners = {one["userText"]: one["sessionId"].partition("#")[2] for one in traces}
        self.assertEqual(owners, {"first": "user=chat:1", "second": "user=chat:2", "third": "user=chat:1",
                                  "Noted for the user profile": "user=chat:2", "sorrel task": "user=chat:2"})
        self.assertEqual({one["userText"]: [call["name"] for call in one["toolCalls"]] for one in traces}["second"], ["of_b"])
        self.assertNotIn("sorrel", self.recalled(provider, "sorrel allergic", A).replace("sorrel allergic", ""))
        get = json.loads(provider.handle_tool_call("holdfast_get", {"id": traces[1]["id"]}))
        self.assertEqual(get.get("code"), "not_found", "not even by its id")

    def test_feedback_of_another_author_is_bound_to_the_turn_before(self) -> None:
        provider = self.group()
        self.say(provider, "task of A", A)
        self.begin(provider, "Verifier feedback: failed", BOT)
        provider.sync_turn("Verifier feedback: failed", "ok", session_id="group", turn_author=BOT)
        judged = {one["userText"]: [each["polarity"] for each in self.ask(provider, "memory.get_trace", id=one["id"])["feedback"]]
                  for one in self.stored(provider)}
        self.assertEqual(judged, {"task of A": ["negative"], "Verifier feedback: failed": []})

    def test_ids_that_are_strange_stay_those_of_different_people(self) -> None:
        provider = self.group()
        authors = [{"id": one, "name": name, "is_bot": bot} for one, name, bot in (
            ("x" * 5000 + "1", None, False), ("x" * 5000 + "2", None, False), (12, None, False), (None, "Bob", False),
            (None, "Bob", True), ("Bob", None, False), ("name=Bob", None, False), ("ü\ud800", "a\0b", False), (None, None, True),
            (["1"], None, "yes"), ({}, "12", False))]
        for number, author in enumerate(authors):
            self.say(provider, f"turn {number}", author)
        found = self.stored(provider)
        self.assertEqual(len(found), len(authors), self.log.messages)
        self.assertEqual(len({one["sessionId"] for one in found}), len(authors) - 1, "a bot without a name is one bot")
        self.assertNotIn("group#user=chat:1", {one["sessionId"] for one in found})
        for number, bad in enumerate(("1", 7, [], {"id": None}, {"name": ""})):  # it says nothing: the owner's
            provider.sync_turn(f"bad {number}", "noted", session_id="group", turn_author=bad)
        self.assertEqual({one["sessionId"] for one in self.stored(provider)[len(authors):]}, {"group#user=chat:1"})

    def test_another_id_of_the_owner_is_the_owner(self) -> None:
        provider = self.group(user_id_alt="uuid-1")
        self.say(provider, "medlar one", {"id": "uuid-1", "name": "Ada", "is_bot": False})
        self.say(provider, "medlar two", A)
        self.assertEqual({one["sessionId"] for one in self.stored(provider)}, {"group#user=chat:1"})
        only = self.group("other", user_id="", user_id_alt="uuid-7")
        only.sync_turn("of another", "noted")
        self.assertEqual(self.stored(only)[-1]["sessionId"], "other#user=chat:uuid-7")

    def test_a_session_that_ends_ends_for_each_of_its_authors(self) -> None:
        provider = self.group()
        for author in (A, B, BOT):
            self.say(provider, f"of {author['name']}", author)
        provider.on_session_end([])
        self.stored(provider)
        closed = {one["id"]: bool(one["closedAt"]) for one in self.ask(provider, "memory.sessions")["sessions"]}
        self.assertEqual(closed, {"group#user=chat:1": True, "group#user=chat:2": True, "group#bot=chat:2": True})

    def test_turns_that_wait_keep_their_author_when_host_and_helper_are_killed(self) -> None:
        said = []
        for helper in ("/bin/false", ""):  # the first gets nothing through; the second dies with turns on their way
            words = [sys.executable, os.path.join(HERE, "author_host.py"), PLUGIN, self.home, "group"]
            environment = {**os.environ, **({"HOLDFAST_MEMORY": helper} if helper else {})}
            host = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env=environment)
            assert host.stdout is not None
            lines = [host.stdout.readline() for _ in range(40)]
            if not helper:
                for pid in self.helpers():
                    os.kill(pid, 9)
            host.kill()
            lines += host.stdout.readlines()
            host.communicate()
            said += [one.strip() for one in lines if one.endswith("\n")]
        provider = self.provider("later", platform="chat", user_id="9")
        provider.queue_prefetch("x")
        found = [(one["userText"], one["sessionId"]) for one in self.stored(provider, 60)]
        ends = ("user=chat:1", "user=chat:2", "bot=chat:2", "user=chat:1")
        wrong = [(text, name) for text, name in found if name != f"group#{ends[int(text[-1])]}"]
        self.assertEqual(wrong, [])
        texts = [text for text, _ in found]
        for text in set(said):
            self.assertGreaterEqual(texts.count(text), said.count(text), "none is lost")
        for user, own in (("1", "03"), ("2", "1")):
            one = self.provider("direct", platform="chat", user_id=user)
            seen = sim.recall_when_open(one, "quince")
            self.assertIn(f"of {own[0]}", seen)
            for other in set("0123") - set(own):
                self.assertNotIn(f" of {other}", seen)


class Together(Authors):
    users = "together"

    def test_users_who_share_one_memory_share_it_whoever_the_author_is_but_for_bots(self) -> None:
        provider = self.group()
        for user, author in (("medlar of A", A), ("medlar of B", B), ("medlar of the bot", BOT)):
            self.say(provider, user, author)
        self.assertEqual({one["sessionId"] for one in self.stored(provider)}, {"group", "group#bot=chat:2"})
        seen = self.recalled(provider, "medlar", B)
        self.assertEqual([one for one in ("of A", "of B", "of the bot") if f"medlar {one}" in seen], ["of A", "of B"])


if __name__ == "__main__":
    main()
