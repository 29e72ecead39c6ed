"""The type hints: the package itself under mypy --strict, and how a user's code is seen."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest

from common import ROOT

USER = """
import holdfast
from typing import Any

def use(supervisor: holdfast.Supervisor) -> int:
    with supervisor.hold(["helper"], linger=1.5) as hold:
        session: holdfast.Session = hold.session(lambda on: on.request("open"))
        answer: Any = session.request("x", {"a": 1}, timeout=None)
        generation: int = hold.replace(1)
        try:
            hold.request("y")
        except holdfast.TimedOut as error:
            code: holdfast.ErrorCode = error.code
            assert isinstance(error, TimeoutError)
        return generation + len(str(answer))
"""
WRONG = """
import holdfast

def use(supervisor: holdfast.Supervisor) -> str:
    return supervisor.hold(["helper"]).replace("one")
"""


def mypy(*words: str) -> "subprocess.CompletedProcess[str]":
    # Debian's own interpreter has it.
    variables = dict(os.environ, MYPYPATH=os.path.join(ROOT, "bindings", "python"))
    variables.pop("PYTHONPATH", None)
    return subprocess.run(["mypy", "--strict", "--python-version", "3.9", *words], env=variables, capture_output=True, text=True, timeout=1500)


class Types(unittest.TestCase):
    def check(self, code: str) -> "subprocess.CompletedProcess[str]":
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "user.py")
            with open(path, "w", encoding="utf-8") as file:
                file.write(code)
            return mypy("--cache-dir", os.path.join(folder, "cache"), path, os.path.join(ROOT, "bindings/python/holdfast"))

    def test_the_package_and_a_user_of_it_are_clean(self) -> None:
        done = self.check(USER)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_mistake_is_seen(self) -> None:
        done = self.check(WRONG)
        self.assertIn('incompatible type "str"; expected "int"', done.stdout)
        self.assertIn('Incompatible return value type', done.stdout)


if __name__ == "__main__":
    sys.exit(unittest.main())
