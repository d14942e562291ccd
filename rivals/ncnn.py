"""ncnn: one thread, float32 throughout; pnnx converts. An extractor is made, fed and asked in every call, as ncnn's users
do: that is part of its time."""
# packages: --no-deps ncnn==1.0.20261020 pnnx==20261020 numpy==2.4.6

import importlib.util
import os
import subprocess

import worker

import ncnn
import numpy as np

# Layers that do no work.
IDLE = {"Input", "Split", "Noop", "MemoryData"}


def convert(model, folder):
    made = os.path.join(folder, "model.ncnn.param")
    if os.path.exists(made):
        return made
    # pnnx writes beside its input.
    own = os.path.join(folder, "model.onnx")
    with open(model, "rb") as source, open(own, "wb") as target:
        target.write(source.read())
    # Its Python module wants torch, the program in it does not.
    program = os.path.join(importlib.util.find_spec("pnnx").submodule_search_locations[0], "pnnx")
    done = subprocess.run([program, own, "fp16=0"], stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    if done.returncode != 0 or not os.path.exists(made):
        words = done.stderr.decode(errors="replace").strip().splitlines()
        raise worker.NotSupported("its converter made no model" + (": " + words[-1] if words else ""))
    return made


def converted(model, folder):
    """The files of its own format, and why there is nothing to run in them."""
    made = convert(model, folder)
    with open(made) as file:
        layers = [line.split()[0] for line in file.read().splitlines()[2:] if line]
    unknown = sorted({layer for layer in layers if "." in layer})
    if unknown:
        raise worker.NotSupported("it has no layer for " + ", ".join(unknown))
    working = [one for one in layers if one not in IDLE]
    return [made, made[: -len("param")] + "bin"], "" if working else "its converter left no operator in the model"


class TheRival(worker.Rival):
    # ncnn's tensors have no batch axis. pnnx drops a leading axis that it takes for one, by the operator: so it is tried
    # with the tensors as they are, without their leading axis, and with one part of the batch after another.
    settings = ["tensors as they are", "no batch axis", "one by one"]

    def version(self):
        return ncnn.__version__

    def load(self, model, folder, setting, threads, inputs, outputs):
        (parameters, weights), folded = converted(model, folder)
        self.net = ncnn.Net()
        self.net.opt.num_threads = threads
        for name in ("use_fp16_packed", "use_fp16_storage", "use_fp16_arithmetic", "use_bf16_storage", "use_int8_inference"):
            setattr(self.net.opt, name, False)
        if self.net.load_param(parameters) != 0 or self.net.load_model(weights) != 0:
            raise worker.NotSupported("it cannot load its own model: a layer is missing")
        self.setting = setting
        self.output_count = len(outputs)
        return folded

    def bind(self, inputs, outputs):
        """The parts, each with its inputs and outputs."""
        for array in [*inputs, *outputs]:
            if array.dtype != np.float32 and array.dtype != np.int32:
                raise worker.NotSupported(f"its tensors hold no {array.dtype}")
        if self.setting == "tensors as they are":
            return [(inputs, outputs)]
        batch = inputs[0].shape[0] if inputs and inputs[0].ndim > 1 else 0
        if self.setting == "no batch axis":
            # Weights may be among the inputs: theirs stays.
            if batch != 1 or any(array.ndim < 2 or array.shape[0] != 1 for array in outputs):
                raise worker.NotSupported("its tensors have no batch axis")
            return [([a[0] if a.ndim > 1 and a.shape[0] == 1 else a for a in inputs], outputs)]
        if batch == 0 or any(array.ndim < 1 or array.shape[0] != batch for array in [*inputs, *outputs]):
            raise worker.NotSupported("its tensors have no batch axis")
        return [([a[i] for a in inputs], [a[i : i + 1] for a in outputs]) for i in range(batch)]

    def feed(self, call):
        self.mats = [[ncnn.Mat(np.ascontiguousarray(array)).clone() for array in inputs] for inputs, _ in call]

    def run(self, call):
        self.made = []
        for mats in self.mats:
            extractor = self.net.create_extractor()
            for i, mat in enumerate(mats):
                extractor.input(f"in{i}", mat)
            self.made.append([extractor.extract(f"out{i}") for i in range(self.output_count)])

    def fetch(self, call):
        for (_, outputs), made in zip(call, self.made, strict=True):
            for array, (status, mat) in zip(outputs, made, strict=True):
                if status != 0:
                    raise worker.NotSupported("it could not compute an output")
                value = np.array(mat)
                if value.size != array.size:
                    raise worker.NotSupported(
                        f"its output has the shape {list(value.shape)} instead of {list(array.shape)}"
                    )
                array[...] = value.reshape(array.shape)
