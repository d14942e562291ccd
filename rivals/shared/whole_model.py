"""Whole models inside ONNX Runtime, for `kw model`: where its time goes, and two or more versions of a model side by side.

kw starts `python -I -B whole_model.py JOB ANSWER`: two JSON files. A job has `do`, `threads`, `inputs` (name, dtype and shape of
each; `value` where it is always the same), `given` (an .npz file with values for them, or ""), `seed`, `folder` (for files that are thrown away) and `seconds`.

  profile  model                            -> version, total_ns (of whole calls), fused and unfused: a row for each node that ran
                                               (name, op, ns a call); optimized: the file with the graph that was run
  race     sessions (name, model, library)  -> version, times_ns (name -> a list, one for each round; all in random order in each
                                               round), outputs: how each session's differ from the first one's. A session with
                                               `standalone` is a library without any framework, whose outputs are `outputs`
                                               (name, dtype and shape of each). With `reference` (file: float64 or int64 of all
                                               outputs, shapes) in_double: how far each session's and the runtime's are from it
  record   model, to (a folder)             -> outputs: as in a race, of the model with itself; to/inputs.bin and
                                               to/outputs.bin: the bytes of all of them, each padded to 64

An answer is an object, or {"error": words}. Values that are not given are drawn: normal numbers, and 0 or 1 for whole ones.
"""

import collections
import ctypes
import json
import math
import os
import random
import sys
import time
import zipfile

import numpy as np
import onnxruntime as ort

FEWEST_ROUNDS = 12
MOST_ROUNDS = 2000
MOST_HEADER_BYTES = 65536  # of an array in an archive, before its values


class Refused(Exception):
    """Words for the user."""


def first_line(problem):
    """What ONNX Runtime says, without its own source places."""
    words = str(problem).strip().splitlines() or [type(problem).__name__]
    return words[0][:600]


def open_session(model, job, library="", optimized="", profile="", level=ort.GraphOptimizationLevel.ORT_ENABLE_ALL):
    options = ort.SessionOptions()
    options.intra_op_num_threads = job["threads"]
    options.inter_op_num_threads = 1
    options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = level
    options.log_severity_level = 4
    if library:
        options.register_custom_ops_library(library)
    if optimized:
        options.optimized_model_filepath = optimized
    if profile:
        options.enable_profiling = True
        options.profile_file_prefix = profile
    try:
        return ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    except Exception as problem:
        raise Refused(f"ONNX Runtime {ort.__version__} does not load the model: {first_line(problem)}") from problem


class Standalone:
    """A model as a library without any framework, which `kw model --standalone` wrote; called as a session is."""

    def __init__(self, library, job):
        self.library = ctypes.CDLL(library)
        self.library.model_create.restype = ctypes.c_void_p
        self.model = ctypes.c_void_p(self.library.model_create())
        if not self.model:
            raise Refused("the model without a framework cannot be made: there is no memory")
        self.inputs = [one["name"] for one in job["inputs"]]
        self.outputs = [np.empty(one["shape"], np.dtype(one["dtype"])) for one in job["outputs"]]

    def run(self, _, values):
        arrays = [values[name] for name in self.inputs] + self.outputs
        if self.library.model_run(self.model, *(ctypes.c_void_p(array.ctypes.data) for array in arrays)) != 0:
            raise Refused("the model without a framework refuses to run")
        return self.outputs


def check_sizes(job):
    """An archive of some kilobytes may claim to hold terabytes: nothing is unpacked that is larger than its input."""
    most = {one["name"]: math.prod(one["shape"]) * np.dtype(one["dtype"]).itemsize for one in job["inputs"]}
    with zipfile.ZipFile(job["given"]) as archive:
        for entry in archive.infolist():
            name = entry.filename.removesuffix(".npy")
            if name not in most:
                raise Refused(f"{job['given']}: the model has no input '{name}'; it has {', '.join(most)}")
            if entry.file_size > most[name] + MOST_HEADER_BYTES:
                raise Refused(f"{job['given']}: '{name}' has {entry.file_size} bytes, and the model's input {most[name]}")


def given_values(job):
    if not job["given"]:
        return {}
    try:
        check_sizes(job)
        with np.load(job["given"], allow_pickle=False) as file:
            return {name: file[name] for name in file.files}
    except Refused:
        raise
    except Exception as problem:
        raise Refused(f"{job['given']}: is not an .npz file of arrays ({first_line(problem)})") from problem


def values_of(job, seed):
    """A value for each input: the user's, or drawn."""
    given = given_values(job)
    random_numbers = np.random.default_rng(seed)
    values = {}
    for one in job["inputs"]:
        shape, dtype = tuple(one["shape"]), np.dtype(one["dtype"])
        if one["name"] in given:
            value = given[one["name"]]
            if value.shape != shape:
                raise Refused(
                    f"{job['given']}: '{one['name']}' has the shape {list(value.shape)}, but the model takes {list(shape)} with "
                    "these --dim"
                )
            if value.dtype != dtype:
                raise Refused(f"{job['given']}: '{one['name']}' holds {value.dtype}, but the model takes {dtype}")
            if "value" in one and not np.all(value == one["value"]):
                raise Refused(f"{job['given']}: '{one['name']}' is not {one['value']}, which --dim gives it")
            values[one["name"]] = np.ascontiguousarray(value).reshape(shape)
        elif "value" in one:
            values[one["name"]] = np.full(shape, one["value"], dtype)
        elif dtype.kind == "f":
            values[one["name"]] = random_numbers.standard_normal(shape).astype(dtype)
        else:
            values[one["name"]] = random_numbers.integers(0, 2, shape).astype(dtype)
    return values


def call(session, values):
    try:
        return session.run(None, values)
    except Exception as problem:
        hint = "give values that it takes with --inputs FILE.npz"
        raise Refused(f"ONNX Runtime cannot run the model: {first_line(problem)}; {hint}") from problem


def timed(session, values):
    begin = time.perf_counter_ns()
    session.run(None, values)
    return time.perf_counter_ns() - begin


def node_times(session, values, seconds, quiet=None):
    """Runs a profiled session for a while. Of each node, the time of a call of the model; and beside it, in turn, the times of
    whole calls of a session without the profiler, which costs time itself."""
    call(session, values)
    begin, runs, totals = time.perf_counter(), 1, []
    if quiet:
        call(quiet, values)
    while runs < 6 or (time.perf_counter() - begin < seconds and runs < 200):
        session.run(None, values)
        runs += 1
        if quiet:
            totals.append(timed(quiet, values))
    file = session.end_profiling()
    with open(file, encoding="utf-8") as text:
        events = json.load(text)
    os.remove(file)
    each = collections.defaultdict(list)
    ops = {}
    for event in events:
        if event.get("cat") == "Node" and event["name"].endswith("_kernel_time"):
            name = event["name"][: -len("_kernel_time")]
            each[name].append(event["dur"])
            ops[name] = event["args"]["op_name"]
    # A node inside of a loop runs several times a call. A median passes over disturbed calls.
    rows = [
        {"name": name, "op": ops[name], "ns": float(np.median(times)) * 1000 * len(times) / runs}
        for name, times in each.items()
    ]
    return totals, rows


def profile(job):
    values = values_of(job, job["seed"])
    optimized = os.path.join(job["folder"], "optimized.onnx")
    library = job.get("library", "")
    session = open_session(
        job["model"], job, library=library, optimized=optimized, profile=os.path.join(job["folder"], "fused")
    )
    totals, fused = node_times(session, values, job["seconds"], open_session(job["model"], job, library=library))
    unfused = []
    if not library:
        plain = open_session(
            job["model"],
            job,
            profile=os.path.join(job["folder"], "unfused"),
            level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL,
        )
        _, unfused = node_times(plain, values, job["seconds"] / 3)
    return {"total_ns": totals, "fused": fused, "unfused": unfused, "optimized": optimized}


def differences(name, reference, plain, got):
    """How far outputs are from the reference's; beside it, how far ONNX Runtime is from itself with no optimisations."""
    rows = []
    for output, wanted, other, value in zip(name, reference, plain, got, strict=True):
        row = {"output": output, "shape": list(value.shape)}
        if value.shape != wanted.shape:
            row["problem"] = f"has the shape {list(value.shape)} in place of {list(wanted.shape)}"
        elif wanted.dtype.kind == "f":
            wide, here, beside = (one.astype(np.float64) for one in (wanted, value, other))
            finite = np.isfinite(wide)
            if not np.array_equal(np.isnan(wide), np.isnan(here)):
                row["problem"] = "has NaN in other places"
            elif not np.array_equal(wide[~finite & ~np.isnan(wide)], here[~finite & ~np.isnan(wide)]):
                row["problem"] = "has infinities in other places"
            error, own = np.abs(here - wide)[finite], np.abs(beside - wide)[finite]
            row["max_error"] = float(error.max(initial=0))
            row["mean_error"] = float(error.mean()) if error.size else 0.0
            row["largest"] = float(np.abs(wide[finite]).max(initial=0))
            row["own_error"] = float(own[np.isfinite(own)].max(initial=0))
        else:
            row["different"] = int(np.count_nonzero(value != wanted))
            row["own_different"] = int(np.count_nonzero(other != wanted)) if other.shape == wanted.shape else 0
        rows.append(row)
    return rows


def right_outputs(job, dtypes):
    """The reference's outputs, from its file."""
    data, arrays, at = np.fromfile(job["reference"]["file"], np.uint8), [], 0
    for shape, dtype in zip(job["reference"]["shapes"], dtypes, strict=True):
        size = math.prod(shape) * 8
        arrays.append(data[at : at + size].view(np.float64 if dtype.kind == "f" else np.int64).reshape(shape))
        at += size
    return arrays


def error_in_double(right, value):
    if value.shape != right.shape:
        return {"largest_error": 0.0, "mean_error": 0.0, "largest": 0.0, "different": 0, "count": 0}
    row = {"largest_error": 0.0, "mean_error": 0.0, "largest": 0.0, "count": max(1, int(right.size))}
    if right.dtype.kind != "f":
        return row | {"different": int(np.count_nonzero(value.astype(np.int64) != right))}
    here = value.astype(np.float64)
    finite = np.isfinite(right) & np.isfinite(here)
    same = (np.isnan(right) & np.isnan(here)) | (right == here)
    error = np.abs(here - right)[finite]
    return {
        "largest_error": float(error.max(initial=0)),
        "mean_error": float(error.mean()) if error.size else 0.0,
        "largest": float(np.abs(right[finite]).max(initial=0)),
        "different": int(np.count_nonzero(~finite & ~same)),
        "count": max(1, int(right.size)),
    }


def errors_in_double(job, names, reference, plain, got):
    """Of each output, how far it is from the whole graph in double precision, and how far the runtime is at most."""
    rows = []
    right = right_outputs(job, [one.dtype for one in reference])
    for output, exact, fused, unfused, value in zip(names, right, reference, plain, got, strict=True):
        own = [error_in_double(exact, one) for one in (fused, unfused)]
        runtime = max(own, key=lambda one: (one["different"], one["largest_error"]))
        rows.append({"output": output, "ours": error_in_double(exact, value), "runtime": runtime})
    return rows


def race(job):
    sessions = {
        one["name"]: Standalone(one["standalone"], job)
        if one.get("standalone")
        else open_session(one["model"], job, library=one["library"])
        for one in job["sessions"]
    }
    first = job["sessions"][0]
    plain = open_session(
        first["model"], job, library=first["library"], level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    )
    names = [one.name for one in plain.get_outputs()]
    outputs, in_double = {name: [] for name in sessions}, {}
    for case in range(1 if job["given"] else job["cases"]):
        values = values_of(job, job["seed"] + case)
        reference, beside = call(sessions[first["name"]], values), call(plain, values)
        for name, session in sessions.items():
            got = call(session, values)
            outputs[name].append(differences(names, reference, beside, got))
            if case == 0 and job.get("reference"):
                in_double[name] = errors_in_double(job, names, reference, beside, got)
    del plain
    values = values_of(job, job["seed"])
    times = {name: [] for name in sessions}
    order, shuffle = list(sessions), random.Random(job["seed"])
    for name in order:
        timed(sessions[name], values)
    begin, rounds = time.perf_counter(), 0
    while rounds < FEWEST_ROUNDS or (time.perf_counter() - begin < job["seconds"] and rounds < MOST_ROUNDS):
        shuffle.shuffle(order)
        for name in order:
            # One call that is not timed: each session finds the caches as it left them, not as another one did.
            sessions[name].run(None, values)
            times[name].append(timed(sessions[name], values))
        rounds += 1
    return {"times_ns": times, "outputs": outputs, "in_double": in_double}


def record(job):
    values = values_of(job, job["seed"])
    session = open_session(job["model"], job)
    plain = open_session(job["model"], job, level=ort.GraphOptimizationLevel.ORT_DISABLE_ALL)
    reference, beside = call(session, values), call(plain, values)
    names = [one.name for one in session.get_outputs()]
    for file, arrays in (("inputs.bin", [values[one["name"]] for one in job["inputs"]]), ("outputs.bin", reference)):
        with open(os.path.join(job["to"], file), "wb") as to:
            for array in arrays:
                data = np.ascontiguousarray(array).tobytes()
                to.write(data + bytes(-len(data) % 64))
    return {"outputs": differences(names, reference, beside, reference)}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    try:
        answer = {"profile": profile, "race": race, "record": record}[job["do"]](job)
        answer["version"] = ort.__version__
    except Refused as words:
        answer = {"error": str(words)}
    except Exception as problem:  # what a framework throws is its own business
        answer = {"error": f"{type(problem).__name__}: {first_line(problem)}"}
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(answer, file)


if __name__ == "__main__":
    main()
