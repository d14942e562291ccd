"""How much of the time that saved numbers promise a low-rank layer really saves: the tasks of suites/linear-layers.toml.

    python3 bench/low_rank.py KW [TURNS]

KW is the program kw. Whole layers and their factors are judged in turn, TURNS times (3), each time anew, each with the technique
product_few_rows; what is promised is the ratio of their numbers, and what is reached the median ratio of their times in a turn,
with the least and the largest.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

LAYERS = {"Linear_smollm2": (576, 1536, {"LowRank_smollm2_20": 335, "LowRank_smollm2_50": 209}),
          "Linear_qwen": (896, 4864, {"LowRank_qwen_20": 605, "LowRank_qwen_50": 378})}


def main():
    kw, turns = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
    folder = tempfile.mkdtemp()
    tasks = [task for whole, (_, _, thin) in LAYERS.items() for task in (whole, *thin)]
    times = {task: [] for task in tasks}
    for task in tasks:
        subprocess.run([kw, "init", task, "--technique", "product_few_rows", "--out", f"{folder}/{task}.cpp"], check=True, capture_output=True)
    for _ in range(turns):
        for task in tasks:
            said = subprocess.run([kw, "eval", task, f"{folder}/{task}.cpp", "--rival", "none", "--fresh", "--no-store", "--json"], capture_output=True, text=True).stdout
            verdict = json.loads(said)
            if not verdict["accepted"]:
                raise SystemExit(f"{task}: {verdict.get('reason')}")
            times[task].append(verdict["time_ns"])
    print("| layer | numbers | time | promised | reached | share |\n|---|---|---|---|---|---|")
    for whole, (inputs, outputs, thin) in LAYERS.items():
        print(f"| {whole} | {inputs * outputs:,} | {statistics.median(times[whole]) / 1000:.1f} us | | | |")
        for task, rank in thin.items():
            numbers = rank * (inputs + outputs)
            promised = inputs * outputs / numbers
            turns_reached = sorted(a / b for a, b in zip(times[whole], times[task]))
            reached = statistics.median(turns_reached)
            spread = f"{turns_reached[0] / promised:.2f} to {turns_reached[-1] / promised:.2f}"
            print(f"| {task} | {numbers:,} | {statistics.median(times[task]) / 1000:.1f} us | {promised:.2f} | {reached:.2f} | "
                  f"{reached / promised:.2f} ({spread}) |")


main()
