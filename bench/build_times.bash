#!/usr/bin/env bash
# How long the build takes, from a clean clone of HEAD in a temporary folder:
#
#   bench/build_times.bash [JOBS]       about six minutes on 2 cores; run it while nothing else works
#
# Prints the seconds and CPU seconds of the release build (what ./kw builds) and of the tests' build (what ./kw test
# builds), the seconds of a rebuild with link after one file was touched, and the ten slowest files of both builds. Needs
# the build and test packages of packages.txt. What is not committed is not measured.
set -euo pipefail
project=$(cd -- "$(dirname -- "$0")/.." && pwd)
jobs=${1:-$(nproc)}
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
clone=$work/clone
git clone -q -- "$project" "$clone"

# seconds COMMAND...: "WALL CPU", both in seconds; ends the script where the command fails.
seconds() {
  local TIMEFORMAT='%R %U %S'
  { time "$@" >"$work/log" 2>&1 || touch "$work/failed"; } 2>"$work/time"
  [[ ! -e $work/failed ]] || { tail -20 "$work/log" >&2; exit 1; }
  awk '{ printf "%.1f %.1f\n", $1, $2 + $3 }' "$work/time"
}

# built PRESET TITLE TARGET...: configures, builds, and prints one line.
built() {
  local preset=$1 title=$2 wall cpu
  shift 2
  cmake -S "$clone" --preset "$preset" >"$work/log" 2>&1 || { tail -20 "$work/log" >&2; exit 1; }
  read -r wall cpu < <(seconds cmake --build "$clone/build/$preset" -j "$jobs" --target "$@")
  printf '%-56s %7s s  %7s s\n' "$title" "$wall" "$cpu"
}

rebuilt() { # PRESET TARGET FILE
  local wall cpu
  touch "$clone/$3"
  read -r wall cpu < <(seconds cmake --build "$clone/build/$1" -j "$jobs" --target "$2")
  printf '%-56s %7s s  %7s s\n' "  $3 touched, $2 linked" "$wall" "$cpu"
}

# Of ninja's log (start and end in ms, …, output): the ten outputs that took longest.
slowest() { # PRESET
  awk -F'\t' '!/^#/ { took[$4] = $2 - $1 } END { for (file in took) print took[file] / 1000, file }' \
    "$clone/build/$1/.ninja_log" | sort -rn | head -10 |
    sed -E 's,[^ ]*CMakeFiles/([^/]*)\.dir/(__/)*,\1: ,; s,\.o$,,' | awk '{ printf "  %6.1f s  %s %s\n", $1, $2, $3 }'
}

printf 'machine  %s, %s cores, %s jobs\n' "$(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo)" "$(nproc)" "$jobs"
printf 'commit   %s\n' "$(git -C "$clone" rev-parse --short HEAD)"
printf 'date     %s\n' "$(date -u +%Y-%m-%dT%H:%MZ)"
printf 'load     %s at the start\n\n' "$(cut -d' ' -f1 /proc/loadavg)"
printf '%-56s %9s  %9s\n' "" wall CPU

built release "release build" kw
rebuilt release kw src/cli/commands/eval.cpp
rebuilt release kw src/ops/families/reduction.cpp
built ci "tests' build" all
rebuilt ci kw_tests src/core/tunables_test.cpp

printf '\nslowest files of the release build\n'
slowest release
printf "\nslowest files of the tests' build\n"
slowest ci
