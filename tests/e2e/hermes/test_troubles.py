"""What goes wrong on users' machines: each failure is told once, with what to do, the chat goes on, and it works again when
the cause is gone."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import subprocess
import sys
import time
from typing import Any
from unittest import mock

import sim
from common import HERE, PLUGIN, HermesTest, main


class Troubles(HermesTest):
    def plugin(self) -> str:
        """A copy to spoil."""
        folder = os.path.join(self.home, "plugins", "holdfast")
        shutil.copytree(PLUGIN, folder)
        os.environ["PATH"], before = "/nowhere", os.environ["PATH"]
        self.addCleanup(lambda: os.environ.update(PATH=before))
        return folder

    def use(self, provider: Any) -> None:
        """As a host does, whatever the state of things."""
        provider.initialize("s", hermes_home=self.home, platform="cli")
        for _ in range(3):
            provider.on_turn_start(1, "x")
            self.assertEqual(provider.prefetch("x", session_id="s"), "")
            provider.sync_turn("a", "b", session_id="s")
            provider.queue_prefetch("x")
            self.assertIn("error", json.loads(provider.handle_tool_call("holdfast_search", {"query": "x"})))

    def test_programs_that_are_missing_or_may_not_be_run(self) -> None:
        folder = self.plugin()
        for name in ("holdfast-memory", "holdfast-keep"):
            path = os.path.join(folder, "lib", "holdfast", name)
            with self.subTest(name + " may not be run"):
                os.chmod(path, 0o644)
                provider = sim.load_provider(folder)
                self.assertEqual(provider.unavailable_reason(), f"{path} may not be run; run: holdfast hermes install")
                os.chmod(path, 0o755)
                self.assertEqual(provider.unavailable_reason(), "")
            with self.subTest(name + " is missing"):
                os.rename(path, path + ".away")
                self.assertEqual(provider.unavailable_reason(), f"{path} is missing; run: holdfast hermes install")
                os.rename(path + ".away", path)
                self.assertTrue(provider.is_available())

    def test_a_host_that_uses_it_nevertheless_is_told_once(self) -> None:
        folder = self.plugin()
        path = os.path.join(folder, "lib", "holdfast", "holdfast-memory")
        os.chmod(path, 0o644)
        provider = sim.load_provider(folder)
        self.use(provider)
        self.use(provider)
        self.assertEqual(len(self.log.messages), 1, self.log.messages)
        self.assertIn("may not be run", self.log.messages[0])
        self.assertIn("holdfast hermes install", self.log.messages[0])
        os.chmod(path, 0o755)
        provider.initialize("s", hermes_home=self.home)
        provider.sync_turn("after the repair", "works")
        self.assertEqual([one["userText"] for one in self.stored(provider)], ["a"] * 6 + ["after the repair"])

    def works(self, provider: Any, *turns: str) -> None:
        self.assertEqual([one["userText"] for one in self.stored(provider)], list(turns))
        self.assertIn(turns[0], sim.recall_when_open(provider, turns[0]))
        self.assertIn(turns[0], provider.handle_tool_call("holdfast_search", {"query": turns[0]}))
        sim.Host.tool_called("s", "terminal", {"c": 1}, "ok")
        provider.sync_turn("with a tool", "x")
        self.assertEqual([one["name"] for one in self.stored(provider)[-1]["toolCalls"]], ["terminal"])
        provider.shutdown()

    def test_no_free_descriptor_while_a_provider_is_made(self) -> None:
        provider = sim.load_provider(PLUGIN)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        resource.setrlimit(resource.RLIMIT_NOFILE, (128, hard))
        taken = []
        try:
            while True:
                taken.append(os.dup(0))
        except OSError:
            pass
        provider.initialize("s", hermes_home=self.home, platform="cli")
        for one in taken:
            os.close(one)
        self.assertEqual(len(self.log.messages), 1, self.log.messages)
        provider.sync_turn("after the shortage", "x")
        self.works(provider, "after the shortage")

    def test_turns_wait_on_disk_when_no_helper_can_be_had(self) -> None:
        provider = sim.load_provider(PLUGIN)
        shared = sys.modules[type(provider).__module__].shared()
        with mock.patch.object(shared._supervisor or shared.package.Supervisor, "hold", side_effect=OSError(24, "too many")):
            self.use(provider)
            self.assertEqual(len(provider._link.outbox), 3)
        self.assertEqual(len(self.log.messages), 1, self.log.messages)
        provider.sync_turn("afterwards", "x")
        self.works(provider, "a", "a", "a", "afterwards")

    def test_what_cannot_be_loaded_now_is_loaded_at_the_next_call(self) -> None:
        provider = sim.load_provider(PLUGIN)
        with mock.patch.object(sys.modules[type(provider).__module__], "shared", side_effect=ImportError("not now")):
            self.use(provider)
        self.assertEqual(len(self.log.messages), 1, self.log.messages)
        provider.sync_turn("afterwards", "x")
        self.works(provider, "afterwards")
        with mock.patch.object(sys.modules[type(provider).__module__], "shared", side_effect=ImportError("not now")):
            provider.initialize("s", hermes_home=self.home)
            provider.shutdown()
        self.assertEqual(provider.prefetch("afterwards"), "", "nothing revives what was shut down")
        self.assertEqual(provider._due, 0)

    def test_a_helper_that_fails_at_once_is_told_once_and_turns_wait(self) -> None:
        os.environ["HOLDFAST_MEMORY"] = "/bin/false"
        self.addCleanup(lambda: os.environ.pop("HOLDFAST_MEMORY", None))
        provider = self.provider("s")
        began = time.monotonic()
        self.use(provider)
        self.assertLess(time.monotonic() - began, 40.0)
        topics = [one.split("(")[0] for one in self.log.messages]
        self.assertEqual(len(set(topics)), len(topics), self.log.messages)
        self.assertTrue(all("holdfast logs hermes-memory" in one for one in self.log.messages), "where the reason is")
        provider.shutdown()
        del os.environ["HOLDFAST_MEMORY"]
        # The same process, another program: the queue goes with it.
        again = self.provider("s")
        self.assertEqual([one["userText"] for one in self.stored(again)], ["a"] * 3)
        self.assertEqual(len(self.helpers()), 1)

    def test_a_home_that_is_no_folder_or_may_not_be_written(self) -> None:
        path = os.path.join(self.home, "file")
        with open(path, "w", encoding="utf-8"):
            pass
        provider = sim.load_provider(PLUGIN)
        for _ in range(3):
            provider.initialize("s", hermes_home=path)
            provider.sync_turn("a", "b")
            self.assertEqual(provider.prefetch("x"), "")
        self.assertEqual(len([one for one in self.log.messages if one.startswith("holdfast: initialize")]), 1)
        self.assertLessEqual(len(self.log.messages), 3, self.log.messages)

    def test_a_configuration_that_is_none(self) -> None:
        os.makedirs(os.path.join(self.home, "holdfast"))
        for text in ("{torn", "[]", '{"top_k": "many"}'):
            with self.subTest(text):
                self.log.messages.clear()
                with open(os.path.join(self.home, "holdfast", "config.json"), "w", encoding="utf-8") as file:
                    file.write(text)
                provider = self.provider("s")
                provider.initialize("s", hermes_home=self.home)
                self.assertEqual(len(self.log.messages), 1, self.log.messages)
                self.assertIn("defaults are used", self.log.messages[0])
                provider.shutdown()
                os.unlink(os.path.join(self.home, "holdfast", "config.json"))
                self.provider("s").shutdown()  # it is over, so that the next one is news

    def test_a_host_that_is_killed_while_it_starts_leaves_nothing(self) -> None:
        code = (
            "import os, sys; sys.path.insert(0, sys.argv[1]); import sim; p = sim.load_provider(sys.argv[2])\n"
            "os.write(1, b'now\\n'); p.initialize('k', hermes_home=sys.argv[3]); p.sync_turn('said', 'x')\n"
            "os.write(1, b'kept\\n'); p.prefetch('x'); p.shutdown()\n"
        )
        chance = random.Random(7)
        kept = 0
        self.sample()
        for _ in range(15):
            host = subprocess.Popen([sys.executable, "-c", code, HERE, PLUGIN, self.home], stdout=subprocess.PIPE)
            assert host.stdout is not None
            self.assertEqual(host.stdout.readline(), b"now\n")
            time.sleep(chance.uniform(0, 0.05))  # anywhere in it: no event can be waited for
            host.kill()
            kept += b"kept" in host.communicate()[0]
            self.gone()
        seen = self.sampled()
        self.assertEqual((seen["most"] <= 1, seen["last"]), (True, 0))
        provider = self.provider("after")
        found = len(self.stored(provider))
        self.assertGreaterEqual(found, kept, "what sync_turn had kept is stored")
        self.assertLessEqual(found, 15)
        provider.shutdown()
        self.assertEqual(os.listdir(os.path.join(self.home, "holdfast", "queue")), [])

    def test_files_of_the_queue_that_a_crash_has_torn(self) -> None:
        folder = os.path.join(self.home, "holdfast", "queue", "0000000000001-1-dead")
        os.makedirs(folder)
        whole = {"kind": "turn", "ts": 1, "session": {"id": "s", "agent": "hermes", "namespace": {}},
                 "params": {"agent": "hermes", "sessionId": "s", "episodeId": "ep_1", "userText": "whole", "agentText": "x",
                            "toolCalls": []}}
        text = json.dumps(whole)
        files = {"lock": "", "0000000001-a.json": text[: len(text) // 2], "0000000002-b.json": "", "0000000003-c.json": text,
                 "0000000004-d.json": "[]", "0000000005-e.json": "\0" * 4096, "0000000006-f.json.tmp": text}
        for name, content in files.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(content)
        provider = self.provider("after")
        self.assertEqual([one["userText"] for one in self.stored(provider)], ["whole"])
        self.assertEqual(len(self.log.messages), 1, self.log.messages)
        self.assertIn("set aside as", self.log.messages[0])
        aside = os.listdir(os.path.join(self.home, "holdfast", "queue", "refused"))
        self.assertEqual(len(aside), 4)
        self.assertFalse(os.path.exists(folder))
        self.assertEqual((len(provider._link.outbox), provider._link.outbox._spool._adopted), (0, {}))

    def test_what_happens_again_after_it_was_well_is_told_again(self) -> None:
        provider = self.provider("s")
        hold, shared = provider._link.hold(), provider._link.shared

        def search() -> None:
            provider.handle_tool_call("holdfast_search", {"query": "x"})

        for owner, name, act, words in (
            (hold, "request", search, "holdfast_search failed"),
            (shared, "install_hooks", lambda: provider.on_turn_start(1, "x"), "on_turn_start failed"),
            (provider._link.outbox, "kick", lambda: provider.queue_prefetch("x"), "queue_prefetch failed"),
            (provider._link.outbox, "put", lambda: provider.on_delegation("a", "b"), "on_delegation failed"),
        ):
            for _ in range(2):
                act()  # well
                self.log.messages.clear()
                with mock.patch.object(owner, name, side_effect=RuntimeError("not now")):
                    act()
                    act()
                self.assertEqual(len(self.log.messages), 1, self.log.messages)
                self.assertIn(words, self.log.messages[0])

    def test_a_queue_that_may_not_be_written_is_no_question_of_room(self) -> None:
        queue = os.path.join(self.home, "holdfast", "queue")
        os.makedirs(queue)
        code = (
            "import logging, sys; sys.path.insert(0, sys.argv[1]); import sim; from common import Captured\n"
            "log = Captured(); logging.getLogger('holdfast').addHandler(log)\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('s', hermes_home=sys.argv[3])\n"
            "for n in range(3): p.sync_turn('a', 'x')\n"
            "p.shutdown(); print(log.messages)\n"
        )
        mounting = f"mount -t tmpfs -o ro none {queue} && exec \"$@\""
        ended = subprocess.run(
            ["unshare", "-m", "sh", "-c", mounting, "sh", sys.executable, "-c", code, HERE, PLUGIN, self.home],
            capture_output=True, text=True, timeout=600,
        )
        if ended.returncode != 0 and ("unshare" in ended.stderr or "mount" in ended.stderr):
            self.skipTest("no right to mount a file system: " + ended.stderr)
        self.assertEqual(ended.stdout.count("holdfast: "), 1, ended.stdout + ended.stderr)
        self.assertIn(f"may write there: {queue}", ended.stdout)
        self.assertNotIn("Make room", ended.stdout)

    def test_a_queue_on_a_full_disk(self) -> None:
        """A file system of its own for the queue, 64 KiB of it."""
        queue = os.path.join(self.home, "holdfast", "queue")
        os.makedirs(queue)
        code = (
            "import logging, os, sys; sys.path.insert(0, sys.argv[1]); import sim; from common import Captured\n"
            "log = Captured(); logging.getLogger('holdfast').addHandler(log)\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('s', hermes_home=sys.argv[3])\n"
            "filler = os.path.join(sys.argv[3], 'holdfast', 'queue', 'filler')\n"
            "p.sync_turn('before', 'x'); assert p._link.outbox.wait_empty(200)\n"
            "f = open(filler, 'wb', buffering=0)\n"
            "try:\n"
            "    while True: f.write(b'x' * 4096)\n"
            "except OSError: pass\n"
            "for n in range(3): p.sync_turn('during' + 'y' * 20000, 'x')\n"
            "assert len(log.messages) == 1, log.messages\n"
            "assert 'No space left' in log.messages[0] and 'Make room' in log.messages[0], log.messages\n"
            "assert p.prefetch('before') != ''\n"
            "f.close(); os.unlink(filler); p.sync_turn('after', 'x'); assert p._link.outbox.wait_empty(200)\n"
            "print([one['userText'] for one in p._link.hold().request('memory.list_traces', {})['traces']][::-1]); p.shutdown()\n"
            "print(os.listdir(os.path.dirname(filler)))\n"
        )
        mounting = f"mount -t tmpfs -o size=64k none {queue} && exec \"$@\""
        ended = subprocess.run(
            ["unshare", "-m", "sh", "-c", mounting, "sh", sys.executable, "-c", code, HERE, PLUGIN, self.home],
            capture_output=True, text=True, timeout=600,
        )
        if ended.returncode != 0 and ("unshare" in ended.stderr or "mount" in ended.stderr):
            self.skipTest("no right to mount a file system: " + ended.stderr)
        self.assertEqual((ended.stdout.splitlines(), ended.stderr), (["['before', 'after']", "[]"], ""))

    def test_prefetch_while_the_store_opens_is_over_at_once(self) -> None:
        opened = os.path.join(self.home, "opened")
        os.environ.update(
            HOLDFAST_MEMORY=os.path.join(HERE, "slow_helper.py"),
            SLOW_HELPER=os.path.join(PLUGIN, "lib", "holdfast", "holdfast-memory"),
            SLOW_UNTIL=opened,
        )
        self.addCleanup(lambda: os.environ.pop("HOLDFAST_MEMORY", None))
        provider = self.provider("s")
        provider.sync_turn("said while it opens", "x", session_id="s")
        self.old_enough(provider)
        for _ in range(5):
            asked = self.asked_in(provider, lambda: self.assertEqual(provider.prefetch("anything", session_id="s"), ""))
            self.assertEqual(asked, ["core.health"], "nothing that would wait for the store")
            self.assertEqual(provider.recall_status().provider_label, "Holdfast memory (recovering 25 %)")
        with open(opened, "w", encoding="utf-8"):
            pass
        self.assertEqual([one["userText"] for one in self.stored(provider)], ["said while it opens"])
        self.assertIn("said while it opens", sim.recall_when_open(provider, "opens", "s"))
        self.assertEqual(self.log.messages, [])


if __name__ == "__main__":
    main()
