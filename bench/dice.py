"""How many kernels of a model are built, right and faster, on tasks that it was not trained on.

    python bench/dice.py write ENGINE MODEL held_out.jsonl --out answers.jsonl [--target cpu --tasks 64 --samples 16 --temperature 0.8]
    python bench/dice.py judge answers.jsonl --out judged.jsonl [--gym "kw gym"]
    python bench/dice.py table NAME=judged.jsonl ...

`write` asks ENGINE (kw-lm) for samples of tasks of a held-out file of `kw corpus export`, or of a plan's held-out lines,
one of each structure and then others, chosen from the seed; `judge` sends them to the reward service and goes on where it
was stopped; `table` prints pass@1 and pass@N (at least one of a task's N samples) with 95 % intervals over the tasks.
bench/dice_train.py trains models and measures them with this.
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


def chosen_tasks(path, count, seed, target=None):
    """As many that have an unseen operator as that have an unseen structure; a structure comes twice only where there are too few."""
    lines = [line for line in read_lines(path) if "prefix" not in line and target in (None, line.get("target"))]
    random.Random(seed).shuffle(lines)
    kinds, again = {"structure": [], "operator": []}, {"structure": [], "operator": []}
    structures, tasks = set(), set()
    for line in lines:
        if line["task"] not in tasks:
            tasks.add(line["task"])
            (again if line["structure"] in structures else kinds)[line["unseen"] or "structure"].append(line)
            structures.add(line["structure"])
    for kind, others in again.items():
        kinds[kind] += others
    of_structure = kinds["structure"][:max(count - count // 2, count - len(kinds["operator"]))]
    return of_structure + kinds["operator"][:count - len(of_structure)]


def asked(engine, request):
    """What kw-lm has done; the lines before its last are passed over."""
    made = subprocess.run([engine], input=json.dumps(request) + "\n", stdout=subprocess.PIPE, text=True, check=True).stdout
    last = json.loads(made.splitlines()[-1])
    if "error" in last:
        raise SystemExit(last["error"])
    return last["done"]


def write(given):
    tasks = chosen_tasks(given.held_out, given.tasks, given.seed, given.target)
    if not tasks:
        raise SystemExit(f"{given.held_out}: no task to ask for")
    request = {"do": "generate", "model": given.model, "questions": [task["prompt"] for task in tasks], "samples": given.samples,
               "most_tokens": given.tokens, "temperature": given.temperature, "seed": given.seed, "device": given.device, "numbers": given.numbers}
    if given.passes:
        request |= {"steps": given.passes, "unmask": given.unmask, "threshold": given.threshold}
    begin = time.monotonic()
    done = asked(given.engine, request)
    with open(given.out, "w") as out:
        for i, text in enumerate(done["texts"]):
            task, sample = tasks[i // given.samples], i % given.samples
            out.write(json.dumps({"id": f"{task['task']}.{sample}", "task": task["task"], "task_text": task["task_text"], "target": task.get("target"),
                                  "unseen": task["unseen"], "structure": task["structure"], "ended": done["ended"][i], "source": text}) + "\n")
    print(f"{len(tasks)} tasks, {len(done['texts'])} samples, {done['tokens']} tokens in {done['seconds']:.1f} s, "
          f"{done.get('passes', 0)} passes; {time.monotonic() - begin:.1f} s in all", flush=True)


def send(gym, requests):
    try:
        gym.stdin.write(requests)
        gym.stdin.close()
    except BrokenPipeError:
        pass  # it was ended


def judge(given):
    answers = read_lines(given.answers)
    out = pathlib.Path(given.out)
    if out.exists():  # a kill may have left half a line
        text = out.read_text()
        out.write_text(text[:text.rfind("\n") + 1])
    known = {line["id"] for line in read_lines(out)} if out.exists() else set()
    left = {answer["id"]: answer for answer in answers if answer["id"] not in known}
    requests = "".join(json.dumps({key: answer[key] for key in ("id", "task_text", "source")}) + "\n" for answer in left.values())
    begin, made = time.monotonic(), 0
    with subprocess.Popen(shlex.split(given.gym), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as gym, open(out, "a") as file:
        threading.Thread(target=send, args=[gym, requests], daemon=True).start()
        if given.seconds:
            threading.Timer(given.seconds, gym.terminate).start()
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
    print(f"{made} of {len(answers)} answers judged in {time.monotonic() - begin:.0f} s, {len(known)} before", flush=True)


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


def printed_table(judged):
    """Rows of Markdown for [(name, path of judged answers)]."""
    columns = {"built": lambda line: bool(line["built"]), "right": lambda line: bool(line["right"]),
               "faster": lambda line: bool(line["right"]) and line["speedup"] is not None and line["speedup"]["low"] > 1}
    rows = ["| model | tasks | samples | " + " | ".join(f"{name} at 1 | at all" for name in columns) + " |", "|" + "---|" * (3 + 2 * len(columns))]
    for name, path in judged:
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
            rows.append(f"| {name}{', unseen ' + unseen if unseen else ''} | {tasks} | {len(lines) / tasks:.0f} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def table(given):
    print(printed_table([named.partition("=")[::2] for named in given.judged]))


def given_for(words):
    arguments = argparse.ArgumentParser()
    actions = arguments.add_subparsers(required=True)
    writing = actions.add_parser("write")
    for name in ("engine", "model", "held_out"):
        writing.add_argument(name)
    writing.add_argument("--out", required=True)
    writing.add_argument("--target", help="cpu or cuda; without it tasks of all")
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
    judging.add_argument("--seconds", type=float, help="end then; the same command goes on")
    judging.set_defaults(do=judge)
    printing = actions.add_parser("table")
    printing.add_argument("judged", nargs="+")
    printing.set_defaults(do=table)
    return arguments.parse_args(words)


if __name__ == "__main__":
    wanted = given_for(sys.argv[1:])
    wanted.do(wanted)
