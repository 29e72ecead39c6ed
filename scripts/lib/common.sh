# Shared by the scripts: say what is done, install what is missing, build.
# shellcheck shell=bash

holdfast_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
cd "$holdfast_root" || exit 1

# Bold on a terminal that can, plain everywhere else.
strong() {
    if [ -t 1 ] && [ -z "${NO_COLOR:-}" ] && [ "${TERM:-dumb}" != dumb ]; then printf '\033[1m%s\033[0m' "$*"; else printf '%s' "$*"; fi
}
say() { printf '%s %s\n' "$(strong '==>')" "$*"; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# need_packages NAME...: install the Debian packages that are not there yet; silent when all are.
need_packages() {
    local missing=() package
    for package in "$@"; do
        # What matters is the tool, not where it came from: node may be installed by hand.
        case $package in
        nodejs) command -v node >/dev/null && continue ;;
        npm) command -v npm >/dev/null && continue ;;
        esac
        [ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return 0
    say "installing ${missing[*]}"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# For ccache: what was compiled in one checkout serves another, and a precompiled header is known by what is in it.
# Dependencies are taken from the compiler: a preprocessor run for each file would cost a first build a fifth more.
export CCACHE_BASEDIR=$holdfast_root CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
export CCACHE_SLOPPINESS=pch_defines,time_macros

# read_packages FILE: the package names of a list file, comments left out.
read_packages() { sed "s/#.*//" "$1" | xargs -n1 echo; }

# configure_and_build DIR [cmake option...]: configure once, build what changed. $targets: only these.
configure_and_build() {
    local dir=$1
    shift
    mkdir -p "$dir"
    local launcher=()
    command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
    cmake -S . -B "$dir" -G Ninja "${launcher[@]}" "$@" >"$dir/configure.log" 2>&1 ||
        { cat "$dir/configure.log"; return 1; }
    # shellcheck disable=SC2086
    cmake --build "$dir" ${targets:+--target $targets}
}
