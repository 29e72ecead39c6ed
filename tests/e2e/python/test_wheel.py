"""The wheel by itself: installed into an empty folder, it finds its library and its keeper, and works."""

from __future__ import annotations

import glob
import os
import subprocess
import sys
import unittest
import zipfile

from common import BUILD, HoldfastTest

USE = """
import sys, holdfast
assert holdfast.__file__.startswith(sys.argv[1]), holdfast.__file__
with holdfast.Supervisor() as supervisor:
    print(supervisor.hold(sys.argv[2:]).request("echo", ["from a wheel"]))
"""


class Wheel(HoldfastTest):
    def install(self) -> str:
        wheels = glob.glob(os.path.join(BUILD, "wheels", "*.whl"))
        self.assertEqual(len(wheels), 1, wheels)
        folder = os.path.join(self.home, "site")
        with zipfile.ZipFile(wheels[0]) as wheel:
            self.assertIsNone(wheel.testzip())
            for entry in wheel.infolist():
                path = wheel.extract(entry, folder)
                os.chmod(path, (entry.external_attr >> 16) & 0o777)
        return folder

    def test_it_needs_nothing_else(self) -> None:
        folder = self.install()
        variables = {"HOLDFAST_HOME": self.home, "PYTHONPATH": folder, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", USE, folder, *self.helper()], env=variables, capture_output=True, text=True, timeout=600
        )
        self.assertEqual((done.stdout, done.stderr), ("['from a wheel']\n", ""))
        self.assert_nothing_left()

    def test_hermes_finds_its_provider_by_the_entry_point(self) -> None:
        folder = self.install()
        code = (
            "import importlib.metadata, sys\n"
            "class Context:\n"
            "    def register_memory_provider(self, provider): self.provider = provider\n"
            "found, group = importlib.metadata.entry_points(), 'hermes_agent.memory_providers'\n"
            "entry, = found.select(group=group) if hasattr(found, 'select') else found[group]\n"
            "context = Context(); entry.load().register(context); provider = context.provider\n"
            "assert (entry.name, provider.is_available()) == ('holdfast', True), provider.unavailable_reason()\n"
            "provider.initialize('s', hermes_home=sys.argv[1]); provider.sync_turn('by the wheel', 'x')\n"
            "assert provider._link.outbox.wait_empty(200); assert 'by the wheel' in provider.prefetch('wheel')\n"
            "provider.shutdown(); print('fine')\n"
        )
        variables = {"HOLDFAST_HOME": self.home, "PYTHONPATH": folder, "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [sys.executable, "-c", code, self.home], env=variables, capture_output=True, text=True, timeout=600
        )
        self.assertEqual((done.stdout, done.stderr), ("fine\n", ""))

    def test_its_record_is_true(self) -> None:
        folder = self.install()
        record = glob.glob(os.path.join(folder, "*.dist-info", "RECORD"))[0]
        with open(record, encoding="utf-8") as file:
            lines = [line.strip().split(",") for line in file]
        on_disk = set()
        for directory, _, names in os.walk(folder):
            on_disk.update(os.path.relpath(os.path.join(directory, name), folder) for name in names)
        self.assertEqual({line[0] for line in lines}, on_disk)
        for name, _, size in lines:
            if size:
                self.assertEqual(os.path.getsize(os.path.join(folder, name)), int(size), name)


if __name__ == "__main__":
    unittest.main()
