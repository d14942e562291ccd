"""Trains the small model that writes kernels, from the corpus to the tables, in steps that each fit into ten minutes of a lent GPU.

    python3 bench/dice_train.py FOLDER STEP[,STEP...] [--kw PATH] [--out DIR] [--seconds 570] ...

Here, on a machine with Kernelwright's packages and no GPU:

    corpus     draws tasks and kernels from the seed, for CPUs and GPUs (`kw corpus build --plan`): FOLDER/corpus.jsonl.xz, held_out.jsonl.xz
    pack       the program, the libraries and headers that a bare machine lacks: FOLDER/machine.tar.xz

There (FOLDER has travelled; what is made lies in WORK, FOLDER-work):

    engine     unpacks that, installs what is not there (root), and builds kw-lm against the Python's torch
    sft        supervised training, for --minutes; how many steps that is comes from the speed of the first ones
    twin       the autoregressive twin, with the same lines, sizes and steps
    stage1     rewards for filled holes, for --minutes, from sft; stage2: for whole kernels, from stage1
    answers    what each model that is there writes for held-out tasks of both targets
    judge      rewards of these answers, for --seconds at most
    bring      to --out: models in pieces of 15 MiB, curves, answers, in at most eight files

And here again:

    take       what came back (--out), joined into FOLDER
    judge, table, card     the rest of the judging; tables of pass@1 and pass@16; MODEL.md beside the weights

A step that is done is passed over, one that was stopped goes on where its last checkpoint is. --seconds is for all steps of a call together: what
does not fit is left for the next one, and `bring` comes last whatever happened. Everything follows from --seed but speeds, and how many steps fit.
"""
import argparse
import io
import json
import lzma
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tarfile
import threading
import time

import dice

ROOT = pathlib.Path(__file__).resolve().parent.parent
MODELS = ("sft", "twin", "stage1", "stage2")
TARGETS = {"cpu": "cpu", "cuda": "cuda:emulated"}  # and where it is judged without a GPU
SIZES = {"vocabulary": 4096, "layers": 8, "width": 384, "inner_width": 1024, "heads": 6, "kv_heads": 2, "head_size": 64, "context": 4096}
PIECE, MOST_BACK = 15 << 20, 62 << 20
KEPT = ("prompt", "prefix", "answer", "suffix", "task", "target", "technique", "structure", "split", "unseen")
RESERVE_S = 40  # for writing and bringing what a step has made


def seconds_left(given):
    return given.deadline - time.monotonic()


def say(*words):
    print(*words, flush=True)


def lines_of_xz(path):
    with lzma.open(path, "rt") as file:
        for line in file:
            yield json.loads(line)


def task_text_of(prompt):
    """The prompt's last lines (docs/corpus.md)."""
    return "".join(line for line in prompt.splitlines(True)[1:] if not line.startswith("header <"))


# --- here ---------------------------------------------------------------------------------------------------------------------------------------------


def drawn(given, target, count, longest):
    """Of each kernel the line of the whole, and for some one of its holes."""
    words = [given.kw, "corpus", "build", "--plan", "--json", "--form", "infill", "--target", TARGETS[target], "--count", count, "--points", given.points,
             "--longest", longest, "--seed", given.seed]
    chosen = random.Random(given.seed)
    holes = []

    def one_of(holes):
        if holes and chosen.random() < given.holes:
            yield chosen.choice(holes)
        holes.clear()

    with subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True) as plan:
        for text in plan.stdout:
            line = json.loads(text)
            line["target"] = target
            short = {name: line[name] for name in KEPT if name in line}
            if "prefix" in line:
                holes.append(short)
            else:
                yield from one_of(holes)
                yield short
        yield from one_of(holes)
    if plan.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} failed")


def corpus(given):
    if (given.folder / "corpus.json").exists():
        return say("corpus: is there")
    parts = {"train": [], "held_out": []}
    facts = {"seed": given.seed, "points": given.points, "holes": given.holes}
    for target, count, longest in (("cpu", given.lines, given.longest), ("cuda", given.cuda_lines, given.longest_cuda)):
        begin = time.monotonic()
        for line in drawn(given, target, count, longest) if count else ():
            parts[line["split"]].append(line)
        facts[target] = {"asked": count, "longest": longest, "seconds": round(time.monotonic() - begin)}
    facts["lines"] = {}
    for name, lines in parts.items():
        random.Random(given.seed).shuffle(lines)
        for line in lines:
            kind = f"{name} {line['target']} {'hole' if 'prefix' in line else 'kernel'}"
            facts["lines"][kind] = facts["lines"].get(kind, 0) + 1
        if name == "held_out":
            lines = [line for line in lines if "prefix" not in line]
        with lzma.open(given.folder / f"{'corpus' if name == 'train' else name}.jsonl.xz", "wt", preset=3) as file:
            for line in lines:
                file.write(json.dumps(line) + "\n")
    (given.folder / "corpus.json").write_text(json.dumps(facts, indent=1) + "\n")
    say(f"corpus: {facts['lines']}")


def pack(given):
    """The program as installed, and of Debian's files those that it and kw-lm need."""
    build = pathlib.Path(given.kw).resolve().parent.parent
    machine = given.work / "machine"
    shutil.rmtree(machine, ignore_errors=True)
    place = machine / "kw"
    subprocess.run(["cmake", "--install", build, "--prefix", place, "--strip"], stdout=subprocess.DEVNULL, check=True)
    shutil.rmtree(place / "share" / "doc", ignore_errors=True)
    libraries = set()
    for program in [place / "bin" / "kw", *(place / "libexec" / "kernelwright").iterdir()]:
        for line in subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout.splitlines():
            words = line.split()
            if "=>" in words and not words[0].startswith(("libc.", "libm.", "libstdc++", "libgcc_s", "libdl", "libpthread")):
                libraries.add(words[2])
    usr = machine / "usr"
    into = usr / "lib" / "x86_64-linux-gnu"
    into.mkdir(parents=True)
    for library in libraries:
        shutil.copy(os.path.realpath(library), into / pathlib.Path(library).name)
    for name in ("libpcre2-8", "libutf8proc", "libfmt"):
        for file in pathlib.Path("/usr/lib/x86_64-linux-gnu").glob(name + ".so*"):
            shutil.copy(file, into / file.name)
    shutil.copytree("/usr/lib/x86_64-linux-gnu/cmake/fmt", into / "cmake" / "fmt")
    for name in ("fmt", "toml++"):
        shutil.copytree(f"/usr/include/{name}", usr / "include" / name)
    for name in ("pcre2.h", "utf8proc.h"):
        shutil.copy(f"/usr/include/{name}", usr / "include" / name)
    archive = given.folder / "machine.tar.xz"
    with tarfile.open(archive, "w:xz") as packed:
        for name in ("kw", "usr"):
            packed.add(machine / name, name)
    shutil.rmtree(machine)
    size = sum(file.stat().st_size for file in given.folder.rglob("*") if file.is_file())
    say(f"pack: {archive.stat().st_size / 2**20:.1f} MiB, {size / 2**20:.1f} in {given.folder}")


# --- there --------------------------------------------------------------------------------------------------------------------------------------------


def engine(given):
    """kw-lm, where it is not there yet."""
    if pathlib.Path(given.engine).exists():
        return say(f"engine: {given.engine} is there")
    if (given.folder / "machine.tar.xz").exists():
        if os.geteuid() != 0:
            raise SystemExit("engine: libraries can be installed by root alone; install the packages of the groups build and lm, and name --engine and --kw")
        with tarfile.open(given.folder / "machine.tar.xz") as packed:
            packed.extractall(given.work / "machine", filter="tar")
        subprocess.run(["cp", "-rn", f"{given.work}/machine/usr/.", "/usr/"], check=True)
        subprocess.run(["ldconfig"], check=True)
    torch = subprocess.run([sys.executable, "-c", "import torch; print(torch.__path__[0])"], capture_output=True, text=True).stdout.strip()
    build = given.work / "engine"
    words = ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DKW_LM_ALONE=ON"] + ([f"-DKW_TORCH_PREFIX={torch}"] if torch else [])
    for command in (words, ["cmake", "--build", build, "--target", "kw-lm"]):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"engine: {' '.join(map(str, command))}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def ask(given, request, most_s, what):
    """What kw-lm has done; None where the time was over. Where it stands is printed every 15 seconds."""
    environment = os.environ | ({"OMP_NUM_THREADS": str(given.threads)} if given.threads else {})
    with subprocess.Popen([given.engine], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment) as process:
        late = threading.Timer(max(most_s, 1), process.kill)
        late.start()
        process.stdin.write(json.dumps(request) + "\n")
        process.stdin.flush()
        said, last = 0, {}
        for line in process.stdout:
            last = json.loads(line)
            if "progress" in last:
                last["progress"]["at"] = time.monotonic()
                given.progress.append(last["progress"])
                if time.monotonic() > said + 15:
                    said = time.monotonic()
                    say(f"{what}: {json.dumps({name: value for name, value in last['progress'].items() if name not in ('what', 'at')})}")
            elif "done" in last or "error" in last:
                break
        late.cancel()
        process.kill()
    if "error" in last:
        raise SystemExit(f"{what}: {last['error']}")
    return last.get("done")


def unpack(given):
    """Lines as files: all for supervised training, problems for learning from rewards, held-out lines."""
    given.data.mkdir(parents=True, exist_ok=True)
    if (given.data / "held_out.jsonl").exists():
        return
    tasks = set()
    with open(given.data / "corpus.jsonl", "w") as every, open(given.data / "tasks.jsonl", "w") as wholes, open(given.data / "holes.jsonl", "w") as holes:
        for line in lines_of_xz(given.folder / "corpus.jsonl.xz"):
            every.write(json.dumps({name: line[name] for name in ("prompt", "prefix", "answer", "suffix") if name in line}) + "\n")
            if line["target"] != "cpu":
                continue  # rewards come from this machine's CPU
            problem = {"prompt": line["prompt"], "task_text": task_text_of(line["prompt"])}
            if "prefix" in line:
                holes.write(json.dumps(problem | {name: line[name] for name in ("prefix", "suffix")}) + "\n")
            elif line["task"] not in tasks:
                tasks.add(line["task"])
                wholes.write(json.dumps(problem) + "\n")
    held_out = [line | {"task_text": task_text_of(line["prompt"])} for line in lines_of_xz(given.folder / "held_out.jsonl.xz")]
    (given.data / "held_out.jsonl").write_text("".join(json.dumps(line) + "\n" for line in held_out))


def training_request(given, name):
    return SIZES | given.sizes | {"do": "train", "corpus": [str(given.data / "corpus.jsonl")], "held_out": [str(given.data / "held_out.jsonl")],
                                  "out": str(given.models / name), "batch": given.batch, "length": given.length, "rows_at_once": given.rows_at_once,
                                  "rate": given.rate, "seed": given.seed, "device": given.device, "numbers": given.numbers}


def steps_in(given, minutes):
    """How many steps take so long, by the time of some on the first lines."""
    few = given.work / "probe.jsonl"
    with open(given.data / "corpus.jsonl") as every:
        few.write_text("".join(line for _, line in zip(range(3000), every)))
    given.progress.clear()
    shutil.rmtree(given.work / "probe", ignore_errors=True)
    shutil.rmtree(given.work / "probe.work", ignore_errors=True)
    request = training_request(given, "probe") | {"corpus": [str(few)], "held_out": [], "out": str(given.work / "probe"), "steps": 200, "minutes": 0.25}
    if ask(given, request, seconds_left(given), "probe") is None:
        raise SystemExit("no time is left to see how long a step takes")
    first, last = given.progress[min(1, len(given.progress) - 1)], given.progress[-1]
    a_step = (last["at"] - first["at"]) / max(last["done"] - first["done"], 1)
    say(f"probe: {a_step * 1e3:.0f} ms a step, {last['tokens_a_second']:.0f} tokens a second")
    return max(int(60 * minutes / a_step), 10)


def is_there(given, name):
    """Also where an earlier call on another machine made it."""
    place, earlier = given.models / name, given.folder / "models" / name
    if not place.exists() and earlier.exists():
        shutil.copytree(earlier, place)
    return place.exists()


def supervised(given, name):
    if is_there(given, name):
        return say(f"{name}: is there")
    unpack(given)
    known = given.work / "sft-steps.json"
    earlier = given.models / "sft" / "training.json"
    if given.steps:
        steps = given.steps
    elif name == "twin" and is_there(given, "sft"):
        steps = json.loads(earlier.read_text())["of"]
    elif known.exists():
        steps = json.loads(known.read_text())
    else:
        steps = steps_in(given, given.minutes)
        known.write_text(json.dumps(steps))
    minutes = (seconds_left(given) - RESERVE_S) / 60
    if minutes <= 0:
        return say(f"{name}: no time is left")
    request = training_request(given, name) | {"steps": steps, "autoregressive": name == "twin", "minutes": minutes, "save_every": max(steps // 10, 1)}
    done = ask(given, request, seconds_left(given) - RESERVE_S / 4, name)
    said = {key: done[key] for key in ("steps", "of", "parameters", "examples", "left_out", "corpus_tokens", "seen_tokens", "seconds", "last_loss")} if done else "stopped"
    say(f"{name}: {json.dumps(said)}")


def gym_words(given, target):
    return [given.kw, "gym", "--target", target, "--store", str(given.work / "record"), "--at-once", str(given.at_once), "--budget", str(given.budget)]


def reinforced(given, name):
    if is_there(given, name):
        return say(f"{name}: is there")
    begins = "sft" if name == "stage1" else "stage1"
    if not is_there(given, begins):
        return say(f"{name}: there is no {begins} to begin with")
    unpack(given)
    minutes = min(given.minutes, (seconds_left(given) - 2 * RESERVE_S) / 60)
    if minutes <= 0:
        return say(f"{name}: no time is left")
    problems = given.data / ("holes.jsonl" if name == "stage1" else "tasks.jsonl")
    request = {"do": "train", "corpus": [str(problems)], "from": str(given.models / begins), "out": str(given.models / name), "reward": gym_words(given, "cpu"),
               "batch": given.groups, "samples": given.group_samples, "tokens": given.tokens if name == "stage2" else given.hole_tokens,
               "steps": given.reward_steps, "minutes": minutes, "rate": given.reward_rate, "temperature": 1, "rows_at_once": given.rows_at_once,
               "seed": given.seed, "device": given.device, "numbers": given.numbers, "silence_s": 120}
    done = ask(given, request, seconds_left(given) - RESERVE_S / 4, name)
    say(f"{name}: {json.dumps({'steps': done['steps'], 'seconds': done['seconds'], 'last': done['last']} if done else 'stopped')}")


def answer_files(given):
    for name in MODELS:
        for target in TARGETS:
            yield name, target, given.answers / f"{name}.{target}.jsonl", given.answers / f"{name}.{target}.judged.jsonl"


def answers(given):
    given.answers.mkdir(parents=True, exist_ok=True)
    unpack(given)
    for name, target, made, _ in answer_files(given):
        if made.exists() or not is_there(given, name) or seconds_left(given) < RESERVE_S:
            continue
        draft = made.with_suffix(".part")
        words = ["write", given.engine, str(given.models / name), str(given.data / "held_out.jsonl"), "--out", str(draft), "--target", target, "--tasks",
                 str(given.tasks), "--samples", str(given.samples), "--tokens", str(given.tokens), "--seed", str(given.seed), "--temperature",
                 str(given.temperature), "--device", given.device, "--numbers", given.numbers]
        wanted = dice.given_for(words)
        say(f"answers of {name} for {target}:")
        wanted.do(wanted)
        draft.rename(made)


def judge(given):
    for name, target, made, judged in answer_files(given):
        if made.exists() and seconds_left(given) > RESERVE_S:
            gym = gym_words(given, TARGETS[target] if given.device == "cpu" else target)
            say(f"judging {name} for {target}:")
            wanted = dice.given_for(["judge", str(made), "--out", str(judged), "--gym", " ".join(gym), "--seconds", str(seconds_left(given) - RESERVE_S / 2)])
            wanted.do(wanted)


def bring(given):
    """Weights in pieces, all else in one archive; what has come back before is not sent again."""
    given.out.mkdir(parents=True, exist_ok=True)
    for old in [given.out / "dice.tar.xz", *(file for name in MODELS for file in given.out.glob(f"{name}.[0-9]"))]:
        old.unlink(missing_ok=True)
    taken = io.BytesIO()
    with tarfile.open(fileobj=taken, mode="w:xz") as archive:
        for name in MODELS:
            for file in sorted((given.models / name).glob("*")):
                if file.suffix != ".safetensors":
                    archive.add(file, f"models/{name}/{file.name}")
        if given.answers.exists():
            archive.add(given.answers, "answers")
    (given.out / "dice.tar.xz").write_bytes(taken.getvalue())
    room = MOST_BACK - len(taken.getvalue())
    for name in reversed(MODELS):  # the last one first
        weights = given.models / name / "model.safetensors"
        if name == "twin" or not weights.exists() or (given.folder / "models" / name).exists():
            continue
        data = weights.read_bytes()
        if len(data) > room or math.ceil(len(data) / PIECE) > 8 - len(list(given.out.iterdir())):
            say(f"bring: {name} stays there, {len(data) / 2**20:.1f} MiB are too many")
            continue
        room -= len(data)
        for number, begin in enumerate(range(0, len(data), PIECE)):
            (given.out / f"{name}.{number}").write_bytes(data[begin:begin + PIECE])
    say(f"bring: {', '.join(f'{file.name} {file.stat().st_size / 2**20:.1f} MiB' for file in sorted(given.out.iterdir()))}")


# --- here again ---------------------------------------------------------------------------------------------------------------------------------------


def take(given):
    with tarfile.open(given.out / "dice.tar.xz") as archive:
        archive.extractall(given.folder, filter="data")
    for name in MODELS:
        pieces = sorted(given.out.glob(f"{name}.[0-9]"))
        if pieces:
            (given.folder / "models" / name / "model.safetensors").write_bytes(b"".join(piece.read_bytes() for piece in pieces))
    for name in MODELS:  # the twin's weights do not travel: its answers do
        place = given.folder / "models" / name
        if place.exists() and not (place / "model.safetensors").exists():
            (given.folder / "curves" / name).mkdir(parents=True, exist_ok=True)
            shutil.copy(place / "training.json", given.folder / "curves" / name)
            shutil.rmtree(place)
    say(f"take: {', '.join(sorted(place.name for place in (given.folder / 'models').glob('*')))}")


def tables(given):
    text = ""
    for target in TARGETS:
        judged = [(name, done) for name, of, _, done in answer_files(given) if of == target and done.exists()]
        if judged:
            text += f"Tasks for {target}:\n\n{dice.printed_table(judged)}\n\n"
    return text


def table(given):
    say(tables(given))


def learnt_by(given, name):
    for place in (given.folder / "models", given.models, given.folder / "curves"):
        file = place / name / "training.json"
        if file.exists():
            return json.loads(file.read_text())
    return None


def card(given):
    """MODEL.md: data, steps, figures and limits, as far as they were measured."""
    facts = json.loads((given.folder / "corpus.json").read_text())
    text = "# A small model that writes kernels\n\n"
    text += ("Block diffusion (docs/dice.md), trained from the seed alone by `bench/dice_train.py`. It writes C++ kernels for CPUs and CUDA kernels, in the contract of\n"
             "`kw`, when it is asked as `kw gym --prompt TASK` prints it.\n\n")
    text += f"**Data**: {sum(facts['lines'].values())} lines drawn by `kw corpus build --plan` from seed {facts['seed']}, "
    text += ", ".join(f"{count} {kind}" for kind, count in sorted(facts["lines"].items())) + ". Drawn from Kernelwright's own techniques (Apache-2.0), not judged one by one.\n\n"
    rows = {name: learnt_by(given, name) for name in MODELS}
    for name, about in rows.items():
        if not about:
            continue
        if "losses" in about:
            held_out = about["held_out"][-1]["loss"] if about["held_out"] else float("nan")
            text += (f"**{name}**: {about['steps']} of {about['of']} steps over {about['examples']} lines ({about['corpus_tokens']} tokens; {about['left_out']} lines were too long), "
                     f"{about['seen_tokens']} tokens seen in {about['seconds']:.0f} s, {about['seen_tokens'] / max(about['seconds'], 1e-9):.0f} a second; last loss "
                     f"{about['losses'][-1]:.3f}, held out {held_out:.3f}.\n\n")
        elif about["curve"]:
            first, last = about["curve"][0], about["curve"][-1]
            text += (f"**{name}**: {about['steps']} steps in {about['seconds']:.0f} s; mean reward {first['reward']:.3f} in the first step, {last['reward']:.3f} in the last, "
                     f"rewarded {first['rewarded']:.2f} and {last['rewarded']:.2f}.\n\n")
    text += f"**Figures**: held-out tasks, {given.samples} answers each at temperature {given.temperature}; 95 % intervals over tasks.\n\n{tables(given) or 'Nothing was judged yet.'}\n"
    text += ("**Limits**: it has seen Kernelwright's techniques alone and writes in their style; tasks of 16 KiB to 8 MiB; answers of at most "
             f"{given.tokens} tokens. What it writes is to be judged before it is used.\n")
    (given.folder / "MODEL.md").write_text(text)
    say(text)


STEPS = {"corpus": corpus, "pack": pack, "engine": engine, "sft": lambda given: supervised(given, "sft"), "twin": lambda given: supervised(given, "twin"),
         "stage1": lambda given: reinforced(given, "stage1"), "stage2": lambda given: reinforced(given, "stage2"), "answers": answers, "judge": judge,
         "bring": bring, "take": take, "table": table, "card": card}


def main():
    arguments = argparse.ArgumentParser(formatter_class=argparse.RawDescriptionHelpFormatter, description=__doc__)
    arguments.add_argument("folder", type=pathlib.Path)
    arguments.add_argument("steps_wanted", metavar="STEP[,STEP...]")
    arguments.add_argument("--kw", help="the program (WORK/machine/kw/bin/kw)")
    arguments.add_argument("--engine", help="kw-lm (WORK/engine/bin/kw-lm)")
    arguments.add_argument("--work", type=pathlib.Path, help="what is made on a machine (FOLDER-work)")
    arguments.add_argument("--out", type=pathlib.Path, help="bring, take: the folder that travels back")
    arguments.add_argument("--sizes", default={}, type=json.loads, help='of the model: {"layers": 2, "width": 128, ...}')
    for name, usual in {"seconds": 1e9, "minutes": 6.0, "rate": 1e-3, "reward_rate": 2e-5, "temperature": 0.8, "budget": 0.06,
                        "holes": 0.5}.items():
        arguments.add_argument("--" + name.replace("_", "-"), type=float, default=usual)
    for name, usual in {"seed": 1, "lines": 20000, "cuda_lines": 10000, "points": 2, "longest": 6000, "longest_cuda": 6000, "steps": 0, "batch": 32, "length": 2048,
                        "rows_at_once": 0, "threads": 0, "groups": 16, "group_samples": 8, "reward_steps": 1000, "tokens": 1536, "hole_tokens": 512, "tasks": 64,
                        "samples": 16, "at_once": 64}.items():
        arguments.add_argument("--" + name.replace("_", "-"), type=int, default=usual)
    for name, usual in {"device": "cuda", "numbers": "BF16"}.items():
        arguments.add_argument("--" + name, default=usual)
    given = arguments.parse_args()
    given.deadline, given.progress = time.monotonic() + given.seconds, []
    given.folder = given.folder.resolve()
    given.work = (given.work or given.folder.with_name(given.folder.name + "-work")).resolve()
    given.folder.mkdir(parents=True, exist_ok=True)
    given.work.mkdir(parents=True, exist_ok=True)
    given.kw = given.kw and os.path.abspath(given.kw) or str(given.work / "machine" / "kw" / "bin" / "kw")
    given.engine = given.engine and os.path.abspath(given.engine) or str(given.work / "engine" / "bin" / "kw-lm")
    given.data, given.models = given.work / "data", given.work / "models"
    given.answers = (given.folder if (given.folder / "answers").exists() else given.work) / "answers"
    names = given.steps_wanted.split(",")
    for name in names:
        if name not in STEPS:
            raise SystemExit(f"there is no step {name}: {', '.join(STEPS)}")
        if name in ("bring", "take") and not given.out:
            raise SystemExit(f"{name}: say which folder travels back: --out DIR")
    failed = False
    for name in names:
        if failed and name != "bring":
            continue
        begin = time.monotonic()
        try:
            STEPS[name](given)
        except (SystemExit, subprocess.CalledProcessError, OSError) as error:
            say(f"{name}: {error}")
            failed = True
        say(f"--- {name}: {time.monotonic() - begin:.0f} s")
    if failed:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
