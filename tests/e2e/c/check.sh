#!/bin/sh
# The C and C++ faces from outside: the library is installed elsewhere, found by pkg-config, and used by programs that
# see nothing else of the build.
#   check.sh SOURCE_DIR BUILD_DIR
set -eu
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
token=hf$(basename "$work" | tr -dc 'a-zA-Z0-9')

fail() {
    echo "$*"
    exit 1
}

DESTDIR= cmake --install "$build" --component library --prefix "$work/first" >/dev/null
mv "$work/first" "$work/installed" # the tree may be moved
library=$(find "$work/installed" -name 'libholdfast.so.1')
libdir=$(dirname "$library")
[ -n "$library" ] || fail "the library was not installed"

# Nothing is visible but the documented functions, each under its version.
visible=$(nm -D --defined-only "$library" | awk '{print $3}')
stray=$(printf '%s\n' "$visible" | grep -v '^hf_[a-z_]*@@HOLDFAST_1$' | grep -v '^HOLDFAST_1$' || true)
[ -z "$stray" ] || fail "visible, and should not be: $stray"
documented=$(tr '\n' ' ' <"$source/include/holdfast.h" | grep -o 'HF_API [^;]*' | grep -o 'hf_[a-z_]*(' | tr -d '(' | sort -u)
for name in $documented; do
    printf '%s\n' "$visible" | grep -q "^$name@@" || fail "$name is documented and not there"
done
[ "$(printf '%s\n' "$documented" | wc -l)" -eq "$(printf '%s\n' "$visible" | grep -c '^hf_')" ] ||
    fail "there are functions that the header does not have"
# It needs no C++ library of the host.
if ldd "$library" | grep -q 'libstdc++'; then
    fail "it needs libstdc++"
fi

export PKG_CONFIG_PATH="$libdir/pkgconfig"
[ "$(pkg-config --modversion holdfast)" = "$(pkg-config --modversion holdfast-cpp)" ] || fail "two versions"
# shellcheck disable=SC2046
cc -std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror -o "$work/c_face" -pthread \
    "$source/tests/e2e/c/c_face.c" $(pkg-config --cflags --libs holdfast)
# shellcheck disable=SC2046
c++ -Wall -Wextra -Werror -o "$work/cpp_face" "$source/tests/e2e/c/cpp_face.cpp" $(pkg-config --cflags --libs holdfast-cpp)

# It finds its keeper by itself: beside the installed tree's own folders, with nothing in PATH or the environment.
for program in c_face cpp_face; do
    mkdir -p "$work/home"
    # The C++ program is linked statically, so it is its own place that counts.
    cp "$work/$program" "$work/installed/bin/$program"
    env -u HOLDFAST_KEEP HOLDFAST_HOME="$work/home" LD_LIBRARY_PATH="$libdir" \
        "$work/installed/bin/$program" "$build/bin/zoo/rpc_helper" "--token=$token" || fail "$program failed"
done

left=
for process in /proc/[0-9]*; do
    case $(tr '\0' ' ' 2>/dev/null <"$process/cmdline" || true) in
    *"$token"*) left="$left $process" ;;
    esac
done
[ -z "$left" ] || fail "left behind:$left"
