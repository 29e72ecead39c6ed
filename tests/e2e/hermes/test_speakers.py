"""Whose words are whose when the host does not say it where they are stored: after a crash, in a transcript, at a sync without an
author, between turns. What cannot be told is kept and shown to nobody."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any, Dict, List, Optional, Tuple

import sim
from common import HERE, PLUGIN, HermesTest, main

A: "Dict[str, Any]" = {"author_id": "1", "author_name": "Ada", "author_is_bot": False}
B: "Dict[str, Any]" = {"author_id": "2", "author_name": "Bob", "author_is_bot": False}
BOT: "Dict[str, Any]" = {"author_id": "9", "author_name": "Relay", "author_is_bot": True}
NAMES = {"#user=chat:1": "A", "#user=chat:2": "B", "#bot=chat:9": "bot", "#user=chat:#unknown=author": "nobody", "": "all"}
Message = Dict[str, Any]
# Does what it is told in a process of its own, which then ends without a word.
CHILD = """
import json, os, signal, sys
sys.path.insert(0, sys.argv[1])
import logging, sim
logging.disable(logging.CRITICAL)
p = sim.load_provider(sys.argv[2])
p.initialize('group', hermes_home=sys.argv[3], **json.loads(sys.argv[4]))
for name, args, words in json.loads(sys.argv[5]):
    getattr(p, name)(*args, **words)
p._link.outbox.wait_empty(200)
os.kill(os.getpid(), signal.SIGKILL)
"""


def user(text: str) -> Message:
    return {"role": "user", "content": text}


def assistant(text: str) -> Message:
    return {"role": "assistant", "content": text}


def begin(text: str, author: "Dict[str, Any]") -> "Tuple[str, List[Any], Dict[str, Any]]":
    return "on_turn_start", [1, text], author


def sync(text: str, answer: str, author: "Optional[Dict[str, Any]]" = None) -> "Tuple[str, List[Any], Dict[str, Any]]":
    told = {"turn_author": {name[7:]: value for name, value in author.items()}} if author else {}
    return "sync_turn", [text, answer], {"session_id": "group", **told}


def compress(*messages: Message) -> "Tuple[str, List[Any], Dict[str, Any]]":
    return "on_pre_compress", [list(messages)], {"require_checkpoint": True}


class Speakers(HermesTest):
    users = "apart"

    def setUp(self) -> None:
        super().setUp()
        sim.load_provider(PLUGIN).save_config({"users": self.users}, self.home)

    def group(self, session: str = "group", **words: Any) -> Any:
        return self.provider(session, **{"platform": "chat", "user_id": "1", **words})

    def elsewhere(self, *calls: "Tuple[str, List[Any], Dict[str, Any]]", **words: Any) -> None:
        """In another process of the host, which is killed at the end."""
        words = {"platform": "chat", "user_id": "1", **words}
        done = subprocess.run([sys.executable, "-c", CHILD, HERE, PLUGIN, self.home, json.dumps(words), json.dumps(calls)],
                              timeout=600)
        self.assertEqual(done.returncode, -9)

    def here(self, provider: Any, *calls: "Tuple[str, List[Any], Dict[str, Any]]") -> None:
        for name, args, words in calls:
            getattr(provider, name)(*args, **words)

    def anew(self) -> None:
        """With nothing remembered."""
        self.gone()
        os.rename(os.path.join(self.home, "holdfast"), os.path.join(self.home, f"before {len(os.listdir(self.home))}"))
        sim.load_provider(PLUGIN).save_config({"users": self.users}, self.home)

    def whose(self, provider: Any) -> "List[Tuple[str, str, str]]":
        """All that is stored, in the order of its words."""
        return sorted((NAMES.get(one["sessionId"][len(one["sessionId"].partition("#")[0]):], one["sessionId"]),
                       one["userText"], one["agentText"]) for one in self.stored(provider))


class Evidence(Speakers):
    def test_what_was_begun_before_a_crash_is_its_authors_and_nobody_elses(self) -> None:
        self.elsewhere(begin("medlar of A", A), sync("medlar of A", "ok", A), begin("secret of B", B))
        told = [user("medlar of A"), assistant("ok"), user("secret of B"), assistant("half of it")]
        for _ in range(2):  # and once more, by a process that did not hear of it either
            self.elsewhere(compress(*told))
        provider = self.group("direct")
        self.assertEqual(self.whose(provider), [("A", "medlar of A", "ok"), ("B", "secret of B", "half of it")])
        self.assertEqual(sim.recall_when_open(provider, "secret"), "")
        self.assertIn("secret of B", sim.recall_when_open(self.group("direct", user_id="2"), "secret"))

    def test_whoever_the_session_belongs_to_in_the_next_process(self) -> None:
        self.elsewhere(begin("secret of B", B), begin("secret of A", A))
        self.elsewhere(compress(user("secret of B"), assistant("b"), user("secret of A"), assistant("a")), user_id="3")
        self.assertEqual(self.whose(self.group("x")), [("A", "secret of A", "a"), ("B", "secret of B", "b")])

    def test_a_bots_words_are_no_persons(self) -> None:
        self.elsewhere(begin("words of the bot", BOT))
        self.elsewhere(compress(user("words of the bot"), assistant("half")))
        self.assertEqual(self.whose(self.group("x")), [("bot", "words of the bot", "half")])

    def test_words_of_which_nothing_is_known_are_shown_to_nobody_also_when_there_is_more_of_them(self) -> None:
        provider = self.group()
        self.here(provider, begin("medlar of A", A), sync("medlar of A", "ok", A))
        for parts in (["half"], ["half", "more"], ["half", "more", "all"]):
            told = [user("medlar of A"), assistant("ok"), user("secret of somebody"), *map(assistant, parts)]
            self.here(provider, compress(*told))
        self.assertEqual(self.whose(provider), [("A", "medlar of A", "ok"),
                                                ("nobody", "secret of somebody", "half\n\nmore\n\nall")])
        for number in ("1", "2", ""):
            self.assertEqual(sim.recall_when_open(self.group("direct", user_id=number), "secret"), "")

    def test_where_only_one_person_speaks_they_are_theirs(self) -> None:
        told = compress(user("a question from before"), assistant("an answer"))
        for words in ({"platform": "cli", "user_id": ""}, {"chat_type": "dm"}):
            with self.subTest(**words):
                self.anew()
                self.elsewhere(told, **words)
                one = self.group("direct", **words)
                self.assertIn("a question from before", sim.recall_when_open(one, "question"))
                one.shutdown()
        self.elsewhere(begin("by B after all", B), sync("by B after all", "ok", B), chat_type="dm")
        self.elsewhere(compress(user("another thing"), assistant("an answer")), chat_type="dm")
        self.assertIn(("nobody", "another thing", "an answer"), self.whose(self.group("x")))

    def test_the_same_words_of_two_are_told_apart_by_their_order_or_not_at_all(self) -> None:
        first, second = [user("continue"), assistant("secret of A")], [user("continue"), assistant("secret of B")]
        for told, expected in (([*first, *second], ["A", "B"]), (first, ["nobody"]), (second, ["nobody"])):
            with self.subTest(expected):
                self.anew()
                self.elsewhere(begin("continue", A), begin("continue", B))
                self.elsewhere(compress(*told))
                found = self.whose(self.group("x"))
                self.assertEqual([whose for whose, _, _ in found], expected)
                self.assertTrue(all(answer[-1] == whose for whose, _, answer in found if whose != "nobody"))
        # And when both were interrupted in this process, and another turn was synced since.
        self.anew()
        provider = self.group()
        self.here(provider, begin("continue", A), begin("continue", B), begin("next", A), sync("next", "ok", A))
        self.here(provider, compress(*first, *second, user("next"), assistant("ok")))
        self.assertEqual(self.whose(provider), [("A", "continue", "secret of A"), ("A", "next", "ok"),
                                                ("B", "continue", "secret of B")])

    def test_a_turn_that_was_stored_for_another_is_not_taken_for_it(self) -> None:
        self.elsewhere(begin("continue", A), sync("continue", "ok", A), begin("continue", B))
        told = [user("continue"), user("continue"), assistant("ok")]  # of B, who got no answer; then of A
        for order in (told, [*told[1:], told[0]]):
            self.elsewhere(compress(*order))
        self.assertEqual(self.whose(self.group("x")), [("A", "continue", "ok"), ("B", "continue", "")])

    def test_a_host_that_names_the_author_only_at_the_sync(self) -> None:
        provider = self.group()
        told = [user("secret of B"), assistant("half")]
        self.here(provider, begin("secret of B", {}), compress(*told))
        self.assertEqual(self.whose(provider), [("nobody", "secret of B", "half")], "before it is known")
        self.here(provider, sync("secret of B", "all", B))
        self.assertEqual(self.whose(provider), [("B", "secret of B", "half\n\nall")])

    def test_what_is_known_of_speakers_is_removed_and_bounded(self) -> None:
        provider = self.group()
        folder = os.path.join(self.home, "holdfast", "speakers")
        self.here(provider, begin("of A", A), begin("interrupted", B), begin("of B", B))
        self.assertEqual(len(os.listdir(folder)), 3)
        self.assertEqual(os.stat(folder).st_mode & 0o77, 0)
        self.assertNotIn("interrupted", "".join(os.listdir(folder)))
        self.here(provider, sync("of A", "ok"), sync("of B", "ok", B))
        self.assertEqual(len(os.listdir(folder)), 1, "the one that was interrupted")
        self.here(provider, compress(user("interrupted"), assistant("half")))
        self.assertEqual(os.listdir(folder), [])
        module = sys.modules[type(provider).__module__.rpartition(".")[0] + ".speakers"]
        before, module._LOOK, module.MOST = (module._LOOK, module.MOST), 1, 5  # type: ignore[attr-defined]
        try:
            self.here(provider, *(begin(f"turn {number}", A) for number in range(20)))
        finally:
            module._LOOK, module.MOST = before  # type: ignore[attr-defined]
        self.assertLessEqual(len(os.listdir(folder)), 6)

    def test_a_record_that_cannot_be_written_or_read_shows_nothing_to_anybody(self) -> None:
        provider = self.group()
        folder = os.path.join(self.home, "holdfast", "speakers")
        with open(folder, "w", encoding="utf-8"):
            pass
        self.here(provider, begin("secret of B", B))
        self.assertEqual(len(self.log.messages), 1, self.log.messages)
        self.assertIn("cannot be written down", self.log.messages[0])
        self.elsewhere(compress(user("secret of B"), assistant("half")))
        self.here(provider, sync("secret of B", "all"))
        self.assertEqual(self.whose(provider), [("B", "secret of B", "all"), ("nobody", "secret of B", "half")])
        os.unlink(folder)
        self.here(provider, begin("torn", B))
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write("{")
        self.elsewhere(compress(user("torn"), assistant("half")))
        self.assertIn(("nobody", "torn", "half"), self.whose(provider))


class Syncs(Speakers):
    def finished(self, text: str, answer: str, turn: str = "") -> None:
        sim.Host.turn_finished("group", text, answer, [], turn)

    def test_the_same_words_of_two_where_the_author_is_named_only_at_the_begin(self) -> None:
        provider = self.group()
        self.here(provider, begin("continue", A), begin("continue", B))
        self.finished("continue", "the secret of B's task")  # A was interrupted
        self.here(provider, sync("continue", "the secret of B's task"))
        self.assertEqual(self.whose(provider), [("B", "continue", "the secret of B's task")])
        for answer, author in (("a", A), ("b", B)):  # both are late
            self.here(provider, begin("go on", author))
            self.finished("go on", answer)
        self.here(provider, sync("go on", "a"), sync("go on", "b"))
        self.assertEqual([one for one in self.whose(provider) if one[1] == "go on"], [("A", "go on", "a"), ("B", "go on", "b")])

    def test_the_same_words_of_two_where_the_host_does_not_tell_which_turn_was_finished(self) -> None:
        provider = self.group()
        self.here(provider, begin("continue", A), begin("continue", B), sync("continue", "whose?"))
        self.assertEqual(self.whose(provider), [("nobody", "continue", "whose?")])

    def test_an_author_who_is_named_is_right_whatever_else_has_these_words(self) -> None:
        provider = self.group()
        self.here(provider, begin("continue", A), begin("continue", B), sync("continue", "b", B))
        told = [user("continue"), assistant("half of A"), user("continue"), assistant("b")]
        self.here(provider, compress(*told), begin("continue", A), sync("continue", "a", A))
        self.assertEqual(self.whose(provider), [("A", "continue", "a"), ("A", "continue", "half of A"), ("B", "continue", "b")])

    def test_words_that_are_in_another_turn_are_not_that_turn(self) -> None:
        provider = self.group()
        self.here(provider, begin("go", A), begin("going to tell it: go", B), sync("go", "a"), sync("go", "not of B's turn"))
        self.here(provider, sync("going to tell it: go", "b"))
        self.assertEqual(self.whose(provider), [("A", "go", "a"), ("B", "going to tell it: go", "b"),
                                                ("nobody", "go", "not of B's turn")])

    def test_what_was_stored_early_for_one_is_not_put_into_the_turn_of_another(self) -> None:
        provider = self.group()
        self.here(provider, begin("continue", A), compress(user("continue"), assistant("secret of A")))
        self.here(provider, begin("continue", B), sync("continue", "b", B))
        self.assertEqual(self.whose(provider), [("A", "continue", "secret of A"), ("B", "continue", "b")])

    def test_a_sync_that_comes_when_its_session_was_left(self) -> None:
        for reset in (True, False):
            with self.subTest(reset=reset):
                provider = self.group()
                self.here(provider, begin(f"secret of B {reset}", B))
                provider.on_session_switch(f"next {reset}", parent_session_id="group", reset=reset)
                self.here(provider, sync(f"secret of B {reset}", "b"))
                self.assertIn(("B", f"secret of B {reset}", "b"), self.whose(provider))
                provider.shutdown()

    def test_tool_calls_and_thoughts_of_a_turn_that_came_after_it_are_not_its_own(self) -> None:
        for ids in (True, False):
            with self.subTest(ids=ids):
                provider = self.group()
                for text, author in (("of A", A), ("of B", B)):  # the worker is late
                    self.here(provider, begin(text, author))
                    turn = text if ids else ""
                    sim.Host.tool_called("group", "tool " + text, {"secret": text}, "ok", turn=turn)
                    history = [user(text), {"role": "assistant", "content": "x", "reasoning": "thoughts " + text}]
                    sim.Host.turn_finished("group", text, "x", history, turn)
                self.here(provider, sync("of A", "x", A), sync("of B", "x", B))
                for one in self.stored(provider)[-2:]:
                    self.assertEqual(([call["name"] for call in one["toolCalls"]], one["agentThinking"]),
                                     (["tool " + one["userText"]], "thoughts " + one["userText"]))
                provider.shutdown()

    def test_tool_calls_of_a_turn_that_was_interrupted_are_not_the_next_ones(self) -> None:
        provider = self.group()
        self.here(provider, begin("of A", A))
        sim.Host.tool_called("group", "secret", {}, "of A")
        self.here(provider, begin("of B", B))
        sim.Host.tool_called("group", "own", {}, "of B")
        messages = [user("of B"), assistant("x")]
        provider.sync_turn("of B", "x", session_id="group", messages=messages, turn_author={"id": "2"})
        self.assertEqual([call["name"] for call in self.stored(provider)[0]["toolCalls"]], ["own"])

    def test_messages_to_which_another_turn_has_come_are_not_read(self) -> None:
        provider = self.group()
        self.here(provider, begin("of A", A), begin("of B", B))
        call = {"id": "m", "function": {"name": "secret", "arguments": "{}"}}
        messages = [user("of A"), assistant("x"), user("of B"), {"role": "assistant", "tool_calls": [call]}]
        provider.sync_turn("of A", "x", session_id="group", messages=messages, turn_author={"id": "1"})
        self.assertEqual(self.stored(provider)[0]["toolCalls"], [])

    def test_what_is_noted_beside_a_turn_where_several_speak_is_nobodys(self) -> None:
        provider = self.group()
        self.here(provider, begin("of A", A), sync("of A", "x", A), begin("of B", B), sync("of B", "x", B))
        provider.on_memory_write("add", "user", "allergic to sorrel", {"session_id": "group"})
        provider.on_delegation("sorrel task", "done", child_session_id="c")
        self.here(provider, begin("of A again", A))
        provider.on_memory_write("add", "user", "fond of sorrel", {"session_id": "group", "write_origin": "background_review"})
        provider.on_memory_write("add", "user", "A grows sorrel", {"session_id": "group", "write_origin": "assistant_tool"})
        found = {(whose, answer) for whose, _, answer in self.whose(provider) if answer != "x"}
        self.assertEqual(found, {("nobody", "allergic to sorrel"), ("nobody", "done"), ("nobody", "fond of sorrel"),
                                 ("A", "A grows sorrel")})
        alone = self.group("alone", user_id="7")
        alone.on_memory_write("add", "user", "likes quinces", {"session_id": "alone"})
        self.assertEqual(self.stored(alone)[-1]["sessionId"], "alone#user=chat:7")

    def test_feedback_on_a_turn_from_before_this_process_is_bound_to_the_last_one_of_all(self) -> None:
        self.elsewhere(begin("of A", A), sync("of A", "x", A), begin("of B", B), sync("of B", "x", B))
        provider = self.group()
        self.here(provider, begin("Verifier feedback: failed", A))
        judged = {one["userText"]: len(self.ask(provider, "memory.get_trace", id=one["id"])["feedback"])
                  for one in self.stored(provider)}
        self.assertEqual(judged, {"of A": 0, "of B": 1})


class Words(Speakers):
    users = "together"
    AROUND = (
        "[10:30] {}", "10:30 {}", "2026-09-01 10:30:05 {}", "[Mon 10:30 PM] [Bob] {}", "[Replying to: \"a\"]\n\n{}",
        "<memory-context>x</memory-context>\n\n{}", "{}\n\n<memory-context>\nx\n</memory-context>", "{}\n\n[a file was attached]",
    )

    def test_a_turn_is_there_once_when_the_host_has_put_something_around_its_words(self) -> None:
        provider = self.provider("group")
        for number, around in enumerate(self.AROUND):
            for begun in (True, False):
                for where in ("transcript", "begin", "sync"):
                    text = f"plant medlars {number} {begun} {where}"
                    whole = {name: around.format(text) if name == where else text for name in ("transcript", "begin", "sync")}
                    with self.subTest(around=around, begun=begun, where=where):
                        if begun:
                            self.here(provider, begin(whole["begin"], {"author_id": None}))
                        self.here(provider, compress(user(whole["transcript"]), assistant("half")), sync(whole["sync"], "done"))
                        self.assertEqual([one["agentText"] for one in self.stored(provider) if text in one["userText"]],
                                         ["half\n\ndone"])

    def test_words_that_are_only_alike_are_another_turn(self) -> None:
        provider = self.provider("group")
        for one, other in (("go", "please go"), ("10:30 meeting", "11:30 meeting"), ("go", "the secret plan\ngo"),
                           ("[a] look", "[b] look"), ("x", "x [y]")):
            with self.subTest(one=one):
                before = len(self.stored(provider))
                self.here(provider, begin(one, {"author_id": None}), compress(user(other), assistant("half " + other)))
                self.here(provider, sync(one, "done " + other))
                self.assertEqual(len(self.stored(provider)), before + 2)


class WordsApart(Speakers):
    def test_what_stands_around_words_says_nothing_about_their_author(self) -> None:
        self.elsewhere(begin("go", B))
        provider = self.group()
        self.here(provider, begin("go", A), compress(user("[Ada] go"), assistant("half of B")))
        self.assertEqual([whose for whose, _, _ in self.whose(provider)], ["nobody"])

    def test_a_crash_in_a_turn_that_stands_in_the_transcript_with_something_around_it(self) -> None:
        self.elsewhere(begin("secret of B", B))
        self.elsewhere(compress(user("[10:30] secret of B"), assistant("half")))
        self.assertEqual(self.whose(self.group("x")), [("B", "[10:30] secret of B", "half")])


class Together(Speakers):
    users = "together"

    def test_each_turn_says_who_wrote_it_and_bots_are_apart(self) -> None:
        provider = self.group()
        for text, author in (("medlar of A", A), ("medlar of B", B), ("medlar of the bot", BOT)):
            self.here(provider, begin(text, author), sync(text, "ok", author))
        self.here(provider, sync("medlar of nobody", "ok"))
        self.here(provider, begin("half of B", B), compress(user("half of B"), assistant("b")))
        self.elsewhere(begin("before the crash", B), begin("bot before the crash", BOT))
        self.elsewhere(compress(user("before the crash"), assistant("x"), user("bot before the crash"), assistant("y")))
        people = {"1": ("1", "Ada", False), "2": ("2", "Bob", False), "9": ("9", "Relay", True), "": ("1", "", False)}
        expected = {"medlar of A": ("all", "1"), "medlar of B": ("all", "2"), "medlar of the bot": ("bot", "9"),
                    "medlar of nobody": ("all", ""), "half of B": ("all", "2"), "before the crash": ("all", "2"),
                    "bot before the crash": ("bot", "9")}
        found = {one["userText"]: (one["sessionId"], one["meta"]) for one in self.stored(provider)}
        self.assertEqual(set(found), set(expected))
        for text, (whose, number) in expected.items():
            session, meta = found[text]
            with self.subTest(text):
                self.assertEqual(NAMES[session[len("group"):]], whose)
                self.assertEqual(meta, {"platform": "chat", "author": dict(zip(("id", "name", "bot"), people[number]))})
        person = sim.recall_when_open(self.group("other", user_id="3"), "medlar")
        self.assertEqual([who for who in ("A", "B", "the bot", "nobody") if f"of {who}" in person], ["A", "B", "nobody"])
        self.here(provider, begin("medlar", BOT))
        self.assertEqual([who for who in ("A", "B", "the bot") if f"medlar of {who}" in provider.prefetch("medlar")], ["the bot"])

    def test_a_host_that_says_nothing_of_authors_stores_nothing_of_them(self) -> None:
        provider = self.provider("group")
        self.here(provider, begin("plain", {}), sync("plain", "ok"))
        self.assertEqual(self.stored(provider)[0]["meta"], {"platform": "cli"})
        self.assertFalse(os.path.exists(os.path.join(self.home, "holdfast", "speakers")))


if __name__ == "__main__":
    main()
