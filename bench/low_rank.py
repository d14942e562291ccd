"""How much of the time that saved numbers promise a low-rank layer really saves: the tasks of suites/linear-layers.toml.

    python3 bench/low_rank.py KW [TURNS]
    python3 bench/low_rank.py KW [TURNS] --in-turn

KW is the program kw; each layer is computed with the technique product_few_rows. The first form has whole layers and their factors
judged in turn, TURNS times (3), each time anew. The second form, for machines that are busy, builds the kernels with g++ and calls a
whole layer and its factors one after the other, TURNS times (1000), each after two calls that are not timed; a tenth of the times is
shorter than what it prints. What is promised is the ratio of the numbers, and what is reached the ratio of the times; of judged ones the
median of a turn's, with the least and the largest.
"""
import argparse
import ctypes
import json
import os
import random
import statistics
import subprocess
import tempfile

LAYERS = {"Linear_smollm2": (576, 1536, {"LowRank_smollm2_20": 335, "LowRank_smollm2_50": 209}),
          "Linear_qwen": (896, 4864, {"LowRank_qwen_20": 605, "LowRank_qwen_50": 378})}

# Around a kernel: tensors of random numbers, and the time of its third call.
AROUND = r"""
#include <kernelwright.h>
#include <sys/mman.h>
#include <time.h>
static float* numbers(int64_t count) {
  float* made = (float*)mmap(0, (size_t)count * 4, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int64_t i = 0; i < count; ++i) made[i] = (float)((i * 7919) % 2003 - 1001) / 20000;
  return made;
}
static kw_tensor tensors[4], result;
static kw_call call;
static void add(int64_t rows, int64_t columns) {
  kw_tensor* one = &tensors[call.input_count++];
  one->rank = rows > 0 ? 2 : 1;
  one->shape[0] = rows > 0 ? rows : columns;
  one->shape[1] = rows > 0 ? columns : 0;
  one->count = (rows > 0 ? rows : 1) * columns;
  one->dtype = KW_FLOAT32;
  one->data = numbers(one->count);
}
KW_EXPORT int begin(int64_t inputs, int64_t outputs, int64_t rank) {
  add(1, inputs);
  if (rank > 0) add(inputs, rank);
  add(rank > 0 ? rank : inputs, outputs);
  add(0, outputs);
  result = tensors[0];
  result.shape[1] = result.count = outputs;
  result.data = numbers(outputs);
  call.version = KW_CONTRACT_VERSION;
  call.threads = call.output_count = 1;
  call.inputs = tensors;
  call.outputs = &result;
  call.scratch_bytes = call.kept_bytes = 256 << 20;
  call.scratch = (unsigned char*)mmap(0, 256 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  call.kept = (unsigned char*)mmap(0, 256 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  const int failed = kw_prepare(&call);
  call.prepared = call.kept;
  return failed;
}
KW_EXPORT double third_call_ns(void) {
  struct timespec from, to;
  for (int i = 0; i < 3; ++i) {
    call.scratch_used = 0;
    clock_gettime(CLOCK_MONOTONIC, &from);
    if (kw_run(&call) != KW_OK) return -1;
    clock_gettime(CLOCK_MONOTONIC, &to);
  }
  return (double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec);
}
"""


def judged(kw, folder, turns):
    """Of each task its times in the turns."""
    times = {task: [] for whole, (_, _, thin) in LAYERS.items() for task in (whole, *thin)}
    for _ in range(turns):
        for task in times:
            said = subprocess.run([kw, "eval", task, f"{folder}/{task}.cpp", "--rival", "none", "--fresh", "--no-store", "--json"],
                                  capture_output=True, text=True).stdout
            verdict = json.loads(said)
            if not verdict["accepted"]:
                raise SystemExit(f"{task}: {verdict.get('reason')}")
            times[task].append(verdict["time_ns"])
    return times


def called_in_turn(folder, turns):
    """Of each task the time that a tenth of its calls was shorter than."""
    include = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "include")
    with open(f"{folder}/around.h", "w") as file:
        file.write(AROUND)
    times = {}
    for whole, (inputs, outputs, thin) in LAYERS.items():
        kernels = {}
        for task, rank in {whole: 0, **thin}.items():
            subprocess.run(["g++", "-std=c++20", "-O3", "-march=native", "-w", "-shared", "-fPIC", "-I", include, f"{folder}/{task}.cpp",
                            "-include", f"{folder}/around.h", "-o", f"{folder}/{task}.so"], check=True)
            kernels[task] = ctypes.CDLL(f"{folder}/{task}.so")
            kernels[task].begin.argtypes, kernels[task].third_call_ns.restype = [ctypes.c_int64] * 3, ctypes.c_double
            if kernels[task].begin(inputs, outputs, rank) != 0:
                raise SystemExit(f"{task}: it could not be prepared")
        taken = {task: [] for task in kernels}
        for _ in range(turns):
            for task in random.sample(list(kernels), len(kernels)):
                taken[task].append(kernels[task].third_call_ns())
        times |= {task: [sorted(all_ns)[len(all_ns) // 10]] for task, all_ns in taken.items()}
    return times


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kw")
    parser.add_argument("turns", nargs="?", type=int)
    parser.add_argument("--in-turn", action="store_true")
    given = parser.parse_args()
    folder = tempfile.mkdtemp()
    for task in [task for whole, (_, _, thin) in LAYERS.items() for task in (whole, *thin)]:
        subprocess.run([given.kw, "init", task, "--technique", "product_few_rows", "--out", f"{folder}/{task}.cpp"], check=True, capture_output=True)
    times = called_in_turn(folder, given.turns or 1000) if given.in_turn else judged(given.kw, folder, given.turns or 3)
    print("| layer | numbers | time | promised | reached | share |\n|---|---|---|---|---|---|")
    for whole, (inputs, outputs, thin) in LAYERS.items():
        print(f"| {whole} | {inputs * outputs:,} | {statistics.median(times[whole]) / 1000:.1f} us | | | |")
        for task, rank in thin.items():
            numbers = rank * (inputs + outputs)
            promised = inputs * outputs / numbers
            turns_reached = sorted(a / b for a, b in zip(times[whole], times[task]))
            reached = statistics.median(turns_reached)
            spread = f" ({turns_reached[0] / promised:.2f} to {turns_reached[-1] / promised:.2f})" if len(turns_reached) > 1 else ""
            print(f"| {task} | {numbers:,} | {statistics.median(times[task]) / 1000:.1f} us | {promised:.2f} | {reached:.2f} | "
                  f"{reached / promised:.2f}{spread} |")


main()
