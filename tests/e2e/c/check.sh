#!/bin/sh
# The C face from outside: a C compiler, the header, the library and its pkg-config file, nothing else of the build.
#   check.sh SOURCE_DIR BUILD_DIR
set -eu
source=$1
build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
token=hf$(basename "$work" | tr -dc 'a-zA-Z0-9')

# Nothing is visible but the documented functions, each under its version.
visible=$(nm -D --defined-only "$build/lib/libholdfast.so.1" | awk '{print $3}')
stray=$(printf '%s\n' "$visible" | grep -v '^hf_[a-z_]*@@HOLDFAST_1$' | grep -v '^HOLDFAST_1$' || true)
[ -z "$stray" ] || { echo "visible, and should not be: $stray"; exit 1; }
for name in $(grep -o 'HF_API [^;]*' "$source/include/holdfast.h" | grep -o 'hf_[a-z_]*(' | tr -d '('); do
    printf '%s\n' "$visible" | grep -q "^$name@@" || { echo "$name is documented and not there"; exit 1; }
done
# It needs no C++ library of the host.
if ldd "$build/lib/libholdfast.so.1" | grep -q 'libstdc++'; then
    echo "it needs libstdc++"
    exit 1
fi

cc -std=c99 -D_POSIX_C_SOURCE=200809L -Wall -Wextra -Wpedantic -Werror -I"$source/include" -o "$work/c_face" \
    "$source/tests/e2e/c/c_face.c" -L"$build/lib" -Wl,-rpath,"$build/lib" -lholdfast
HOLDFAST_HOME="$work" HOLDFAST_KEEP="$build/bin/holdfast-keep" "$work/c_face" "$build/bin/zoo/rpc_helper" "--token=$token"

# What pkg-config would say, after an installation elsewhere.
DESTDIR= cmake --install "$build" --prefix "$work/installed" --component Unspecified >/dev/null
pc=$(find "$work/installed" -name holdfast.pc)
[ -n "$pc" ] && grep -q '^Libs: -L${libdir} -lholdfast$' "$pc" || { echo "there is no usable holdfast.pc"; exit 1; }
[ -f "$work/installed/include/holdfast.h" ] && [ -f "$work/installed/include/holdfast/supervisor.hpp" ] || { echo "headers are missing"; exit 1; }

left=
for process in /proc/[0-9]*; do
    case $(tr '\0' ' ' 2>/dev/null <"$process/cmdline" || true) in
    *"$token"*) left="$left $process" ;;
    esac
done
[ -z "$left" ] || { echo "left behind:$left"; exit 1; }
