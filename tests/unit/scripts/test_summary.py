"""What the test command says at its end: scripts/lib/test-summary on made-up results."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from typing import List

SUMMARY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "scripts", "lib", "test-summary")


def case(name: str, seconds: float, status: str = "run", said: str = "") -> str:
    inside = f"<system-out>{said}</system-out>" + ("<failure/>" if status == "fail" else "")
    return f'<testcase name="{name}" time="{seconds}" status="{status}">{inside}</testcase>'


class Summary(unittest.TestCase):
    def setUp(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)

    def write(self, name: str, text: str) -> None:
        with open(os.path.join(self._folder.name, name), "w", encoding="utf-8") as file:
            file.write(text)

    def ran(self, part: str, *cases: str) -> None:
        self.write(part + ".xml", '<?xml version="1.0"?><testsuite>' + "".join(cases) + "</testsuite>")

    def say(self, state: str = "", *failed: str) -> "subprocess.CompletedProcess[str]":
        words: "List[str]" = [sys.executable, SUMMARY, self._folder.name, "42", state, *failed]
        return subprocess.run(words, capture_output=True, text=True, timeout=600)

    def test_the_slowest_ten_of_all_parts_and_the_total(self) -> None:
        self.ran("release", *(case(f"quick{i}", i) for i in range(12)))
        self.ran("address", case("slow", 100.5))
        self.write("parts", "release 30 0\naddress 12 0\n")
        done = self.say()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        lines = done.stdout.splitlines()
        self.assertEqual([line.split()[-1] for line in lines[1:11]], ["slow"] + [f"quick{i}" for i in range(11, 2, -1)])
        self.assertEqual(lines[11], "==> the parts: release 30 s, address 12 s")
        self.assertEqual(lines[-1], "==> all passed in 42 s: 100% tests passed, 0 tests failed out of 13")

    def test_what_failed_is_named_with_its_last_words(self) -> None:
        self.ran("address", case("good", 1), case("bad", 2, "fail", "x.cpp:7: Failure\nexpected 1"), case("missing", 0, "notrun"))
        done = self.say("", "address", "models")
        self.assertEqual(done.returncode, 1)
        self.assertIn("failed: bad (address, 2.0 s, fail)\n      x.cpp:7: Failure\n", done.stdout)
        self.assertIn("ctest --test-dir build/address -R '^bad$'", done.stdout)
        self.assertIn("failed: missing (address, 0.0 s, notrun)", done.stdout)
        self.assertIn("failed: the part models, outside a test", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "==> failed in 42 s: 33% tests passed, 2 tests failed out of 3")

    def test_a_part_that_failed_without_a_failed_test_is_a_failure(self) -> None:
        self.ran("release", case("good", 1))
        done = self.say("", "tidy")
        self.assertEqual((done.returncode, done.stdout.splitlines()[-1].split(":")[0]), (1, "==> failed in 42 s"))

    def test_an_interrupted_run_is_no_success(self) -> None:
        self.ran("release", case("good", 1))
        self.write("loaded.xml", "<testsuite><testca")
        done = self.say("interrupted", "loaded")
        self.assertEqual(done.returncode, 1)
        self.assertIn("interrupted: the part loaded\n", done.stdout)
        self.assertIn("loaded.xml cannot be read", done.stdout)

    def test_without_any_test(self) -> None:
        self.write("parts", "shell 1 0\n")
        self.assertEqual(self.say().stdout, "==> the parts: shell 1 s\n==> all passed in 42 s\n")


if __name__ == "__main__":
    unittest.main()
