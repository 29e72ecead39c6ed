#!/usr/bin/env bash
# `cmake --install` into an empty folder: the programs run from there, and what others look for is where they look.
#   check.sh BUILD VERSION
set -euo pipefail
build=$1 version=$2
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cmake --install "$build" --prefix "$place" >/dev/null

failed=0
expect() { # WORDS COMMAND…
    local words=$1
    shift
    "$@" || { echo "failed: $words" >&2; failed=1; }
}
says() { # TEXT COMMAND…
    local text=$1
    shift
    # Not into a pipe: grep -q would end it while it still prints.
    local said
    said=$("$@" 2>&1) || return 1
    [[ $said == *"$text"* ]]
}

export HOLDFAST_HOME=$place/home
for program in holdfast holdfast-keep holdfast-memory; do
    expect "$program can be run" test -x "$place/bin/$program"
done
expect "holdfast says its version" says "$version" "$place/bin/holdfast" --version
expect "holdfast runs a command" says kept "$place/bin/holdfast" run -- echo kept
expect "holdfast-memory is found beside it" says "" "$place/bin/holdfast" memory add "a word to keep"
expect "and has stored it" says "a word to keep" "$place/bin/holdfast" memory search "word to keep"
expect "the man page is there and says the version" grep -q "^.TH HOLDFAST 1 .*holdfast $version" "$place/share/man/man1/holdfast.1"
expect "the completion for bash parses" bash -n "$place/share/bash-completion/completions/holdfast"
expect "the completion for zsh names the command" grep -q '^#compdef holdfast' "$place/share/zsh/site-functions/_holdfast"
expect "the completion for fish is for the command" grep -q 'complete -c holdfast' "$place/share/fish/vendor_completions.d/holdfast.fish"
expect "the plugin for Hermes has the version" grep -qx "version: $version" "$place/share/holdfast/hermes/plugin.yaml"
expect "the C++ headers are there" test -f "$place/include/holdfast/supervisor.hpp"

pc=$(find "$place" -name holdfast.pc)
expect "pkg-config finds the library" says "$version" env PKG_CONFIG_PATH="$(dirname "$pc")" pkg-config --modversion holdfast
cat >"$place/host.c" <<'C'
#include <holdfast.h>
#include <stdio.h>
int main(void) { return puts(hf_version()) < 0; }
C
# shellcheck disable=SC2046
expect "a host can be built" cc "$place/host.c" -o "$place/host" \
    $(PKG_CONFIG_PATH=$(dirname "$pc") pkg-config --cflags --libs holdfast) -Wl,-rpath,"$(dirname "$(dirname "$pc")")"
expect "and says the version" says "$version" "$place/host"
exit $failed
