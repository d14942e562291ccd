"""Perplexities of a compressed model: ratios x methods x texts, as a table.

    python3 bench/lm_compress.py KW_LM MODEL [--ratios 0.2,0.3] [--methods svd,...] [--tokens 50000] [--sequences 64] [--work FOLDER] [--speed 5]

KW_LM is the program kw-lm. Calibration text is one half of the Debian handbook's chapters (package debian-handbook); texts
that are evaluated: the other half, the King James Bible (bible-kjv and bible-kjv-text) and Python's documentation
(python3-doc). What was evaluated is kept in FOLDER/results.json, and a second run prints it again and goes on after it. What
each compression says of itself is kept in FOLDER/rows, for the page. --speed N: the original and the compressed model write 32
tokens in turn, N times, and the last column is the median of both in tokens a second (OMP_NUM_THREADS says with how many threads).

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
import time

# A row of the table: the method, and our switches (docs/lm.md).
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


def texts(folder):
    """The three texts and the calibration text as files."""
    chapters = sorted(pathlib.Path("/usr/share/doc/debian-handbook/html/en-US").glob("*.html"))
    chapters = [page for page in chapters if page.stem not in ("index", "ix01")]
    sources = sorted({os.path.realpath(one) for one in glob.glob("/usr/share/doc/python3*/html/_sources/library/*.rst.txt")})
    made = {"calibration": "\n".join(map(plain, chapters[0::2])), "handbook": "\n".join(map(plain, chapters[1::2])),
            "python": "\n".join(pathlib.Path(source).read_text(errors="ignore") for source in sources)}
    verses = subprocess.run(["bible", "-f", "Gen1:1-Rev22:21"], capture_output=True, text=True, check=True).stdout
    made["bible"] = re.sub(r"(?m)^\S+:\d+ ", "", verses)
    for name, text in made.items():
        (folder / f"{name}.txt").write_text(text)
    return ["handbook", "bible", "python"]


class Engine:
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            answer = json.loads(line)
            if "done" in answer:
                return answer["done"]
            if "error" in answer:
                raise SystemExit(answer["error"])
        raise SystemExit("kw-lm ended")

    def tokens_a_second(self, model):
        done = self.ask(do="generate", model=model, prompts=["The history of computing began with"], most_tokens=33)
        return (done["tokens"] - 1) / max(done["seconds"] - done["first_s"], 1e-9)


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
    parser.add_argument("--speed", type=int, default=0, help="how often both models write in turn")
    parser.add_argument("--beside", help="the original in the type of the compressed models, for --speed (MODEL)")
    given = parser.parse_args()
    folder = pathlib.Path(given.work).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    names = texts(folder)
    kept = folder / "results.json"
    results = json.loads(kept.read_text()) if kept.exists() else {}
    engine = Engine(os.path.abspath(given.program))
    beside = Engine(os.path.abspath(given.program)) if given.speed else None  # holds the original

    def speeds(key, model, compressed):
        """Medians of the original and the compressed model, in tokens a second."""
        place = f"{key} speed"
        if beside and place not in results:
            pairs = [(beside.tokens_a_second(model), engine.tokens_a_second(compressed)) for _ in range(given.speed + 1)]
            results[place] = [statistics.median(side) for side in zip(*pairs[1:])]  # the first one loads the models
            kept.write_text(json.dumps(results, indent=1))
        return results.get(place)

    def evaluated(key, model):
        for name in names:
            place = f"{key} {name} {given.tokens}"
            if place not in results:
                done = engine.ask(do="perplexity", model=model, text=str(folder / f"{name}.txt"), window=512, most_tokens=given.tokens)
                results[place] = done["perplexity"]
                kept.write_text(json.dumps(results, indent=1))
        return [results[f"{key} {name} {given.tokens}"] for name in names]

    def show(label, saved, values, seconds, speed=None):
        written = f"{speed[1]:.1f} ({speed[1] / speed[0]:.2f} x)" if speed else "-"
        print(f"| {label} | {saved} | " + " | ".join(f"{value:.2f}" for value in values) + f" | {seconds} | {written} |", flush=True)

    model = os.path.abspath(given.model)
    print(f"{given.model}: perplexity in windows of 512, {given.tokens} tokens a text; calibration {given.sequences} x 512")
    print("| ratio, method | saved | " + " | ".join(names) + " | seconds | tokens a second |\n|---|---|" + "---|" * (len(names) + 2))
    show("original", "-", evaluated("original", model), "-")
    for ratio in map(float, given.ratios.split(",")):
        for label in given.methods.split(","):
            key = f"{ratio} {label} {given.sequences}"
            out = folder / "model"
            wanted = [f"{key} made"] + [f"{key} {name} {given.tokens}" for name in names] + ([f"{key} speed"] if given.speed else [])
            if any(one not in results for one in wanted):
                shutil.rmtree(out, ignore_errors=True)
                begin = time.time()
                done = engine.ask(do="compress", model=model, text=str(folder / "calibration.txt"), out=str(out), work=str(folder / "kept"),
                                  ratio=ratio, sequences=given.sequences, gradient_sequences=given.gradients, **ROWS[label])
                results[f"{key} made"] = {"saved": done["saved"], "last_layers": done["last_layers"],
                                          "residual_share": done["residual_share"], "seconds": time.time() - begin}
                (folder / "rows").mkdir(exist_ok=True)
            values = evaluated(key, str(out))
            speed = speeds(key, os.path.abspath(given.beside or given.model), str(out))
            made = results[f"{key} made"]
            if (out / "compression.json").exists():
                about = json.loads((out / "compression.json").read_text())
                if speed:
                    about["tokens_a_second"] = {"original": speed[0], "compressed": speed[1]}
                about["perplexity"] = {name: {"original": results[f"original {name} {given.tokens}"], "compressed": value}
                                       for name, value in zip(names, values)}
                (folder / "rows" / f"{ratio}-{label}.json").write_text(json.dumps(about))
                shutil.rmtree(out)
            note = f" (last {made['last_layers']}, beta {made['residual_share']})" if "ressvd" in label else ""
            show(f"{ratio:.0%} {label}{note}", f"{made['saved']:.1%}", values, f"{made['seconds']:.0f}", speed)


main()
