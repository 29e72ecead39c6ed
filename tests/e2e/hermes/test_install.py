"""`holdfast hermes install`, `status` and `uninstall`, on homes as users have them."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import tempfile
import unittest
from typing import Any, Dict, Optional

import sim
from common import PLUGIN, PROGRAMS

CONFIG = "# mine\nmodel: x   # the good one\nmemory:\n    enabled: true\n    provider: mem0  # before\nother: [1, 2]\n"


class Install(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="hf-install-")
        self.addCleanup(directory.cleanup)
        self.home = os.path.realpath(directory.name)
        self.config = os.path.join(self.home, "config.yaml")
        os.environ["HOLDFAST_HOME"] = os.path.join(self.home, "hf")

    def run_it(self, *words: str, home: "Optional[str]" = None) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [os.path.join(PROGRAMS, "holdfast"), "hermes", *words, "--home", home or self.home],
            capture_output=True, text=True, timeout=60,
        )

    def done(self, *words: str) -> str:
        finished = self.run_it(*words)
        self.assertEqual((finished.returncode, finished.stderr), (0, ""))
        return finished.stdout

    def status(self, *words: str) -> "Dict[str, Any]":
        return dict(json.loads(self.run_it("status", "--json", *words).stdout))

    def write(self, text: str) -> None:
        with open(self.config, "w", encoding="utf-8", newline="") as file:
            file.write(text)

    def read(self) -> str:
        with open(self.config, encoding="utf-8", newline="") as file:
            return file.read()

    def tree(self) -> "Dict[str, Any]":
        """Everything in the home, by content and mode."""
        found: "Dict[str, Any]" = {}
        for folder, folders, files in os.walk(self.home):
            for name in files:
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    found[os.path.relpath(path, self.home)] = (file.read(), stat.S_IMODE(os.stat(path).st_mode))
        return found

    def test_install_sets_one_key_and_uninstall_undoes_it_exactly(self) -> None:
        for text in (CONFIG, "", "a: 1", CONFIG.replace("\n", "\r\n"), "memory: {}\n", None):
            with self.subTest(text):
                if text is None:
                    os.unlink(self.config)
                else:
                    self.write(text)
                    os.chmod(self.config, 0o640)
                before = self.tree()
                self.done("install")
                self.assertEqual(self.status()["active"], True)
                if text == CONFIG:
                    self.assertEqual(self.read(), CONFIG.replace("mem0", "holdfast"))
                    self.assertEqual(stat.S_IMODE(os.stat(self.config).st_mode), 0o640)
                once = self.tree()
                self.done("install")
                self.assertEqual(self.tree(), once, "a second time changes nothing")
                self.done("uninstall")
                self.assertEqual(self.tree(), before)
                self.done("uninstall")
                self.assertEqual(self.tree(), before)

    def test_a_configuration_that_is_a_link_stays_one(self) -> None:
        real = os.path.join(self.home, "dotfiles.yaml")
        with open(real, "w", encoding="utf-8") as file:
            file.write(CONFIG)
        os.symlink(real, self.config)
        self.done("install")
        self.assertTrue(os.path.islink(self.config))
        self.assertEqual(self.read(), CONFIG.replace("mem0", "holdfast"))
        self.done("uninstall")
        self.assertTrue(os.path.islink(self.config))
        self.assertEqual(self.read(), CONFIG)

    def test_what_a_user_changed_since_stays(self) -> None:
        self.write(CONFIG)
        self.done("install")
        self.write(self.read() + "added: later\n")
        self.done("uninstall")
        self.assertEqual(self.read(), CONFIG + "added: later\n")
        self.write("a: 1\n")
        self.done("install")
        self.write(self.read() + "added: later\n")
        self.done("uninstall")
        self.assertEqual(self.read(), "a: 1\nadded: later\n")
        self.done("install")
        self.write(self.read().replace("provider: holdfast", "provider: other"))
        self.assertIn("names another provider", self.done("uninstall"))
        self.assertIn("provider: other", self.read())

    def test_what_was_installed_is_loaded_and_works(self) -> None:
        self.done("install")
        folder = os.path.join(self.home, "plugins", "holdfast")
        provider = sim.load_provider(folder)
        self.assertTrue(provider.is_available())
        provider.initialize("s", hermes_home=self.home)
        provider.sync_turn("installed and used", "yes")
        self.assertTrue(provider._link.outbox.wait_empty(20))
        status = self.status()
        self.assertTrue(status["helper"]["running"])
        self.assertGreater(status["helper"]["pid"], 0)
        self.assertEqual(status["waiting_turns"], 0)
        self.assertIn("installed and used", provider.prefetch("installed"))
        provider.shutdown()
        self.assertIn("stays", self.done("uninstall"))
        self.assertTrue(os.path.exists(os.path.join(self.home, "holdfast", "memory")), "what was remembered stays")

    def test_profiles(self) -> None:
        profile = os.path.join(self.home, "profiles", "coder")
        os.makedirs(profile)
        self.done("install", "-p", "coder")
        self.assertEqual((self.status("-p", "coder")["active"], self.status()["active"]), (True, False))
        self.assertTrue(os.path.exists(os.path.join(profile, "plugins", "holdfast", "plugin.yaml")))
        for name in ("nobody", "../x", ""):
            missing = self.run_it("install", "-p", name)
            self.assertEqual(missing.returncode, 64)
            self.assertIn("profile", missing.stderr)

    def test_errors_name_the_thing_and_the_way_out_and_change_nothing(self) -> None:
        self.assertIn("start Hermes once", self.run_it("install", home="/nowhere").stderr)
        self.assertIn("use install, status or uninstall", self.run_it("enable").stderr)
        self.write("memory: {provider: x}\n")
        before = self.tree()
        refused = self.run_it("install")
        self.assertEqual(refused.returncode, 64)
        self.assertIn("set memory.provider there by hand", refused.stderr)
        self.assertEqual(self.tree(), before)
        self.write("")
        missing = self.run_it("install", "--from", self.home)
        self.assertIn("__init__.py is missing", missing.stderr)
        other = os.path.join(self.home, "plugins", "holdfast")
        os.makedirs(other)
        with open(os.path.join(other, "plugin.yaml"), "w", encoding="utf-8") as file:
            file.write("name: another\n")
        before = self.tree()
        for word in ("install", "uninstall"):
            refused = self.run_it(word)
            self.assertEqual(refused.returncode, 69)
            self.assertIn("is not this plugin", refused.stderr)
        self.assertEqual(self.tree(), before)

    def test_status_says_what_is_missing(self) -> None:
        finished = self.run_it("status")
        self.assertEqual(finished.returncode, 3)
        self.assertIn("not installed; run: holdfast hermes install", finished.stdout)
        self.done("install")
        os.unlink(os.path.join(self.home, "plugins", "holdfast", "lib", "holdfast", "holdfast-memory"))
        finished = self.run_it("status")
        self.assertEqual(finished.returncode, 3)
        self.assertIn("holdfast-memory is missing", finished.stdout)
        self.done("install")
        self.assertEqual(self.run_it("status").returncode, 0)

    def test_the_folder_alone_is_enough(self) -> None:
        """Copied by hand, without the command."""
        self.assertEqual(
            sorted(os.listdir(os.path.join(PLUGIN, "lib", "holdfast")))[-2:], ["slot.py", "supervisor.py"]
        )
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); import sim\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('s', hermes_home=sys.argv[3]); p.sync_turn('by hand', 'ok')\n"
            "assert p._link.outbox.wait_empty(20); assert 'by hand' in p.prefetch('hand'); p.shutdown(); print('fine')\n"
        )
        folder = os.path.join(self.home, "elsewhere")
        subprocess.run(["cp", "-r", PLUGIN, folder], check=True)
        finished = subprocess.run(
            ["/usr/bin/python3", "-I", "-c", code, os.path.dirname(os.path.abspath(__file__)), folder, self.home],
            capture_output=True, text=True, timeout=60,
            env={"PATH": "/usr/bin:/bin", "HOME": self.home, "HOLDFAST_HOME": os.path.join(self.home, "hf")},
        )
        self.assertEqual((finished.stdout, finished.stderr), ("fine\n", ""))


if __name__ == "__main__":
    unittest.main()
