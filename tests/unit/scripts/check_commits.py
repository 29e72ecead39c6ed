"""scripts/check-commits, on a small repository of its own."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
CHECK = os.path.join(ROOT, "scripts", "check-commits")

GOOD = ["keep: end the tree by one ender", "run, cli: parse the plan once", "slot tests: wait for the queue",
        "memory/serve: keep the log open", "keep: " + "a" * 60 + " b"]
BAD = {
    "Mended a race": "not",
    "keep: Race": "not",
    "keep: race": "not",
    "keep : end the tree": "not",
    "keep: end the tree.": "full stop",
    "keep: end " + "a" * 63: "73 characters",
}


class CheckCommits(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name
        self.git("init", "-q")
        self.commit("base: begin the history")
        self.first = self.git("rev-parse", "HEAD").strip()

    def git(self, *words: str) -> str:
        who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@localhost", "GIT_COMMITTER_NAME": "a",
               "GIT_COMMITTER_EMAIL": "a@localhost", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
        done = subprocess.run(["git", "-C", self.folder, *words], env={**os.environ, **who}, check=True,
                              stdout=subprocess.PIPE, universal_newlines=True)
        return done.stdout

    def commit(self, subject: str) -> None:
        self.git("commit", "-q", "--allow-empty", "-m", subject, "-m", "A body may say. Anything at all.")

    def check(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([CHECK, *words], cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True)

    def test_subjects_that_follow_the_rule(self) -> None:
        for subject in GOOD:
            self.commit(subject)
        done = self.check(self.first)
        self.assertEqual((done.returncode, done.stdout), (0, ""), done.stderr)

    def test_each_way_to_break_the_rule_is_named(self) -> None:
        for subject, reason in BAD.items():
            self.commit(subject)
            done = self.check("HEAD~1")
            self.assertEqual(done.returncode, 1, subject)
            self.assertIn(subject, done.stdout)
            self.assertIn(reason, done.stdout)

    def test_only_commits_after_the_named_one_are_looked_at(self) -> None:
        self.commit("Bad")
        self.commit("keep: end the tree")
        self.assertEqual(self.check("HEAD~1").returncode, 0)
        self.assertEqual(self.check(self.first).returncode, 1)
        self.assertEqual(self.check().returncode, 1, "without a word, the last commits")

    def test_usage_errors(self) -> None:
        for words in (["nosuch"], ["--nosuch"], ["HEAD", "HEAD"]):
            done = self.check(*words)
            self.assertEqual(done.returncode, 64, words)
            self.assertTrue(done.stderr)


if __name__ == "__main__":
    sys.exit(unittest.main())
