"""`holdfast hermes install`, `status` and `uninstall`, on homes as users have them."""

from __future__ import annotations

import json
import os
import shutil
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
            capture_output=True, text=True, timeout=600,
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
                if os.path.islink(path) and not os.path.exists(path):
                    found[os.path.relpath(path, self.home)] = os.readlink(path)
                    continue
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

    def test_configurations_as_people_write_them(self) -> None:
        """Each is changed in one place and comes back byte for byte, or is refused and left alone with the plugin."""
        mark = "\ufeff"
        for text, after in (
            (mark + "memory:\n  memory_enabled: true\n", mark + "memory:\n  provider: holdfast\n  memory_enabled: true\n"),
            ("memory:\t# mine\n  provider: mem0\t# before\n", "memory:\t# mine\n  provider: holdfast\t# before\n"),
            ("# only words\n\n", "# only words\n\nmemory:\n  provider: holdfast\n"),
            ("\n\n", "\n\nmemory:\n  provider: holdfast\n"),
            ("'memory' :\n      \"provider\" : ''\n", "'memory' :\n      \"provider\" : holdfast\n"),
            ("memory: ~ # none\r\nx: 1\r\n", "memory: # none\r\n  provider: holdfast\r\nx: 1\r\n"),
            ("---\nmemory:\n  provider: x", "---\nmemory:\n  provider: holdfast"),
            ("prompt: |\n  memory:\n    provider: not this\nmemory:\n  provider: x\n",
             "prompt: |\n  memory:\n    provider: not this\nmemory:\n  provider: holdfast\n"),
            ("memory:\n\tprovider: x\n", None),
            ("memory: {provider: x, memory_enabled: true}\n", None),
            ("{memory: {provider: x}}\n", None),
            ("a: 1\n---\nmemory:\n  provider: x\n", None),
            ("a: 1\rmemory:\r  provider: x\r", None),
            ("memory: &m\n  provider: x\n", None),
            ("a: \"open\nmemory: no\"\n", None),
        ):
            with self.subTest(text):
                self.write(text)
                before = self.tree()
                if after is None:
                    refused = self.run_it("install")
                    self.assertEqual((refused.returncode, refused.stdout), (64, ""))
                    self.assertIn("by hand", refused.stderr)
                else:
                    self.done("install")
                    self.assertEqual(self.read(), after)
                    self.done("uninstall")
                self.assertEqual(self.tree(), before)

    def test_homes_that_are_not_as_they_should_be(self) -> None:
        os.symlink(os.path.join(self.home, "nowhere.yaml"), self.config)
        before = self.tree()
        refused = self.run_it("install")
        self.assertEqual(refused.returncode != 0, True)
        self.assertIn("is a link to nothing", refused.stderr)
        self.assertTrue(os.path.islink(self.config))
        self.assertEqual(self.tree(), before)
        os.unlink(self.config)
        before = self.tree()
        os.mkdir(self.config)
        refused = self.run_it("install")
        self.assertIn("directory", refused.stderr)
        self.assertEqual((refused.returncode != 0, self.tree()), (True, before))
        os.rmdir(self.config)
        with open(os.path.join(self.home, "plugins"), "w", encoding="utf-8"):
            pass
        before = self.tree()
        refused = self.run_it("install")
        self.assertEqual((refused.returncode != 0, self.tree()), (True, before))
        self.assertIn("plugins", refused.stderr)
        os.unlink(os.path.join(self.home, "plugins"))
        file = os.path.join(self.home, "a file")
        with open(file, "w", encoding="utf-8"):
            pass
        self.assertIn("there is no Hermes home at", self.run_it("install", home=file).stderr)

    def as_nobody(self, *words: str) -> "subprocess.CompletedProcess[str]":
        if os.geteuid() != 0:
            self.skipTest("needs root, to be somebody else")
        # A copy, since the build may lie where nobody else can look.
        place = os.path.join(self.home, "..", os.path.basename(self.home) + "-program")
        if not os.path.exists(place):
            shutil.copytree(os.path.join(PLUGIN), os.path.join(place, "share", "holdfast", "hermes"))
            os.mkdir(os.path.join(place, "bin"))
            shutil.copy(os.path.join(PROGRAMS, "holdfast"), os.path.join(place, "bin"))
            os.chmod(place, 0o755)
            self.addCleanup(shutil.rmtree, place)
        return subprocess.run(
            [os.path.join(place, "bin", "holdfast"), "hermes", *words, "--home", self.home], capture_output=True, text=True,
            timeout=600, user=65534, group=65534, extra_groups=[], env={"PATH": "/usr/bin:/bin", "HOME": self.home},
        )

    def test_a_home_that_may_not_be_written_stays_as_it_is(self) -> None:
        self.write(CONFIG)
        os.chmod(self.config, 0o644)
        os.chmod(self.home, 0o755)
        before = self.tree()
        for word in ("install", "uninstall"):
            refused = self.as_nobody(word)
            if word == "install":
                self.assertEqual((refused.returncode, refused.stdout), (77, ""), refused.stderr)
                self.assertIn("Permission denied", refused.stderr)
            self.assertEqual(self.tree(), before)
        # The plugin could be put there, the configuration not: half an installation is none.
        os.mkdir(os.path.join(self.home, "plugins"))
        os.chown(os.path.join(self.home, "plugins"), 65534, 65534)
        refused = self.as_nobody("install")
        self.assertEqual((refused.returncode, refused.stdout), (77, ""), refused.stderr)
        self.assertEqual((os.listdir(os.path.join(self.home, "plugins")), self.tree()), ([], before))
        # And one that may not even be read.
        os.chmod(self.config, 0o600)
        refused = self.as_nobody("install")
        self.assertIn("cannot be read", refused.stderr)

    def test_what_root_installs_belongs_to_whom_the_home_belongs(self) -> None:
        if os.geteuid() != 0:
            self.skipTest("needs root")
        self.write(CONFIG)
        os.chown(self.home, 65534, 65534)
        os.chown(self.config, 65534, 65534)
        self.done("install")
        for folder, folders, files in os.walk(self.home):
            for name in folders + files:
                self.assertEqual(os.stat(os.path.join(folder, name)).st_uid, 65534, name)
        self.done("uninstall")
        self.assertEqual((os.stat(self.config).st_uid, self.read()), (65534, CONFIG))

    def test_what_an_installation_that_was_killed_left_is_swept_away(self) -> None:
        plugins = os.path.join(self.home, "plugins")
        ended = subprocess.Popen(["true"])
        ended.wait()
        dead, alive = f".holdfast.new-{ended.pid}", f".holdfast.old-{os.getpid()}"
        for word in ("install", "uninstall"):
            for name in (dead, f".holdfast.old-{ended.pid}", alive, ".other.new-1", ".holdfast.new-"):
                os.makedirs(os.path.join(plugins, name, "lib"), exist_ok=True)
            self.done(word)
            left = sorted(one for one in os.listdir(plugins) if one.startswith("."))
            self.assertEqual(left, sorted([alive, ".other.new-1", ".holdfast.new-"]))

    def test_uninstall_without_install_and_two_profiles(self) -> None:
        self.write(CONFIG)
        before = self.tree()
        self.assertIn("was not there", self.done("uninstall"))
        self.assertEqual(self.tree(), before)
        for name in ("a", "b"):
            os.makedirs(os.path.join(self.home, "profiles", name))
        self.done("install", "-p", "a")
        self.done("install", "-p", "b")
        self.done("uninstall", "-p", "a")
        active = [self.status("-p", name)["active"] for name in ("a", "b", "default")]
        self.assertEqual(active, [False, True, False])
        self.done("uninstall", "-p", "b")
        self.assertEqual(self.tree(), before)

    def test_what_was_installed_is_loaded_and_works(self) -> None:
        self.done("install")
        folder = os.path.join(self.home, "plugins", "holdfast")
        provider = sim.load_provider(folder)
        self.assertTrue(provider.is_available())
        provider.initialize("s", hermes_home=self.home)
        provider.sync_turn("installed and used", "yes")
        self.assertTrue(provider._link.outbox.wait_empty(200))
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

    def test_another_profile_from_inside_of_one(self) -> None:
        """As in a shell whose HERMES_HOME is a profile."""
        here, there = (os.path.join(self.home, "profiles", name) for name in ("a", "b"))
        os.makedirs(here)
        os.makedirs(there)
        for words, home in ((("-p", "b"), there), (("-p", "default"), self.home), ((), here)):
            finished = self.run_it("status", "--json", *words, home=here)
            self.assertEqual(json.loads(finished.stdout)["home"], home, words)
        self.assertEqual(self.run_it("install", "-p", "b", home=here).returncode, 0)
        self.assertTrue(os.path.exists(os.path.join(there, "plugins", "holdfast", "plugin.yaml")))
        self.assertIn("no profile", self.run_it("install", "-p", "c", home=here).stderr)

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
        os.chmod(os.path.join(self.home, "plugins", "holdfast", "lib", "holdfast", "holdfast-keep"), 0o644)
        finished = self.run_it("status")
        self.assertEqual(finished.returncode, 3)
        self.assertIn("holdfast-keep may not be run; run: holdfast hermes install", finished.stdout)
        self.done("install")
        self.assertEqual(self.run_it("status").returncode, 0)

    def test_the_folder_alone_is_enough(self) -> None:
        """Copied by hand, without the command."""
        with open(os.path.join(PLUGIN, "__init__.py"), encoding="utf-8") as file:
            self.assertIn("register_memory_provider", file.read(8192), "by this the host knows a memory provider")
        with open(os.path.join(PLUGIN, "plugin.yaml"), encoding="utf-8") as file:
            self.assertIn("\nkind: exclusive\n", file.read(), "and its general plugin manager leaves it alone")
        self.assertEqual(
            sorted(os.listdir(os.path.join(PLUGIN, "lib", "holdfast")))[-2:], ["slot.py", "supervisor.py"]
        )
        code = (
            "import sys; sys.path.insert(0, sys.argv[1]); import sim\n"
            "p = sim.load_provider(sys.argv[2]); p.initialize('s', hermes_home=sys.argv[3]); p.sync_turn('by hand', 'ok')\n"
            "assert p._link.outbox.wait_empty(200); assert 'by hand' in p.prefetch('hand'); p.shutdown(); print('fine')\n"
        )
        folder = os.path.join(self.home, "elsewhere")
        subprocess.run(["cp", "-r", PLUGIN, folder], check=True)
        finished = subprocess.run(
            ["/usr/bin/python3", "-I", "-c", code, os.path.dirname(os.path.abspath(__file__)), folder, self.home],
            capture_output=True, text=True, timeout=600,
            env={"PATH": "/usr/bin:/bin", "HOME": self.home, "HOLDFAST_HOME": os.path.join(self.home, "hf")},
        )
        self.assertEqual((finished.stdout, finished.stderr), ("fine\n", ""))


if __name__ == "__main__":
    unittest.main()
