#!/usr/bin/env bash
# All figures of CUDA kernels on a machine with a GPU that is lent for minutes, has no packages of ours and reaches nothing.
#
#   bench/cuda_session.bash pack [BUILD]         here: programs of BUILD (build/ci) with their libraries into build/cuda-session
#   bench/cuda_session.bash run [SECONDS] [STEP...]   there: the steps that are not done yet, in order of importance, within
#                                                SECONDS (570); results in build/cuda-session/results, and in $OUT as one archive
#   bench/cuda_session.bash keep ARCHIVE         here: results that came back, for the next `run` to go on from
#   bench/cuda_session.bash show                 the last lines of each step's result
#   bench/cuda_session.bash steps                the steps with their time limits
#
# The machine needs g++, CUDA's toolkit (NVRTC), for rivals a python3 with PyTorch, and to be root once, for a link to this folder
# under the path where the programs were built (their tests know it). Debian's patchelf is needed to pack. Nothing is built there:
# carry build/cuda-session (22 MB; git ignores it) with the working tree. A step that its limit ends goes on at its next task in
# the next `run`, and what it has by then is among the results: tasks are logged one by one (kw_cuda_bench --log), runs of
# `kw bench` are in a record that is carried along (kw resume).
set -euo pipefail
root=$(cd -- "$(dirname -- "$0")/.." && pwd)
cd -- "$root"
packed=build/cuda-session
results=$packed/results
programs=(kw kw-warden kw-nvrtc kw-cuda-worker kw_tests kw_cuda_bench kw_cuda_export)

# NAME SECONDS COMMAND: at most so long in one `run`; LEFT is what is left of it. In order of importance.
steps() {
  cat <<'END'
machine       30  nvidia-smi && kw doctor --target cuda
gpu-tests     150 kw_tests --gtest_filter=Gpu*:*/Gpu*:*/EveryTarget.*/cuda --gtest_brief=1
products      60  times L1_1_Matmul_square L1_1_Matmul_square@tf32 L1_1_Matmul_square@bfloat16 L1_1_Matmul_square@float16
profile       60  profiled L1_1_Matmul_square L1_1_Matmul_square@tf32 L1_1_Matmul_square@bfloat16
noise         60  kw_cuda_bench noise
speed         60  kw_cuda_bench speed
right-1       150 kw_cuda_bench judged-drafts L1_ --log FILE --within LEFT
right-2       150 kw_cuda_bench judged-drafts L2_ --log FILE --within LEFT
times-1       120 times L1_*
times-2       120 times L2_*
beside-1      500 kw_cuda_bench beside-torch L1_ --log FILE --within LEFT
beside-2      500 kw_cuda_bench beside-torch L2_ --log FILE --within LEFT
right-3       150 kw_cuda_bench judged-drafts L3_ --log FILE --within LEFT
beside-3      300 kw_cuda_bench beside-torch L3_ --log FILE --within LEFT
large         300 kw_cuda_bench large L1_ --log FILE --within LEFT
plain         200 kw_cuda_bench plain --log FILE --within LEFT
bench-1       550 searched 1
bench-2       550 searched 2
bench-3       550 searched 3
END
}

pack() {
  local build=${1:-build/ci} program library
  command -v patchelf >/dev/null || { echo "patchelf is missing: apt-get install patchelf" >&2; exit 2; }
  rm -rf -- "${packed:?}/bin"
  mkdir -p "$packed/bin" "$results"
  for program in "${programs[@]}"; do
    cp -- "$build/bin/$program" "$packed/bin/"
    strip -- "$packed/bin/$program"
    # What every Linux has of its own must fit to its own loader.
    ldd "$build/bin/$program" | awk '$3 ~ /^\// { print $3 }' | grep -Ev '/(libc|libm|libgcc_s|libstdc\+\+|libdl|libpthread|librt)\.so' |
      while read -r library; do cp -Lu -- "$library" "$packed/bin/"; done
    patchelf --set-rpath "\$ORIGIN" "$packed/bin/$program"
  done
  for library in "$packed"/bin/*.so*; do patchelf --set-rpath "\$ORIGIN" "$library"; done
  tar -czf "$packed/programs.tar.gz" -C "$packed" bin
  rm -rf -- "${packed:?}/bin"
  printf '%s\n' "$root" >"$packed/built-in"
  git rev-parse --short HEAD >"$packed/commit"
  du -sh -- "$packed"
}

# First drafts beside eager PyTorch, in the tasks' own sizes, without the judge (bench/cuda_times.py): a line a task.
# shellcheck disable=SC2154
times() {
  local folder=$packed/exported/$step
  mkdir -p "$folder"
  kw_cuda_export "$folder" "$@" >"$folder/said" 2>&1 || tail -3 "$folder/said"
  python3 bench/cuda_times.py "$folder" "$((left - SECONDS - 5))"
}

# What Nsight Compute counts in the first launches of each: how busy tensor cores and memory are, bank conflicts, what warps wait for.
# shellcheck disable=SC2154
profiled() {
  local folder=$packed/exported/$step task
  for task; do
    mkdir -p "$folder/$task"
    kw_cuda_export "$folder/$task" "$task" && ncu --clock-control none --kernel-name regex:node --launch-count 2 --section SpeedOfLight \
      --section MemoryWorkloadAnalysis_Tables --section WarpStateStats --section LaunchStats python3 bench/cuda_times.py "$folder/$task" 10
  done
}

# The whole benchmark of a level: a search of a second for each task, beside PyTorch.
searched() {
  local store=$results/store-$1
  if [[ -d $store ]]; then
    kw resume r1 --store "$store" --quiet
  else
    kw bench kernelbench --level "$1" --target cuda --budget 1s --rival torch,torch_compile --store "$store" --quiet
  fi
}

gather() { [[ -z ${OUT-} ]] || tar -czf "$OUT/results.tar.gz" -C "$packed" results; }

run() {
  local total=570 begin=$SECONDS wanted=() built_in name limit command code
  [[ ${1-} =~ ^[0-9]+$ ]] && { total=$1; shift; }
  wanted=("$@")
  [[ -e $packed/programs.tar.gz ]] || { echo "there is no $packed/programs.tar.gz: \`$0 pack\` makes it, carry $packed" >&2; exit 2; }
  nvidia-smi >/dev/null || { echo "there is no GPU here" >&2; exit 2; }
  [[ -d $packed/bin ]] || tar -xzf "$packed/programs.tar.gz" -C "$packed"
  built_in=$(<"$packed/built-in")
  # Tests know where their data was.
  [[ -e $built_in ]] || { mkdir -p "$(dirname -- "$built_in")" && ln -s -- "$root" "$built_in"; }
  export PATH=$root/$packed/bin:$PATH KW_DATA=$root XDG_CACHE_HOME=$root/$packed/cache
  mkdir -p "$results"
  while read -r name limit command; do
    left=$((total - (SECONDS - begin) - 5))
    ((left >= 15)) || { echo "no time is left for $name and what follows"; break; }
    [[ ! -e $results/$name.done ]] || continue
    [[ ${#wanted[@]} == 0 || " ${wanted[*]} " == *" $name "* ]] || continue
    left=$((left < limit ? left : limit))
    command=${command//FILE/$results\/$name.log}
    # Time for the task that is under way when no further one is begun.
    command=${command//LEFT/$((left > 40 ? left - 20 : left / 2))}
    echo "== $name (at most $left s)"
    code=0
    timeout --kill-after=5 "$left" bash -c "set -f; packed=$packed results=$results step=$name left=$left; $(declare -f times profiled searched); $command" \
      </dev/null >"$results/$name.txt" 2>&1 || code=$?
    tail -n 3 -- "$results/$name.txt"
    printf '%s: exit code %s after %s s, %s, commit %s\n' "$name" "$code" "$((SECONDS - begin))" "$(date -u +%F)" "$(<"$packed/commit")" |
      tee -a "$results/steps.txt"
    # What was ended, or has left tasks for the next time, is not done.
    if [[ $code != 124 && $code != 137 ]] && ! tail -n 5 -- "$results/$name.txt" | grep -Eq ' left [0-9]|no time is left'; then touch "$results/$name.done"; fi
    gather
  done < <(steps)
  gather
}

case ${1-} in
  pack) shift; pack "$@" ;;
  run) shift; run "$@" ;;
  keep) mkdir -p "$packed"; tar -xzf "$2" -C "$packed" ;;
  show) tail -n 4 -- "$results"/*.txt ;;
  steps) steps ;;
  *) sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"; exit 2 ;;
esac
