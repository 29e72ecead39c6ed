"""Hosts that end, fork, and use multiprocessing."""

from __future__ import annotations

import textwrap
import unittest

from common import HoldfastTest, eventually

START = """
import gc, os, signal, sys, time
import holdfast
supervisor = holdfast.Supervisor()
def hold():
    return supervisor.hold(sys.argv[1:], stop_plan="eof:500ms,term:500ms,kill")
"""


class Hosts(HoldfastTest):
    def run_host(self, code: str, *words: str) -> str:
        done = self.run_python(START + textwrap.dedent(code), *self.helper(*words))
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout + done.stderr)
        return done.stdout

    def test_an_exit_with_holds_open_leaves_nothing(self) -> None:
        self.run_host("kept = hold(); print(kept.request('echo', [1]))", "--ignore-eof", "--daemon")
        self.assertEqual(self.helpers(), [], "the exit waits for the stop plan")
        self.assert_nothing_left()

    def test_os_exit_leaves_nothing_either(self) -> None:
        self.run_host("kept = hold(); kept.request('echo'); os._exit(0)", "--daemon")
        self.assert_nothing_left()

    def test_stderr_of_a_helper_goes_where_it_was_told(self) -> None:
        code = """
        import glob, pathlib
        words = ["/bin/sh", "-c", "echo heard >&2; exec \\"$0\\" \\"$@\\"", *sys.argv[1:]]
        for errors in ("log", "discard"):
            supervisor.hold(words, errors=errors, key=errors).request("echo")
        supervisor.close()
        logs = glob.glob(os.environ["HOLDFAST_HOME"] + "/state/*/logs/*.log")
        print([pathlib.Path(one).read_text() for one in logs])
        """
        self.assertEqual(self.run_host(code), "['heard\\n']\n")  # and nothing on the host's own
        told = self.run_python(START + "hold().request('echo')", "/bin/sh", "-c", "echo heard >&2; exec \"$0\" \"$@\"", *self.helper())
        self.assertEqual(told.stderr, "heard\n")

    def test_dropping_everything_is_no_resource_warning(self) -> None:
        self.run_host("for _ in range(20):\n    hold().request('echo')\ngc.collect()\nsupervisor.close()")
        self.assert_nothing_left()

    def test_a_fork_has_no_holds_and_harms_nothing(self) -> None:
        out = self.run_host(
            """
            import warnings
            warnings.filterwarnings("ignore", "This process .* is multi-threaded")  # since 3.12, whoever forks beside threads
            kept = hold()
            pid = kept.request("pid")
            child = os.fork()
            if child == 0:
                try:
                    kept.request("echo")
                except holdfast.Closed:
                    del kept
                    gc.collect()
                    sys.exit(0)   # through all finalizers
                sys.exit(1)
            assert os.waitpid(child, 0)[1] == 0
            assert kept.request("pid") == pid
            print("same")
            """
        )
        self.assertEqual(out, "same\n")
        self.assert_nothing_left()

    def test_multiprocessing_by_fork_and_by_spawn(self) -> None:
        out = self.run_host(
            """
            import multiprocessing
            kept = hold()
            pid = kept.request("pid")
            for method in ("fork", "spawn"):
                with multiprocessing.get_context(method).Pool(2) as pool:
                    assert pool.map(abs, [-1, -2]) == [1, 2]
                assert kept.request("pid") == pid, method
            print("same")
            """
        )
        self.assertEqual(out, "same\n")
        self.assert_nothing_left()

    def test_ctrl_c_reaches_a_waiting_main_thread(self) -> None:
        out = self.run_host(
            """
            import threading
            kept = hold()
            kept.wait_ready()
            def interrupted(wait):
                threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
                try:
                    wait()
                except KeyboardInterrupt:
                    print("interrupted")
            interrupted(lambda: kept.request("sleep", {"ms": 3600000}, timeout=600))
            until = time.monotonic() + 100
            while kept.status["in_flight"] and time.monotonic() < until:
                time.sleep(0.01)
            assert kept.status["in_flight"] == 0, "it was cancelled"
            interrupted(lambda: kept.start("sleep", {"ms": 3600000}, timeout=600).wait())
            opening = kept.session(lambda on: on.request("sleep", {"ms": 3600000}, timeout=600))
            interrupted(lambda: opening.request("echo"))
            opened = kept.session()
            opened.request("echo")
            interrupted(lambda: opened.request("sleep", {"ms": 3600000}, timeout=600))
            os._exit(0)  # the abandoned opening still waits for its answer
            """
        )
        self.assertEqual(out, "interrupted\n" * 4)
        self.assertTrue(eventually(lambda: not self.helpers()))

    def test_ctrl_c_reaches_a_main_thread_that_waits_for_an_end_or_a_slot(self) -> None:
        """None of what is waited for ever happens by itself within the test."""
        code = """
            import threading
            home = os.environ["HOLDFAST_HOME"]
            def interrupted(wait, within=150):
                began = time.monotonic()
                try:
                    threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
                    wait()
                except KeyboardInterrupt:
                    pass
                else:
                    raise AssertionError("not interrupted")
                assert time.monotonic() - began < within, time.monotonic() - began
                print("interrupted", flush=True)
            owner = holdfast.Slot.acquire(home, "w")
            owner.ready()
            read, write = os.pipe()
            open_then = []  # a watch is kept for the next who waits, so the first round may add one
            for options in ({}, {"cancel_fd": read}):
                interrupted(lambda: holdfast.Slot.acquire(home, "w", if_held="wait", **options))
                interrupted(lambda: holdfast.wait_for_slot(home, "w", "free", **options))
                open_then.append(sorted(os.listdir("/proc/self/fd")))
            assert open_then[0] == open_then[1], "no descriptor is left"
            os.write(write, b"x")
            for wait in (
                lambda: holdfast.Slot.acquire(home, "w", if_held="wait", cancel_fd=read),
                lambda: holdfast.wait_for_slot(home, "w", "free", cancel_fd=read),
            ):
                try:
                    wait()
                except holdfast.Cancelled:
                    print("cancelled")
            owner.close()
            holdfast.Slot.acquire(home, "w", if_held="wait").close()  # nobody has taken it meanwhile
            kept = supervisor.hold(sys.argv[1:], stop_plan="eof:1h,kill")
            kept.request("echo")
            interrupted(supervisor.close)
            try:
                kept.request("echo")
            except holdfast.Closed:
                print("closed", flush=True)
            os._exit(0)  # without waiting for the stop plan
            """
        done = self.run_python(START + textwrap.dedent(code), *self.helper("--ignore-eof"), timeout=1000)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout + done.stderr)
        self.assertEqual(done.stdout, "interrupted\n" * 4 + "cancelled\n" * 2 + "interrupted\nclosed\n")
        self.assertTrue(eventually(lambda: not self.helpers()))

    def test_an_exit_and_a_fork_can_close_and_end_all_the_same(self) -> None:
        """Where no thread can be started any more, and where the parent's are missing."""
        out = self.run_host(
            """
            import atexit, warnings
            warnings.filterwarnings("ignore", "This process .* is multi-threaded")
            registry = holdfast.Registry("exiting")
            kept = hold()
            kept.request("echo")
            def at_exit():
                assert registry.end_all() == {"ended": [], "survivors": []}
                holdfast.Slot.acquire(os.environ["HOLDFAST_HOME"], "x", if_held="wait").close()
                supervisor.close()
                print("ended")
            child = os.fork()
            if child == 0:
                supervisor.close()
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
            assert kept.request("echo", [1]) == [1]
            atexit.register(at_exit)
            """
        )
        self.assertEqual(out, "ended\n")
        self.assert_nothing_left()


if __name__ == "__main__":
    unittest.main()
