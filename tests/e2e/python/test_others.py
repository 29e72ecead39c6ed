"""Slots, the registry, the parent watch and host hooks from Python."""

from __future__ import annotations

import copy
import gc
import glob
import os
import pickle
import re
import select
import subprocess
import sys
import threading
import unittest
import weakref

import holdfast
from common import ROOT, HoldfastTest, environment, eventually
from holdfast import _support
from holdfast.errors import error_of


class Slots(HoldfastTest):
    def test_one_owner_at_a_time(self) -> None:
        with holdfast.Slot.acquire(self.home, "writer", argv=["me"]) as slot:
            self.assertEqual(slot.epoch, 1)
            slot.progress(1, 3, "opening")
            slot.ready()
            info = holdfast.query(self.home, "writer")
            self.assertEqual((info["state"], info["pid"], info["phase"]), ("owned", os.getpid(), "ready"))
            code = "import sys, holdfast\ntry: holdfast.Slot.acquire(sys.argv[1], 'writer')\nexcept holdfast.Held as e: print(e.code.name)"
            done = self.run_python(code, self.home)
            self.assertEqual((done.stdout, done.stderr), ("HELD\n", ""))
            attached = "import sys, holdfast\nprint(holdfast.Slot.acquire_or_attach(sys.argv[1], 'writer', if_held='attach')[1]['pid'])"
            self.assertEqual(self.run_python(attached, self.home).stdout, f"{os.getpid()}\n")
        self.assertEqual(holdfast.wait_for_slot(self.home, "writer", "free", 5)["state"], "free")
        self.assertEqual([one["name"] for one in holdfast.list_slots(self.home)], ["writer"])
        self.assertEqual(holdfast.Slot.acquire(self.home, "writer").epoch, 2)

    def test_a_dropped_slot_is_free(self) -> None:
        slot = holdfast.Slot.acquire(self.home, "dropped")
        del slot
        gc.collect()
        self.assertEqual(holdfast.query(self.home, "dropped")["state"], "free")

    def test_an_owner_is_stopped(self) -> None:
        code = "import sys, time, holdfast\ns = holdfast.Slot.acquire(sys.argv[1], 'x'); s.ready(); print('ok', flush=True); time.sleep(3600)"
        owner = subprocess.Popen(
            [sys.executable, "-c", code, self.home], env=environment(self.home), stdout=subprocess.PIPE
        )
        assert owner.stdout is not None
        self.assertEqual(owner.stdout.readline(), b"ok\n")
        self.assertTrue(holdfast.stop_slot(self.home, "x", grace=2))
        owner.wait(100)
        owner.stdout.close()
        self.assertFalse(holdfast.stop_slot(self.home, "x"))


class Registries(HoldfastTest):
    def start(self) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(["/bin/sleep", "3600"])

    def test_sessions_end_by_one_call(self) -> None:
        with holdfast.Registry("test-host", directory=os.path.join(self.home, "reg")) as registry:
            children = [self.start() for _ in range(3)]
            for child in children:
                registry.register(child.pid, label="worker", session="s1", task="t1")
            self.assertEqual(len(registry.find("s1")), 3)
            self.assertEqual(len(registry.find_task("t1")), 3)
            self.assertTrue(registry.has_active("s1"))
            report = registry.end_session("s1", grace=1)
            self.assertEqual((len(report["ended"]), report["survivors"]), (3, []))
            for child in children:
                child.wait(50)
            self.assertFalse(registry.has_active("s1"))
            self.assertEqual(registry.expire(registry.clock_ms() + 10**9), 3)

    def test_the_next_start_of_the_host_decides(self) -> None:
        directory = os.path.join(self.home, "reg")
        child = self.start()
        first = holdfast.Registry("test-host", directory=directory)
        first.register(child.pid, label="left", session="s")
        first.close()
        with holdfast.Registry("test-host", directory=directory) as again:
            report = again.after_restart(lambda entry: "adopt" if entry["label"] == "left" else "reap")
            self.assertEqual([one["label"] for one in report["adopted"]], ["left"])
            entry = again.all()[0]
            self.assertEqual(again.get(entry["id"])["pid"], child.pid)
            with self.assertRaises(ZeroDivisionError):
                first2 = holdfast.Registry("test-host2", directory=directory)
                first2.register(child.pid, label="x")
                first2.close()
                holdfast.Registry("test-host2", directory=directory).after_restart(lambda entry: 1 / 0)
            child.kill()
            self.assertTrue(select.select([again], [], [], 50)[0])
            child.wait(50)
            self.assertEqual([one["pid"] for one in again.collect()], [child.pid])


class Watches(HoldfastTest):
    def test_a_worker_notices_that_its_parent_is_gone(self) -> None:
        worker = "import holdfast, time, sys\nw = holdfast.ParentWatch(lambda why: (print(why, flush=True), holdfast.ParentWatch.exit_now(why)))\nprint('watching', flush=True)\ntime.sleep(3600)"
        parent = f"import subprocess, sys, os, holdfast\nenv = dict(os.environ, HOLDFAST_PARENT=holdfast.describe_self())\np = subprocess.Popen([sys.executable, '-c', {worker!r}], env=env)\np.wait()"
        process = subprocess.Popen(
            [sys.executable, "-c", parent], env=environment(self.home), stdout=subprocess.PIPE
        )
        assert process.stdout is not None
        self.assertEqual(process.stdout.readline(), b"watching\n")
        process.kill()
        process.wait(50)
        self.assertEqual(process.stdout.readline(), b"parent_gone\n")
        process.stdout.close()

    def test_idleness(self) -> None:
        fired = []
        watch = holdfast.ParentWatch(fired.append, idle=0.2, init_is_parent=True)
        watch.touch()
        self.assertTrue(eventually(lambda: fired == ["idle"]))
        watch.close()
        with self.assertRaises(holdfast.Closed):
            watch.touch()


class Own(holdfast.RemoteError):
    """As a user may make one."""

    def __init__(self) -> None:
        super().__init__(-1, "own", None, 0)


class Errors(unittest.TestCase):
    def test_each_can_be_pickled_and_copied(self) -> None:
        ours = [one for one in vars(holdfast).values() if isinstance(one, type) and issubclass(one, holdfast.HoldfastError)]
        self.assertGreater(len(ours), 9)
        errors = [one("why") for one in ours]
        errors += [error_of(code, "why", 28) for code in (*holdfast.ErrorCode, 999)]
        for error in errors:
            for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
                self.assertIs(type(again), type(error))
                self.assertEqual((str(again), again.args, again.code, again.errno), ("why", error.args, error.code, error.errno))
        remote = holdfast.RemoteError(-5, "bad", {"x": [1]}, 3)
        remote.noted = "here"
        for error in (remote, Own()):
            for again in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
                self.assertEqual((type(again), str(again), vars(again)), (type(error), str(error), vars(error)))


class Options(unittest.TestCase):
    def test_the_kinds_are_those_that_the_library_looks_for(self) -> None:
        ways = {"text": "_TEXTS", "choice": "_TEXTS", "number": "_NUMBERS", "millis": "_NUMBERS", "flag": "_FLAGS", "list": "_LISTS"}
        wanted = {table: set() for table in ways.values()}
        for path in glob.glob(os.path.join(ROOT, "src", "capi", "*.cpp")):
            with open(path, encoding="utf-8") as file:
                for way, name in re.findall(r'read\.(\w+)\(\s*"(\w+)",', file.read()):
                    wanted[ways[way]].add(name)
        self.assertGreater(len(wanted["_TEXTS"]), 10)
        self.assertEqual(wanted, {table: set(getattr(_support, table)) for table in wanted})


class Hooks(unittest.TestCase):
    class Provider:
        def __init__(self) -> None:
            self.heard = []

        def on_tool(self, **event: object) -> str:
            self.heard.append(event["tool"])
            return "heard"

    def setUp(self) -> None:
        self.router = holdfast.HookRouter(lambda **event: event.get("session_id"))

    def test_once_per_live_list_and_again_when_it_was_rebuilt(self) -> None:
        hooks = []
        provider = self.Provider()
        self.router.listen("tool", "s1", provider.on_tool)
        self.assertEqual([self.router.install("tool", hooks) for _ in range(5)], [True, False, False, False, False])
        self.assertEqual(len(hooks), 1)
        hooks = []  # the host rebuilt it
        self.assertTrue(self.router.install("tool", hooks))
        self.assertEqual(hooks[0](session_id="s1", tool="a"), "heard")
        self.assertEqual(provider.heard, ["a"])
        self.assertTrue(self.router.uninstall("tool", hooks))
        self.assertEqual(hooks, [])

    def test_events_go_to_the_newest_living_listener_of_their_session(self) -> None:
        old, new, other = self.Provider(), self.Provider(), self.Provider()
        self.router.listen("tool", "s1", old.on_tool)
        self.router.listen("tool", "s1", new.on_tool)
        self.router.listen("tool", "s2", other.on_tool)
        self.router.dispatch("tool", session_id="s1", tool="a")
        self.router.dispatch("tool", session_id="s2", tool="b")
        self.router.dispatch("tool", session_id="s3", tool="c")
        self.assertEqual((old.heard, new.heard, other.heard, self.router.unheard), ([], ["a"], ["b"], 1))
        gone = weakref.ref(new)
        del new
        gc.collect()
        self.assertIsNone(gone(), "the router holds nobody")
        self.router.dispatch("tool", session_id="s1", tool="d")
        self.assertEqual(old.heard, ["d"])

    def test_ambiguous_events_are_dropped_counted_and_warned_about(self) -> None:
        one, two = self.Provider(), self.Provider()
        self.router.listen("tool", "s1", one.on_tool)
        self.router.dispatch("tool", tool="certain")
        self.assertEqual(one.heard, ["certain"])
        self.router.listen("tool", "s2", two.on_tool)
        with self.assertLogs("holdfast", "WARNING"):
            self.router.dispatch("tool", tool="whose")
        self.assertEqual((one.heard, two.heard, self.router.dropped_ambiguous), (["certain"], [], 1))
        self.router.forget("s2")
        self.router.dispatch("tool", tool="certain again")
        self.assertEqual(one.heard, ["certain", "certain again"])

    def test_a_finalizer_that_comes_in_between_forgets_its_session(self) -> None:
        """The collector runs wherever something is made, also inside of the router."""
        router, finalized = self.router, []

        class Dropped:
            def __init__(self, session: str) -> None:
                self.session, self.me = session, self

            def __del__(self) -> None:
                router.forget(self.session)
                finalized.append(self.session)

        class Collecting(str):
            """Whoever looks it up makes the collector run, for certain."""

            def __hash__(self) -> int:
                gc.collect()
                return super().__hash__()

        name, provider = Collecting("s1"), self.Provider()
        deeds = {
            "listen": lambda: router.listen("tool", name, provider.on_tool),
            "dispatch": lambda: router.dispatch("tool", session_id=name, tool="a"),
            "listen again": lambda: router.listen("tool", name, provider.on_tool),
            "unlisten": lambda: router.unlisten("tool", name, print),
            "install": lambda: router.install(Collecting("tool"), []),
            "uninstall": lambda: router.uninstall(Collecting("tool"), []),
        }
        gc.disable()
        self.addCleanup(gc.enable)
        for session in ("s0", "s1"):  # another one, and the same
            for word, deed in deeds.items():
                router.listen("tool", "s1", provider.on_tool)
                finalized.clear()
                Dropped(session)
                thread = threading.Thread(target=deed, daemon=True)
                thread.start()
                thread.join(10)
                self.assertFalse(thread.is_alive(), word)
                self.assertEqual(finalized, [session], word)
        router.forget("s1")
        router.listen("tool", "s1", provider.on_tool)
        provider.heard.clear()
        router.dispatch("tool", session_id="s1", tool="b")
        self.assertEqual(provider.heard, ["b"])


if __name__ == "__main__":
    unittest.main()
