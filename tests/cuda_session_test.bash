#!/usr/bin/env bash
# shellcheck disable=SC2016
# bench/cuda_session.bash without a GPU: programs that are scripts here, and a step that its limit ends. The next `run`
# goes on with that step and does nothing twice.
#
#   cuda_session_test.bash SOURCE_DIR
set -euo pipefail
source=$1
work=$(mktemp -d)
trap 'rm -rf -- "$work"' EXIT
mkdir -p "$work"/{tools,made/bin,tree/bench,tree/build/cuda-session,out}
cp -- "$source/bench/cuda_session.bash" "$work/tree/bench/"
script() { printf '#!/usr/bin/env bash\n%s\n' "$2" >"$1" && chmod +x "$1"; }
script "$work/tools/nvidia-smi" 'echo a GPU'
script "$work/made/bin/kw" 'echo "roofs of $KW_DATA"'
# As kw_cuda_bench --log FILE --within SECONDS: the first time one task is left.
script "$work/made/bin/kw_cuda_bench" '
[[ $1 == noise ]] && { echo "Relu no claim"; exit 0; }
[[ $3 == --log && $5 == --within && $6 -gt 0 ]] || exit 3
if [[ -s $4 ]]; then echo "2 tasks in 0.1 s: right 2"; else echo "L1_1 right" >"$4"; echo "2 tasks in 0.1 s: left 1 right 1"; exit 1; fi'
tar -czf "$work/tree/build/cuda-session/programs.tar.gz" -C "$work/made" bin
echo "$work/tree" >"$work/tree/build/cuda-session/built-in"
echo abc >"$work/tree/build/cuda-session/commit"

run() { OUT=$work/out PATH=$work/tools:$PATH "$work/tree/bench/cuda_session.bash" run 100 machine noise right-1 >"$work/said" 2>&1 || { cat "$work/said"; exit 1; }; }
failed() { echo "FAILED: $1" >&2; cat "$work/said" >&2; exit 1; }
results=$work/tree/build/cuda-session/results
run
grep -q "roofs of $work/tree" "$results/machine.txt" || failed "the programs that were packed are not the ones that ran"
[[ -e $results/noise.done && ! -e $results/right-1.done ]] || failed "a step with tasks left is not done"
# The results come back, and go on from there on another machine.
rm -rf -- "$results"
"$work/tree/bench/cuda_session.bash" keep "$work/out/results.tar.gz"
run
[[ $(grep -c '^== ' "$work/said") == 1 && -e $results/right-1.done ]] || failed "only what was left is done"
run
! grep -q '^== ' "$work/said" || failed "nothing is done twice"
# Every step is a command that there is.
"$work/tree/bench/cuda_session.bash" steps | while read -r name limit command; do
  [[ $limit =~ ^[0-9]+$ ]] || failed "$name has no limit"
  mode=$(sed -n 's/^kw_cuda_bench \([a-z-]*\).*/\1/p' <<<"$command")
  [[ -z $mode ]] || grep -q "kw_cuda_bench $mode " "$source/bench/cuda_bench.cpp" || failed "kw_cuda_bench has no mode $mode"
done
