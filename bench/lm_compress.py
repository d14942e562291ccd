"""Perplexities of a compressed model: ratios x methods x texts, as a table.

    python3 bench/lm_compress.py KW_LM MODEL [--ratios 0.2,0.3] [--methods svd,...] [--tokens 50000] [--sequences 64]
        [--work FOLDER] [--device cuda] [--at-once 4] [--texts FOLDER] [--speed 5] [--timed]

KW_LM is the program kw-lm. Calibration text is one half of the Debian handbook's chapters (package debian-handbook); texts
that are evaluated: the other half, the King James Bible (bible-kjv and bible-kjv-text) and Python's documentation
(python3-doc). --texts takes calibration.txt, handbook.txt, bible.txt and python.txt from a folder instead, which a run without
it leaves in FOLDER. What was evaluated is kept in FOLDER/results.json, and a second run prints it again and goes on after it.
What each compression says of itself is kept in FOLDER/rows, for the page. --at-once N: N cells at a time, each with processes
and statistics of its own. --speed N: the original and the compressed model write 32 tokens in turn on the processor, N times, and the
last column is the median in tokens a second, against the original's, and what the bytes that are read for a token promise
(OMP_NUM_THREADS says with how many threads). --timed: no table, but each method once
at the first ratio with nothing kept from before: seconds, seconds of the processor, and the most memory that it took.

    kw compress --page page.html --run FOLDER/rows/0.2-svd.json --run ...
"""
import argparse
import glob
import html
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time

# A row of the table: the method, and our switches (docs/compress.md).
ROWS = {
    "svd": {"method": "svd"}, "fwsvd": {"method": "fwsvd"}, "asvd": {"method": "asvd"}, "svd-llm": {"method": "svd-llm"},
    "ressvd": {"method": "ressvd"},
    "ressvd+search": {"method": "ressvd", "search": True},
    "svd-llm+narrow": {"method": "svd-llm", "narrow": True},
    "svd-llm+allot": {"method": "svd-llm", "allot": True},
    "svd-llm+pivot": {"method": "svd-llm", "pivot": True},
    "svd-llm+refit": {"method": "svd-llm", "refit": True},
    "allot+pivot": {"method": "svd-llm", "allot": True, "pivot": True},
    "allot+pivot+refit": {"method": "svd-llm", "allot": True, "pivot": True, "refit": True},
}


def plain(page):
    body = re.sub(r"(?s)<(script|style|head).*?</\1>", "", page.read_text(errors="ignore"))
    return re.sub(r"\n\s*\n+", "\n\n", html.unescape(re.sub(r"<[^>]+>", "", body)))


def write_texts(folder):
    """The calibration text and those that are evaluated, as files."""
    chapters = sorted(pathlib.Path("/usr/share/doc/debian-handbook/html/en-US").glob("*.html"))
    chapters = [page for page in chapters if page.stem not in ("index", "ix01")]
    sources = sorted({os.path.realpath(one) for one in glob.glob("/usr/share/doc/python3*/html/_sources/library/*.rst.txt")})
    made = {"calibration": "\n".join(map(plain, chapters[0::2])), "handbook": "\n".join(map(plain, chapters[1::2])),
            "python": "\n".join(pathlib.Path(source).read_text(errors="ignore") for source in sources)}
    verses = subprocess.run(["bible", "-f", "Gen1:1-Rev22:21"], capture_output=True, text=True, check=True).stdout
    made["bible"] = re.sub(r"(?m)^\S+:\d+ ", "", verses)
    for name, text in made.items():
        (folder / f"{name}.txt").write_text(text)


class Engine:
    def __init__(self, program, device):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.device = device

    def ask(self, **request):
        self.process.stdin.write(json.dumps({"device": self.device, **request}) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            answer = json.loads(line)
            if "done" in answer:
                return answer["done"]
            if "error" in answer:
                raise RuntimeError(answer["error"])
        raise RuntimeError("kw-lm ended")

    def end(self):
        """Seconds of the processor and the most memory in MiB that the process took."""
        self.process.stdin.close()
        _, _, used = os.wait4(self.process.pid, 0)
        return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024

    def written(self, model):
        """Tokens a second on the processor, and bytes that are read for each."""
        done = self.ask(do="generate", device="cpu", model=model, prompts=["The history of computing began with"], most_tokens=33)
        return (done["tokens"] - 1) / max(done["seconds"] - done["first_s"], 1e-9), done["bytes_a_pass"]


class Table:
    """What is known so far, in FOLDER/results.json."""

    def __init__(self, given, folder, names):
        self.given, self.folder, self.names = given, folder, names
        self.file = folder / "results.json"
        self.results = json.loads(self.file.read_text()) if self.file.exists() else {}
        self.lock = threading.Lock()
        self.model = os.path.abspath(given.model)

    def keep(self, place, value):
        with self.lock:
            self.results[place] = value
            self.file.write_text(json.dumps(self.results, indent=1))

    def texts_of(self, key):
        return [f"{key} {name} {self.given.tokens}" for name in self.names]

    def places(self, key):
        return [f"{key} made"] + self.texts_of(key) + ([f"{key} speed"] if self.given.speed else [])

    def evaluate(self, engine, key, model):
        for name, place in zip(self.names, self.texts_of(key)):
            if place not in self.results:
                done = engine.ask(do="perplexity", model=model, text=str(self.folder / f"{name}.txt"), window=512, most_tokens=self.given.tokens)
                self.keep(place, done["perplexity"])

    def show(self, label, key, made=None):
        values = " | ".join(f"{self.results[place]:.2f}" for place in self.texts_of(key))
        speed = self.results.get(f"{key} speed")
        written = f"{speed[1]:.1f} ({speed[1] / speed[0]:.2f} x; {speed[2] / speed[3]:.2f} by bytes)" if speed else "-"
        saved, seconds = (f"{made['saved']:.1%}", f"{made['seconds']:.0f}") if made else ("-", "-")
        print(f"| {label} | {saved} | {values} | {seconds} | {written} |", flush=True)

    def show_cell(self, ratio, label):
        key = self.key(ratio, label)
        if any(place not in self.results for place in self.places(key)):
            return
        made = self.results[f"{key} made"]
        note = f" (last {made['last_layers']}, beta {made['residual_share']})" if "ressvd" in label else ""
        self.show(f"{ratio:.0%} {label}{note}", key, made)

    def key(self, ratio, label):
        return f"{ratio} {label} {self.given.sequences}"


def measure(label):
    """Of the rows with the same one, a kept folder's spectra serve all."""
    row = ROWS[label]
    return "both" if row.get("allot") else "gram" if row["method"] in ("svd-llm", "ressvd") else row["method"]


class Waiting:
    """Cells that are still to be made. A worker is given one whose spectra it has, or else those that the fewest have."""

    def __init__(self, cells):
        self.cells, self.has, self.lock = cells, {}, threading.Lock()

    def next(self, worker):
        with self.lock:
            own = self.has.setdefault(worker, set())
            known = [cell for cell in self.cells if measure(cell[1]) in own]
            begun = lambda cell: sum(measure(cell[1]) in others for others in self.has.values())
            cell = known[0] if known else min(self.cells, key=begun, default=None)
            if cell:
                self.cells.remove(cell)
                own.add(measure(cell[1]))
            return cell


class Worker:
    """One cell after the other: one process compresses, another one reads what it wrote."""

    def __init__(self, table, number):
        given = table.given
        self.table, self.given, self.folder = table, given, table.folder
        self.kept = self.folder / f"kept-{number}"
        program = os.path.abspath(given.program)
        self.maker, self.reader = Engine(program, given.device), Engine(program, given.device)
        self.beside = Engine(program, given.device) if given.speed else None  # holds the original

    def cell(self, ratio, label):
        table, key, model = self.table, self.table.key(ratio, label), self.table.model
        out = self.folder / f"model-{ratio}-{label}"  # a name of its own: the reader keeps what it has loaded
        shutil.rmtree(out, ignore_errors=True)
        begin = time.time()
        done = self.maker.ask(do="compress", model=model, text=str(self.folder / "calibration.txt"), out=str(out), work=str(self.kept),
                              ratio=ratio, sequences=self.given.sequences, gradient_sequences=self.given.gradients, **ROWS[label])
        made = {"saved": done["saved"], "last_layers": done["last_layers"], "residual_share": done["residual_share"], "seconds": time.time() - begin}
        table.evaluate(self.reader, key, str(out))
        about = json.loads((out / "compression.json").read_text())
        if self.beside:
            original = os.path.abspath(self.given.beside or self.given.model)
            pairs = [(self.beside.written(original), self.reader.written(str(out))) for _ in range(self.given.speed + 1)]
            speed = [statistics.median(one[0] for one in side) for side in zip(*pairs[1:])]  # the first one loads the models
            table.keep(f"{key} speed", speed + [side[1] for side in pairs[0]])
            about["tokens_a_second"] = {"original": speed[0], "compressed": speed[1]}
        about["perplexity"] = {name: {"original": table.results[original], "compressed": table.results[compressed]}
                               for name, original, compressed in zip(table.names, table.texts_of("original"), table.texts_of(key))}
        (self.folder / "rows").mkdir(exist_ok=True)
        (self.folder / "rows" / f"{ratio}-{label}.json").write_text(json.dumps(about))
        shutil.rmtree(out)
        table.keep(f"{key} made", made)


def timed(given, folder):
    """Whole runs, each in a process of its own that finds nothing kept."""
    ratio = float(given.ratios.split(",")[0])
    print(f"{ratio:.0%} of {given.model}, {given.sequences} x 512 tokens of calibration, on {os.cpu_count()} cores")
    print("| method | seconds | of the processor | MiB |\n|---|---|---|---|")
    for label in given.methods.split(","):
        out, kept = folder / "timed", folder / "timed.kept"
        for one in (out, kept):
            shutil.rmtree(one, ignore_errors=True)
        engine, begin = Engine(os.path.abspath(given.program), given.device), time.time()
        engine.ask(do="compress", model=os.path.abspath(given.model), text=str(folder / "calibration.txt"), out=str(out), work=str(kept), ratio=ratio,
                   sequences=given.sequences, gradient_sequences=given.gradients, **ROWS[label])
        seconds = time.time() - begin
        processor, memory = engine.end()
        print(f"| {label} | {seconds:.0f} | {processor:.0f} | {memory:.0f} |", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("model")
    parser.add_argument("--ratios", default="0.2,0.3,0.4,0.5,0.6")
    parser.add_argument("--methods", default=",".join(ROWS))
    parser.add_argument("--tokens", type=int, default=50000)
    parser.add_argument("--sequences", type=int, default=64)
    parser.add_argument("--gradients", type=int, default=16, help="sequences of which gradients are taken")
    parser.add_argument("--work", default="lm_compress.work")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--at-once", type=int, default=1, help="cells at a time")
    parser.add_argument("--texts", help="a folder that holds the four texts")
    parser.add_argument("--speed", type=int, default=0, help="how often both models write in turn")
    parser.add_argument("--beside", help="the original in the type of the compressed models, for --speed (MODEL)")
    parser.add_argument("--timed", action="store_true", help="time and memory of whole runs instead of the table")
    given = parser.parse_args()
    folder = pathlib.Path(given.work).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    names = ["handbook", "bible", "python"]
    if given.texts:
        for name in ["calibration", *names]:
            shutil.copy(pathlib.Path(given.texts) / f"{name}.txt", folder)
    else:
        write_texts(folder)
    if given.timed:
        return timed(given, folder)
    table = Table(given, folder, names)
    ratios, labels = [float(ratio) for ratio in given.ratios.split(",")], given.methods.split(",")
    print(f"{given.model}: perplexity in windows of 512, {given.tokens} tokens a text; calibration {given.sequences} x 512")
    print("| ratio, method | saved | " + " | ".join(names) + " | seconds | tokens a second |\n|---|---|" + "---|" * (len(names) + 2))
    missing = lambda ratio, label: any(place not in table.results for place in table.places(table.key(ratio, label)))
    waiting = Waiting([(ratio, label) for label in labels for ratio in ratios if missing(ratio, label)])
    failures = []
    first = Worker(table, 0)
    table.evaluate(first.reader, "original", table.model)
    table.show("original", "original")

    def work(worker):
        while cell := waiting.next(worker):
            try:
                worker.cell(*cell)
                print(f"{cell[0]:.0%} {cell[1]}: {table.results[table.key(*cell) + ' made']['seconds']:.1f} s", file=sys.stderr, flush=True)
            except (RuntimeError, OSError) as error:
                failures.append(f"{cell[0]:.0%} {cell[1]}: {error}")

    workers = [first] + [Worker(table, number) for number in range(1, min(given.at_once, len(waiting.cells)))]
    threads = [threading.Thread(target=work, args=[worker]) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ratio in ratios:
        for label in labels:
            table.show_cell(ratio, label)
    if failures:
        raise SystemExit("\n".join(failures))


main()
