"""What the programs really link: the symbols in the files, whatever src/LAYERS and CMake say. Words: the folder of the programs."""

from __future__ import annotations

import subprocess
import sys

FORBIDDEN = {
    "holdfast": ("sqlite3_", "sb_stemmer_", "boost::beast::", "boost::asio::", "SSL_"),
    "holdfast-keep": ("sqlite3_", "sb_stemmer_", "boost::beast::", "boost::asio::", "SSL_"),
}
# The control: what is looked for is found where it has to be.
EXPECTED = {"holdfast-memory": ("sqlite3_open_v2", "sb_stemmer_new")}


def symbols(program: str) -> str:
    return subprocess.run(["nm", "-C", "--defined-only", program], capture_output=True, text=True, check=True).stdout


def main(folder: str) -> int:
    wrong = []
    for name, words in FORBIDDEN.items():
        text = symbols(f"{folder}/{name}")
        if "holdfast::" not in text:
            wrong.append(f"{name} has no symbols to look at")
        wrong += [f"{name} links {word}" for word in words if word in text]
    for name, words in EXPECTED.items():
        text = symbols(f"{folder}/{name}")
        wrong += [f"{name} has no {word}, so this check sees nothing" for word in words if word not in text]
    print("\n".join(wrong) or "the programs link what they may")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
