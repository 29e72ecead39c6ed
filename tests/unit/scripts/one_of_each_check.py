"""The check of what is written once: scripts/lib/one-of-each on a small tree of its own, with one rule broken at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
CHECK = os.path.join(ROOT, "scripts", "lib", "one-of-each")

LIST = r"""
# a comment
::getrandom\( :: sys/random_linux.cpp :: sys::fill_random
poll\(nullptr :: - :: a descriptor that tells
"/proc/ :: *_linux.cpp :: a function of src/sys
"""

SOURCES = {
    "src/sys/random_linux.cpp": "auto n = ::getrandom(out, size, 0);\n",
    "src/sys/proc_linux.cpp": 'auto text = read("/proc/stat");\n',
    "src/cli/main.cpp": "// poll(nullptr, 0, 5) is no way to wait, and neither is ::getrandom()\n"
                        'auto url = cat("http://", name); // "/proc/stat" is not read here\n',
}


class OneOfEach(unittest.TestCase):
    def check(self, more: str = "", text: str = LIST, **sources: str) -> "subprocess.CompletedProcess[str]":
        with tempfile.TemporaryDirectory() as root:
            for path, content in {**SOURCES, "src/cli/more.cpp": more, "src/ONE_OF_EACH": text, **sources}.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(content)
            return subprocess.run([sys.executable, CHECK, "--root", root], capture_output=True, text=True, timeout=600)

    def expect_refused(self, words: str, more: str = "", text: str = LIST) -> None:
        done = self.check(more, text)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(words, done.stdout)

    def test_a_tree_that_keeps_to_the_list_passes(self) -> None:
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("3 rules", done.stdout)

    def test_a_second_one_is_refused_with_its_line_and_what_to_use(self) -> None:
        self.expect_refused("src/cli/more.cpp:2: use sys::fill_random", "\n::getrandom(a, b, c);\n")

    def test_what_may_stand_nowhere_is_refused_anywhere(self) -> None:
        self.expect_refused("src/cli/more.cpp:1: use a descriptor that tells", "::poll(nullptr, 0, 5); // a while\n")

    def test_a_place_is_a_shell_pattern(self) -> None:
        self.expect_refused("src/cli/more.cpp:1: use a function of src/sys", 'auto text = read("/proc/uptime");\n')

    def test_a_place_without_its_pattern_is_refused(self) -> None:
        self.expect_refused("the pattern does not stand in cli/old.cpp", text=LIST.replace("random_linux.cpp ::", "random_linux.cpp cli/old.cpp ::"))

    def test_a_list_that_cannot_be_read_is_an_error_of_its_own(self) -> None:
        self.assertEqual(self.check(text="poll :: -\n").returncode, 2)
        self.assertEqual(self.check(text="( :: - :: words\n").returncode, 2)

    def test_the_project_keeps_to_its_own(self) -> None:
        done = subprocess.run([sys.executable, CHECK], capture_output=True, text=True, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
