"""Whatever the host does with provider instances: never two helpers, none at the end. Each row of the table in the
protocol, sampled every 10 ms."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
import weakref
from typing import Any, List

import sim
from common import PLUGIN, PROGRAMS, HermesTest, eventually, main


class Lifecycle(HermesTest):
    def test_three_abandoned_providers_are_one_process_and_are_collected(self) -> None:
        self.sample()
        providers = [self.provider(f"s{number}") for number in range(3)]
        for number, provider in enumerate(providers):
            provider.prefetch("anything", session_id=f"s{number}")
            provider.sync_turn("abandoned words", "answer", session_id=f"s{number}")
        self.seen()
        self.assertEqual(len(self.helpers()), 1)
        ends = [weakref.ref(one) for one in providers]
        del providers, provider
        gc.collect()
        self.assertEqual([one() for one in ends], [None, None, None])
        self.gone()
        seen = self.sampled()
        self.assertEqual((seen["most"], seen["last"]), (1, 0))
        again = self.provider("s9")
        self.assertEqual(len(self.stored(again)), 3, "what was synced before they were dropped is stored")

    def test_control_a_provider_with_a_helper_of_its_own_is_seen_by_the_sampler(self) -> None:
        self.sample()
        command = [os.path.join(PROGRAMS, "holdfast-memory"), "--home=" + self.data, "--no-viewer"]
        both = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) for _ in range(2)]
        self.assertTrue(eventually(lambda: len(self.helpers()) >= 2))
        self.seen(2)
        for one in both:
            assert one.stdin is not None
            one.stdin.close()  # the one that waits for the home ends when the other has
        for one in both:
            one.wait(timeout=200)
        self.assertGreaterEqual(self.sampled()["most"], 2)

    def test_initialize_twice_is_one_process(self) -> None:
        self.sample()
        provider = self.provider()
        provider.prefetch("one")
        first = self.helpers()
        provider.initialize("s1", hermes_home=self.home, platform="cli")
        provider.prefetch("two")
        self.assertEqual(self.helpers(), first)
        self.seen()
        provider.shutdown()
        self.gone()
        self.assertEqual(self.sampled()["most"], 1)

    def test_a_killed_helper_is_replaced_once_and_recall_finds_what_was_before(self) -> None:
        self.sample()
        provider = self.provider()
        provider.sync_turn("my tea is gyokuro", "noted")
        self.stored(provider)
        for round_number in range(3):
            before = self.helpers()
            os.kill(before[0], signal.SIGKILL)
            self.assertIn("gyokuro", sim.recall_when_open(provider, "which tea is mine?"))
            self.assertEqual(len(self.helpers()), 1)
            self.assertNotEqual(self.helpers(), before)
            provider.prefetch("is it ready?")
            self.assertEqual(provider._link.ready_on, 2 + round_number, "the next kill finds it known as ready")
            provider.sync_turn(f"turn after kill {round_number}", "works")
            self.assertEqual(len(self.stored(provider)), 2 + round_number)
        self.assertEqual(provider._link.hold().status["starts"], 4)
        self.seen()
        provider.shutdown()
        self.gone()
        self.assertEqual(self.sampled()["most"], 1)

    def test_all_shut_down_leaves_nothing_and_nothing_is_revived(self) -> None:
        self.sample()
        providers = [self.provider(f"s{number}") for number in range(3)]
        providers[0].prefetch("x")
        self.seen()
        for provider in providers[:2]:
            provider.shutdown()
        self.assertEqual(len(self.helpers()), 1, "one is still held")
        providers[2].shutdown()
        providers[2].shutdown()
        self.gone()
        for provider in providers:
            self.assertEqual(provider.prefetch("anything"), "")
            provider.sync_turn("late", "words")
            provider.queue_prefetch("x")
            provider.on_session_end([])
            self.assertIn("not_initialized", provider.handle_tool_call("holdfast_search", {"query": "x"}))
        time.sleep(0.3)
        self.assertEqual(self.helpers(), [])
        self.assertEqual(self.sampled()["most"], 1)
        self.assertEqual(self.log.messages, [])

    def test_stray_json_on_the_pipe_hurts_nobody(self) -> None:
        self.sample()
        self.noisy()
        provider = self.provider()
        provider.sync_turn("words behind the noise", "heard")
        self.assertEqual(len(self.stored(provider)), 1)
        self.assertIn("behind the noise", provider.prefetch("noise words"))
        self.assertGreaterEqual(provider._link.hold().status["noise"], 5)
        self.assertEqual(provider._link.hold().status["starts"], 1)
        self.seen()
        provider.shutdown()
        self.gone()
        seen = self.sampled()
        self.assertEqual((seen["most"], seen["last"]), (1, 0))

    def test_hooks_are_installed_once_also_after_the_manager_was_rebuilt(self) -> None:
        self.sample()
        providers = [self.provider(f"s{number}") for number in range(3)]
        for provider in providers:
            provider.initialize(provider._session, hermes_home=self.home)
            provider.on_turn_start(1, "x")
        names = ("post_tool_call", "post_llm_call", "transform_tool_result")
        self.assertEqual([len(sim.Host.manager._hooks[name]) for name in names], [1, 1, 1])
        old = sim.Host.manager
        new = sim.Host.rebuild_manager()
        providers[1].on_turn_start(2, "y")
        self.assertEqual([len(new._hooks[name]) for name in names], [1, 1, 1])
        self.assertEqual([len(old._hooks[name]) for name in names], [1, 1, 1])
        # Another copy of the plugin, as a second profile or a reload has it: still one.
        copy = os.path.join(self.home, "plugins", "holdfast")
        shutil.copytree(PLUGIN, copy)
        other = sim.load_provider(copy)
        other.initialize("s7", hermes_home=os.path.join(self.home, "other"))
        self.assertIsNot(type(other), type(providers[0]))
        self.assertEqual([len(new._hooks[name]) for name in names], [1, 1, 1])
        other.shutdown()
        # The manager stays, its lists are wiped, as at a forced reload; and another home has a manager of its own.
        new.unload()
        providers[2].on_turn_start(3, "z")
        self.assertEqual([len(new._hooks[name]) for name in names], [1, 1, 1])
        with sim.profile(os.path.join(self.home, "other")):
            providers[2].on_turn_start(4, "z")
            apart = sim.Host.get_plugin_manager()
        self.assertIsNot(apart, new)
        self.assertEqual([len(apart._hooks[name]) for name in names], [1, 1, 1])
        sim.Host.tool_called("s1", "terminal", {"c": 1}, "ok")
        sim.Host.tool_called("", "nobody's", {}, "ok")
        sim.Host.tool_called("other", "stranger's", {}, "ok")
        for number, provider in enumerate(providers):
            provider.sync_turn(f"turn of s{number}", "done", session_id=f"s{number}")
        traces = {one["sessionId"]: one for one in self.stored(providers[0])}
        self.assertEqual([one["name"] for one in traces["s1"]["toolCalls"]], ["terminal"])
        self.assertEqual((traces["s0"]["toolCalls"], traces["s2"]["toolCalls"]), ([], []))
        self.seen()
        del providers, provider
        self.gone()
        seen = self.sampled()
        self.assertEqual((seen["most"], seen["last"]), (1, 0))

    def test_two_copies_of_the_plugin_on_one_home_are_one_process(self) -> None:
        copy = os.path.join(self.home, "plugins", "holdfast")
        shutil.copytree(PLUGIN, copy)
        self.sample()
        for turn in range(2):
            one, two = (sim.load_provider(folder) for folder in ((copy, PLUGIN), (PLUGIN, copy))[turn])
            for number, provider in enumerate((one, two)):
                provider.initialize("s", hermes_home=self.home)
                provider.sync_turn(f"turn {turn} through copy {number}", "x")
                provider.prefetch("through")
            self.assertEqual(len(self.helpers()), 1)
            one.shutdown()
            self.assertIn("through copy", two.prefetch("through"))
            self.assertEqual(len(self.helpers()), 1)
            self.seen()
            two.shutdown()
        self.gone()
        self.assertEqual(self.sampled()["most"], 1)
        # The copy that was chosen is gone: the other one has a helper, too.
        shutil.rmtree(copy)
        other = self.provider("s")
        self.assertEqual(len(self.stored(other)), 4)
        other.shutdown()

    def test_threads_that_load_and_drop_providers(self) -> None:
        self.sample()
        failures: "List[Any]" = []

        def churn(number: int) -> None:
            for turn in range(6):
                provider = self.provider(f"t{number}")
                provider.prefetch("thread", session_id=f"t{number}")
                provider.sync_turn(f"thread {number} turn {turn}", "fine", session_id=f"t{number}")
                if turn % 3 == 0:
                    provider.shutdown()
            if provider.recall_status() is not None and provider.recall_status().count < 0:
                failures.append(number)

        threads = [threading.Thread(target=churn, args=(number,)) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        provider = self.provider("end")
        self.seen()
        texts = [one["userText"] for one in self.stored(provider)]
        self.assertEqual(sorted(texts), sorted(f"thread {a} turn {b}" for a in range(6) for b in range(6)))
        provider.shutdown()
        del provider
        self.gone()
        self.assertEqual((failures, self.sampled()["most"]), ([], 1))

    def test_an_agent_with_review_forks_and_rebuilt_managers(self) -> None:
        self.sample()
        agent = sim.Agent(PLUGIN, self.home, "chat")
        for turn in range(15):
            agent.turn(f"question {turn} about kumquats", f"answer {turn}")
            if turn % 5 == 4:
                sim.Host.rebuild_manager()
                agent.forget()
                agent = sim.Agent(PLUGIN, self.home, "chat")
        agent.manager.drain()
        self.seen()
        traces = self.stored(agent.provider)
        self.assertEqual([one["userText"] for one in traces], [f"question {turn} about kumquats" for turn in range(15)])
        self.assertEqual([one["toolCalls"] for one in traces], [[]] * 15, "none of the reviewers' calls")
        agent.provider.shutdown()
        del agent
        self.gone()
        seen = self.sampled()
        self.assertEqual((seen["most"], seen["last"]), (1, 0))

    def test_a_finalizer_that_shuts_a_provider_down_wherever_it_comes(self) -> None:
        """The collector runs wherever something is made, also under each of our locks."""

        class Agent:
            def __init__(self, provider: Any) -> None:
                self.provider, self.me = provider, self

            def __del__(self) -> None:
                self.provider.shutdown()
                finalized.append(self.provider)

        class Collecting(str):
            """Whoever looks it up makes the collector run, for certain."""

            def __str__(self) -> str:
                return self

            def __hash__(self) -> int:
                gc.collect()
                return super().__hash__()

        finalized: "List[Any]" = []
        gc.disable()
        self.addCleanup(gc.enable)
        name = Collecting("s2")
        for number, deed in enumerate((
            lambda one: one.on_turn_start(1, "x", session_id=name),
            lambda one: one._on_tool_called(session_id="s1", tool_name=name, result="error: no"),
            lambda one: one.on_session_switch(name),
            lambda one: one.initialize(name, hermes_home=self.home),
        )):
            provider = self.provider("s1")
            Agent(provider)
            thread = threading.Thread(target=deed, args=(provider,), daemon=True)
            thread.start()
            thread.join(20)
            self.assertFalse(thread.is_alive(), "it waits for itself")
            self.assertEqual(finalized, [provider], number)
            finalized.clear()
            provider.shutdown()
        del provider
        self.gone()

    def test_the_child_of_a_fork_owns_nothing_and_harms_nothing(self) -> None:
        provider = self.provider()
        provider.sync_turn("before the fork", "yes")
        self.stored(provider)
        pid = self.helpers()
        child = os.fork()
        if child == 0:
            try:
                os._exit(0 if isinstance(provider.prefetch("fork"), str) else 1)
            except BaseException:
                os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertIn("before the fork", provider.prefetch("fork"))
        self.assertEqual(self.helpers(), pid)

    def test_a_host_that_is_killed_leaves_nothing(self) -> None:
        self.sample()
        code = (
            "import sys, time; sys.path.insert(0, sys.argv[1]); import sim\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('k', hermes_home=sys.argv[3])\n"
            "p.prefetch('x'); print('up', flush=True); time.sleep(3600)\n"
        )
        host = subprocess.Popen(
            [sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__)), PLUGIN, self.home],
            stdout=subprocess.PIPE,
        )
        assert host.stdout is not None
        self.assertEqual(host.stdout.readline(), b"up\n")
        self.assertEqual(len(self.helpers()), 1)
        self.seen()
        host.kill()
        host.communicate()
        self.gone()
        self.assertEqual(self.sampled()["most"], 1)

    def test_a_host_that_exits_without_a_word_loses_nothing(self) -> None:
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); import sim\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('e', hermes_home=sys.argv[3])\n"
            "for n in range(20): p.sync_turn(f'last words {n}', 'x')\n"
        )
        for rounds in range(1, 4):
            words = [sys.executable, "-c", code, os.path.dirname(os.path.abspath(__file__)), PLUGIN, self.home]
            ended = subprocess.run(words, capture_output=True, text=True, timeout=600)
            self.assertEqual((ended.returncode, ended.stdout, ended.stderr), (0, "", ""))
            self.gone()
            provider = self.provider("next")
            self.assertEqual(len(self.stored(provider)), 20 * rounds)
            provider.shutdown()

    def owner(self) -> int:
        """Of the store, as the kernel's lock says."""
        program = os.path.join(PROGRAMS, "holdfast")
        words = [program, "hermes", "status", "--json", "--home", self.home]
        return int(json.loads(subprocess.run(words, capture_output=True, timeout=300).stdout)["helper"]["pid"])

    def test_two_hosts_on_one_home_share_one_owner_and_neither_harms_the_other(self) -> None:
        self.sample()
        other = OtherHost(self.home)
        self.addCleanup(other.end)
        other.ask("sync the other host likes bergamot")
        owner = self.owner()
        self.assertGreater(owner, 0)
        provider = self.provider("here")
        self.assertIn("bergamot", sim.recall_when_open(provider, "who likes bergamot?"))
        provider.sync_turn("this host likes yuzu", "noted")
        self.stored(provider)
        self.assertIn("yuzu", other.ask("recall who likes yuzu?"))
        self.assertEqual(self.owner(), owner, "one owner for both")
        self.assertEqual(len(self.helpers()), 2, "one helper for each host")
        self.seen(2)
        # Its helper is killed: the other host's takes the store over, and it gets exactly one new one.
        os.kill(owner, signal.SIGKILL)
        self.assertIn("yuzu", sim.recall_when_open(provider, "who likes yuzu?"))
        self.assertIn("bergamot", other.ask("recall who likes bergamot?"))
        self.assertTrue(eventually(lambda: len(self.helpers()) == 2), self.helpers())
        self.assertEqual(provider._link.hold().status["starts"], 1, "ours was left alone")
        # And the other host goes: nobody here notices.
        other.end()
        self.assertTrue(eventually(lambda: len(self.helpers()) == 1), self.helpers())
        self.assertIn("bergamot", sim.recall_when_open(provider, "who likes bergamot?"))
        provider.sync_turn("alone now", "yes")
        self.assertEqual([one["userText"] for one in self.stored(provider)],
                         ["the other host likes bergamot", "this host likes yuzu", "alone now"])
        self.assertEqual(provider._link.hold().status["starts"], 1)
        provider.shutdown()
        self.gone()
        seen = self.sampled()
        self.assertEqual((seen["most"], seen["last"]), (2, 0), "never more than one for each host")


class OtherHost:
    """A host in a process of its own that does as it is told, line by line."""

    CODE = (
        "import sys; sys.path.insert(0, sys.argv[1]); import sim\n"
        "p = sim.load_provider(sys.argv[2]); p.initialize('there', hermes_home=sys.argv[3])\n"
        "for line in sys.stdin:\n"
        "    word, _, rest = line.strip().partition(' ')\n"
        "    if word == 'recall': answer = sim.recall_when_open(p, rest)\n"
        "    else: answer = p.sync_turn(rest, 'noted') or p._link.outbox.wait_empty(200)\n"
        "    print(repr(answer), flush=True)\n"
    )

    def __init__(self, home: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", self.CODE, os.path.dirname(os.path.abspath(__file__)), PLUGIN, home],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1,
        )

    def ask(self, line: str) -> str:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(line + "\n")
        return self._process.stdout.readline()

    def end(self) -> None:
        self._process.kill()
        self._process.communicate()


if __name__ == "__main__":
    main()
