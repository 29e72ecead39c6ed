"""Makes the wheel: the package, the library, the programs and the provider for Hermes, in a zip with the names that pip expects.

    python3 make_wheel.py BUILD_DIR VERSION OUT_DIR

The wheel is written byte for byte the same for the same input. Prints its path.
"""

from __future__ import annotations

import base64
import hashlib
import os
import platform
import stat
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
TIME = (2020, 1, 1, 0, 0, 0)


def digest(data: bytes) -> str:
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def main(build: str, version: str, out: str) -> int:
    tag = f"py3-none-linux_{platform.machine()}"
    info = f"holdfast-{version}.dist-info"
    files: "list[tuple[str, bytes, int]]" = []

    def add(name: str, data: bytes, mode: int = 0o644) -> None:
        files.append((name, data, mode))

    def add_file(name: str, path: str, mode: int = 0o644) -> None:
        with open(path, "rb") as source:
            add(name, source.read(), mode)

    package = os.path.join(HERE, "holdfast")
    for name in sorted(os.listdir(package)):
        if name.endswith(".py") or name == "py.typed":
            add_file(f"holdfast/{name}", os.path.join(package, name))
    add_file("holdfast/libholdfast.so.1", os.path.join(build, "lib", "libholdfast.so.1"), 0o755)
    for program in ("holdfast-keep", "holdfast-memory"):
        add_file(f"holdfast/{program}", os.path.join(build, "bin", program), 0o755)
    # The memory provider for Hermes, which looks for such entry points; it finds the package above by its name.
    plugin = os.path.join(HERE, "..", "..", "adapters", "hermes")
    for name in sorted(os.listdir(plugin)):
        if name.endswith(".py"):
            add_file(f"holdfast_hermes/{name}", os.path.join(plugin, name))
    with open(os.path.join(plugin, "plugin.yaml.in"), "rb") as source:
        add("holdfast_hermes/plugin.yaml", source.read().replace(b"@PROJECT_VERSION@", version.encode()))
    add(f"{info}/entry_points.txt", b"[hermes_agent.memory_providers]\nholdfast = holdfast_hermes\n")
    add_file(f"{info}/LICENSE", os.path.join(HERE, "..", "..", "LICENSE"))
    metadata = (
        f"Metadata-Version: 2.1\nName: holdfast\nVersion: {version}\n"
        "Summary: Keeps each helper process to exactly one, alive exactly as long as somebody holds it\n"
        "License: MIT\nRequires-Python: >=3.9\n"
    )
    add(f"{info}/METADATA", metadata.encode())
    add(f"{info}/WHEEL", f"Wheel-Version: 1.0\nGenerator: holdfast\nRoot-Is-Purelib: false\nTag: {tag}\n".encode())
    add(f"{info}/top_level.txt", b"holdfast\nholdfast_hermes\n")
    record = "".join(f"{name},{digest(data)},{len(data)}\n" for name, data, _ in files)
    add(f"{info}/RECORD", (record + f"{info}/RECORD,,\n").encode())

    os.makedirs(out, exist_ok=True)
    path = os.path.join(out, f"holdfast-{version}-{tag}.whl")
    with zipfile.ZipFile(path + ".tmp", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, data, mode in files:
            entry = zipfile.ZipInfo(name, TIME)
            entry.external_attr = (stat.S_IFREG | mode) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
    os.replace(path + ".tmp", path)
    print(path)
    return 0


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
