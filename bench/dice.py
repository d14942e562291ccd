"""How many kernels of a model are built, right and faster, on tasks that it was not trained on.

    python bench/dice.py write ENGINE MODEL held_out.jsonl --out answers.jsonl [--tasks 64 --samples 16 --temperature 0.8]
    python bench/dice.py judge answers.jsonl --out judged.jsonl [--gym "kw gym"]
    python bench/dice.py table NAME=judged.jsonl ...

`write` asks ENGINE (kw-lm) for samples of tasks of a held-out file of `kw corpus export`, one of each structure, chosen
from the seed; `judge` sends them to the reward service and goes on where it was stopped; `table` prints pass@1 and pass@N
(at least one of a task's N samples) with 95 % intervals over the tasks.
"""
import argparse
import json
import pathlib
import random
import shlex
import subprocess
import sys
import threading
import time


def read_lines(path):
    return [json.loads(line) for line in pathlib.Path(path).read_text().splitlines() if line]


def chosen_tasks(path, count, seed):
    """Tasks of different structures, as many that have an unseen operator as that have an unseen structure."""
    lines = read_lines(path)
    random.Random(seed).shuffle(lines)
    kinds = {"structure": [], "operator": []}
    structures = set()
    for line in lines:
        if line["structure"] not in structures:
            structures.add(line["structure"])
            kinds[line["unseen"] or "structure"].append(line)
    of_structure = kinds["structure"][:max(count - count // 2, count - len(kinds["operator"]))]
    return of_structure + kinds["operator"][:count - len(of_structure)]


def write(given):
    tasks = chosen_tasks(given.held_out, given.tasks, given.seed)
    request = {"do": "generate", "model": given.model, "questions": [task["prompt"] for task in tasks], "samples": given.samples,
               "most_tokens": given.tokens, "temperature": given.temperature, "seed": given.seed, "device": given.device, "numbers": given.numbers}
    if given.passes:
        request |= {"steps": given.passes, "unmask": given.unmask, "threshold": given.threshold}
    begin = time.monotonic()
    made = subprocess.run([given.engine], input=json.dumps(request) + "\n", stdout=subprocess.PIPE, text=True, check=True).stdout
    done = json.loads(made.splitlines()[-1])
    if "error" in done:
        raise SystemExit(done["error"])
    done = done["done"]
    with open(given.out, "w") as out:
        for i, text in enumerate(done["texts"]):
            task, sample = tasks[i // given.samples], i % given.samples
            out.write(json.dumps({"id": f"{task['task']}.{sample}", "task": task["task"], "task_text": task["task_text"], "unseen": task["unseen"],
                                  "structure": task["structure"], "ended": done["ended"][i], "source": text}) + "\n")
    print(f"{len(tasks)} tasks, {len(done['texts'])} samples, {done['tokens']} tokens in {done['seconds']:.1f} s, "
          f"{done.get('passes', 0)} passes; {time.monotonic() - begin:.1f} s in all")


def judge(given):
    answers = read_lines(given.answers)
    out = pathlib.Path(given.out)
    known = {line["id"] for line in read_lines(out)} if out.exists() else set()
    left = {answer["id"]: answer for answer in answers if answer["id"] not in known}
    requests = "".join(json.dumps({key: answer[key] for key in ("id", "task_text", "source")}) + "\n" for answer in left.values())
    begin, made = time.monotonic(), 0
    with subprocess.Popen(shlex.split(given.gym), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as gym, open(out, "a") as file:
        threading.Thread(target=lambda: (gym.stdin.write(requests), gym.stdin.close()), daemon=True).start()
        for line in gym.stdout:
            reward = json.loads(line)
            if "error" in reward:
                print(line.strip(), file=sys.stderr)
                continue
            answer = left[reward["id"]]
            file.write(json.dumps({key: answer[key] for key in ("id", "task", "unseen", "structure", "ended")} |
                                  {key: reward.get(key) for key in ("built", "right", "stage", "reason", "speedup", "reward")}) + "\n")
            file.flush()
            made += 1
    print(f"{made} answers judged in {time.monotonic() - begin:.0f} s")


def interval(values, seed=1):
    """Of the mean, over tasks drawn anew."""
    drawn = random.Random(seed)
    means = sorted(sum(drawn.choices(values, k=len(values))) / len(values) for _ in range(2000))
    return means[50], means[1949]


def shares(lines, is_so):
    """By task: the share of samples of which it is so, and whether it is so of any."""
    tasks = {}
    for line in lines:
        tasks.setdefault(line["task"], []).append(is_so(line))
    return [sum(of) / len(of) for of in tasks.values()], [float(any(of)) for of in tasks.values()]


def table(given):
    columns = {"built": lambda line: bool(line["built"]), "right": lambda line: bool(line["right"]),
               "faster": lambda line: bool(line["right"]) and line["speedup"] is not None and line["speedup"]["low"] > 1}
    print("| model | tasks | samples | " + " | ".join(f"{name} at 1 | at all" for name in columns) + " |")
    print("|" + "---|" * (3 + 2 * len(columns)))
    for named in given.judged:
        name, _, path = named.partition("=")
        every = read_lines(path)
        for unseen in (None, "structure", "operator"):
            lines = [line for line in every if unseen in (None, line["unseen"])]
            if not lines:
                continue
            cells = []
            for is_so in columns.values():
                for values in shares(lines, is_so):
                    low, high = interval(values)
                    cells.append(f"{100 * sum(values) / len(values):.0f} % [{100 * low:.0f}, {100 * high:.0f}]")
            tasks = len({line["task"] for line in lines})
            print(f"| {name}{', unseen ' + unseen if unseen else ''} | {tasks} | {len(lines) / tasks:.0f} | " + " | ".join(cells) + " |")


def main():
    arguments = argparse.ArgumentParser()
    actions = arguments.add_subparsers(required=True)
    writing = actions.add_parser("write")
    for name in ("engine", "model", "held_out"):
        writing.add_argument(name)
    writing.add_argument("--out", required=True)
    for name, usual in {"tasks": 64, "samples": 16, "tokens": 1024, "seed": 1, "passes": 0}.items():
        writing.add_argument("--" + name, type=int, default=usual)
    for name, usual in {"temperature": 0.8, "threshold": 0.9}.items():
        writing.add_argument("--" + name, type=float, default=usual)
    for name, usual in {"unmask": "dynamic", "device": "cpu", "numbers": "F32"}.items():
        writing.add_argument("--" + name, default=usual)
    writing.set_defaults(do=write)
    judging = actions.add_parser("judge")
    judging.add_argument("answers")
    judging.add_argument("--out", required=True)
    judging.add_argument("--gym", default="kw gym")
    judging.set_defaults(do=judge)
    printing = actions.add_parser("table")
    printing.add_argument("judged", nargs="+")
    printing.set_defaults(do=table)
    given = arguments.parse_args()
    given.do(given)


main()
