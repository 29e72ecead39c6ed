#!/bin/sh
# Types and style of the plugin, by the tools that Debian packages. Run as: lint.sh SOURCE_DIR
set -eu
cd "$1"
cache=$(mktemp -d)
trap 'rm -rf "$cache"' EXIT
(cd adapters && MYPYPATH=../bindings/python /usr/bin/mypy --strict --follow-imports=silent --python-version 3.11 \
    --cache-dir "$cache" hermes)
(cd tests/e2e/hermes && MYPYPATH=. /usr/bin/mypy --strict --python-version 3.11 --cache-dir "$cache" ./*.py)
/usr/bin/python3 -m flake8 --max-line-length 130 adapters/hermes tests/e2e/hermes bench/hermes
# No threads, processes or pipes of its own, and no sleep where a request can wait.
if grep -nE 'sleep|subprocess|Popen|os\.(fork|pipe|spawn|posix_spawn|system)\b|Thread\(|multiprocessing|concurrent|socket' adapters/hermes/*.py; then
    exit 1
fi
# A checker that finds nothing wrong in something wrong is none.
printf 'import os\nx: int = "no"\n' >"$cache/wrong.py"
if /usr/bin/mypy --strict --cache-dir "$cache" "$cache/wrong.py" >/dev/null; then echo "mypy sees nothing" >&2; exit 1; fi
if /usr/bin/python3 -m flake8 "$cache/wrong.py" >/dev/null; then echo "flake8 sees nothing" >&2; exit 1; fi
