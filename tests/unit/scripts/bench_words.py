"""The words of scripts/bench: parts, their options, another commit. In a tree of its own whose parts only say what they were given."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
PART = """# {about}
# options: --quick --only=SECTION
{more}
bench_build {name}-bench
echo "| {name} $* |"
"""


class Words(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = os.path.realpath(folder.name)
        for name in ("scripts/bench", "scripts/lib/common.sh", "bench/HOW.md"):
            os.makedirs(os.path.dirname(os.path.join(self.root, name)), exist_ok=True)
            shutil.copy(os.path.join(ROOT, name), os.path.join(self.root, name))
        for name in ("build", "bench"):
            self.write(f"scripts/lib/packages-{name}.txt", "# none\nbash\n")
        self.write("bench/parts/one", PART.format(about="The first.", more="# against: one-program", name="one"))
        self.write("bench/parts/two", PART.format(about="The second.", more="", name="two"))
        self.write("bin/cmake", "#!/bin/sh\n", 0o755)  # nothing is built here
        self.git("init", "-q")
        self.git("add", ".")
        self.git("-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "x")

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self.root, check=True, timeout=600)

    def bench(self, *words: str) -> "subprocess.CompletedProcess[str]":
        variables = {**os.environ, "PATH": self.root + "/bin:" + os.environ["PATH"]}
        return subprocess.run([self.root + "/scripts/bench", *words], env=variables, capture_output=True, text=True, timeout=600)

    def rows(self, *words: str) -> "list[str]":
        done = self.bench(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [line for line in done.stdout.splitlines() if line.startswith("|")]

    def test_each_part_is_measured_with_its_own_options(self) -> None:
        self.assertEqual(self.rows("one", "two"), ["| one  |", "| two  |"])
        self.assertEqual(self.rows("two", "--quick", "one", "--only", "x", "--only=y"), ["| two --quick |", "| one --only=x --only=y |"])
        self.assertEqual(self.rows(), ["| one  |", "| two  |"])
        with open(os.path.join(self.root, "bench/RESULTS.md"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn("## one\n", text)
        self.assertIn("| two  |", text)

    def test_what_is_no_part_and_no_option_is_refused_before_anything_is_measured(self) -> None:
        for words, why in ((("one", "three"), 'no part "three"'), (("--quick", "one"), "before a part"), (("one", "--slow"), "no option"),
                           (("one", "--only"), "needs a value"), (("--against",), "needs a commit"),
                           (("--against", "nosuch", "one"), 'no commit "nosuch"'), (("list", "one"), "stands alone")):
            done = self.bench(*words)
            self.assertEqual((done.returncode, done.stdout), (64, ""), words)
            self.assertIn(why, done.stderr)

    def test_another_commit_is_measured_beside_this_one_and_is_no_figure_of_it(self) -> None:
        rows = self.rows("--against", "HEAD", "one", "--quick")
        self.assertEqual(rows, [f"| one --against {self.root}/build/against/build/bench/bin --quick |"])
        self.assertFalse(os.path.exists(os.path.join(self.root, "build/against")))
        self.assertFalse(os.path.exists(os.path.join(self.root, "bench/results/one.md")))
        self.assertIn("cannot be measured against another commit", self.bench("--against", "HEAD", "two").stderr)


if __name__ == "__main__":
    unittest.main()
