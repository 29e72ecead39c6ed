"""The check of the layers: scripts/lib/layers on a small tree of its own, with one rule broken at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import unittest
from typing import Dict

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
CHECK = os.path.join(ROOT, "scripts", "lib", "layers")

TABLE = """
header result.hpp | - | errors
header slot.hpp | slot | a slot
base | - | values
sys | base | the kernel
slot | base sys | slots
memory/store | base @sqlite | rows
memory/recall | base memory/store | search
programs/one | slot | main
program one | programs/one slot base sys |
"""

SOURCES = {
    "include/holdfast/result.hpp": "",
    "include/holdfast/slot.hpp": '#include "holdfast/result.hpp"\n',
    "src/base/text.hpp": '#include "holdfast/result.hpp"\n',
    "src/sys/fd.hpp": '#include "base/text.hpp"\n',
    "src/slot/slot.cpp": '#include "holdfast/slot.hpp"\n#include "base/text.hpp"\n#include "sys/fd.hpp"\n',
    "src/memory/store/rows.hpp": '#include "base/text.hpp"\n#include <sqlite3.h>\n',
    "src/memory/recall/find.cpp": '#include "base/text.hpp"\n#include "memory/store/rows.hpp"\n',
    "src/slot/public.hpp": "",
    "src/programs/one/main.cpp": '#include "slot/public.hpp"\n',
}


class Layers(unittest.TestCase):
    def check(self, table: str = TABLE, **changed: str) -> "subprocess.CompletedProcess[str]":
        """`changed`: more of a file, its path written with __ for / and _dot_ for the dot."""
        files: "Dict[str, str]" = dict(SOURCES)
        for name, text in changed.items():
            path = name.replace("__", "/").replace("_dot_", ".")
            files[path] = files.get(path, "") + text
        files["src/LAYERS"] = table
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as file:
                    file.write(text)
            return subprocess.run([sys.executable, CHECK, "--root", root], capture_output=True, text=True, timeout=600)

    def expect_refused(self, words: str, table: str = TABLE, **changed: str) -> None:
        done = self.check(table, **changed)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(words, done.stdout)

    def test_a_tree_that_follows_the_table_passes(self) -> None:
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("0 violations", done.stdout)

    def test_an_upward_include_is_refused_with_its_line(self) -> None:
        self.expect_refused("src/sys/fd.hpp:2: src/sys may not include slot", src__sys__fd_dot_hpp='#include "slot/public.hpp"\n')

    def test_a_public_header_belongs_to_the_folder_that_implements_it(self) -> None:
        self.expect_refused("src/sys/fd.hpp:2: src/sys may not include slot (it implements slot.hpp)",
                            src__sys__fd_dot_hpp='#include "holdfast/slot.hpp"\n')

    def test_a_cycle_of_subfolders_is_refused_though_the_table_allows_it(self) -> None:
        table = TABLE.replace("memory/store | base @sqlite |", "memory/store | base memory/recall @sqlite |")
        self.expect_refused("a cycle of folders: memory/recall -> memory/store -> memory/recall", table,
                            src__memory__store__rows_dot_hpp='#include "memory/recall/more.hpp"\n',
                            src__memory__recall__more_dot_hpp="")

    def test_a_folder_that_is_not_listed_is_refused(self) -> None:
        self.expect_refused("the folder src/memory/extra is not listed", src__memory__extra__a_dot_cpp="")

    def test_a_library_from_outside_is_only_for_the_folders_that_name_it(self) -> None:
        self.expect_refused("src/base may not include @sqlite", src__base__text_dot_hpp="#include <sqlite3.h>\n")

    def test_sql_is_only_for_the_folders_that_name_it(self) -> None:
        rows = 'auto rows = database.prepare("SELECT row FROM traces");\n'
        self.expect_refused("src/memory/recall/find.cpp:3: src/memory/recall may not include @sql",
                            src__memory__recall__find_dot_cpp=rows)
        table = TABLE.replace("memory/recall | base memory/store |", "memory/recall | base memory/store @sql |")
        done = self.check(table, src__memory__recall__find_dot_cpp=rows)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(self.check(src__memory__recall__find_dot_cpp='say("select one, or begin again");\n').returncode, 0)

    def test_a_program_links_only_what_its_line_allows(self) -> None:
        table = TABLE.replace("programs/one | slot |", "programs/one | slot memory/store |")
        self.expect_refused("the program one would link @sqlite", table,
                            src__programs__one__main_dot_cpp='#include "memory/store/rows.hpp"\n')

    def test_an_entry_that_nobody_needs_is_refused(self) -> None:
        self.expect_refused("base does not include sys; remove it", TABLE.replace("base | - |", "base | sys |"))

    def test_a_table_that_cannot_be_read_is_an_error_of_its_own(self) -> None:
        self.assertEqual(self.check("base | -\n").returncode, 2)
        self.assertEqual(self.check(TABLE + "base | - | again\n").returncode, 2)
        self.assertEqual(self.check(TABLE.replace("slot | base sys |", "slot | base nowhere |")).returncode, 2)


if __name__ == "__main__":
    unittest.main()
