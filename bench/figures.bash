#!/usr/bin/env bash
# Prints the figures of the house on this machine, from a clean build:
#
#   bench/figures.bash          about ten minutes on 2 cores; run it while nothing else works
#
# How long a clean release build and the rebuild after an edit take, how fast the program starts, how long the slowest
# right answer takes, and how many cases of others the operators were tested on.
set -euo pipefail
root=$(cd -- "$(dirname -- "$0")/.." && pwd)
cd -- "$root"
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT

seconds() { local start=$EPOCHREALTIME; "$@" >"$work/log" 2>&1 || { tail -20 "$work/log" >&2; exit 1; }; awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }
# The median of 21 runs, in milliseconds.
milliseconds() {
  for _ in {1..21}; do
    local start=$EPOCHREALTIME; "$@" >/dev/null; awk -v a="$start" -v b="$EPOCHREALTIME" 'BEGIN { print 1000 * (b - a) }'
  done | sort -n | awk 'NR == 11 { printf "%.1f", $1 }'
}

printf 'machine: %s, %s cores\n' "$(awk -F': ' '/model name/ { print $2; exit }' /proc/cpuinfo)" "$(nproc)"

cmake -S . -B "$work/release" -G Ninja >"$work/log"
printf 'clean release build: %s s\n' "$(seconds cmake --build "$work/release")"
for file in $(wc -l src/ops/families/*.cpp | grep -v -e total -e _test | sort -rn | awk 'NR <= 3 { print $2 }'); do
  printf 'edit of %s, rebuilt and linked: %s s\n' "$file" "$(touch "$file"; seconds cmake --build "$work/release")"
done

kw=$work/release/bin/kw
for words in "" "--help" "tasks" "show Softmax" "show Det_2d" "show ConvolutionDepthwise"; do
  # shellcheck disable=SC2086
  printf 'kw %s: %s ms\n' "$words" "$(milliseconds "$kw" $words)"
done

"$kw" tasks | tail -1
cmake --build build/ci >"$work/log" 2>&1 || { echo "run ./kw test once: the rest needs what it builds" >&2; exit 1; }
build/ci/bin/kw_reference_bench | tail -1
python=build/python/bin/python
build/ci/bin/kw_onnx_cases "$(dirname "$(dirname "$(dirname "$(dpkg -L libonnx-testdata | grep -m1 'node/test_abs/model.onnx')")")")"/{node,simple,pytorch-operator,pytorch-converted} | grep ' passed, '
"$python" -W ignore tests/onnx_cases/generate.py "$work/cases" >"$work/log" 2>&1
build/ci/bin/kw_onnx_cases "$work/cases/node" | grep ' passed, '
build/ci/bin/kw_differential "$python" tests/differential/run_onnxruntime.py "$work" | tail -1
build/ci/bin/kw_differential "$python" tests/differential/run_onnxruntime.py "$work" suites | tail -1
