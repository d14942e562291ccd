"""MNN: one thread, full precision, through its session or, where that does not run a model, its module.

Layout changes that MNN makes around an operator belong to its time. Its input memory is its own and is used for other
things during a run: so it is fed again before every call.
"""
# packages: MNN==3.6.1

import contextlib
import json
import os

import worker

import MNN
import numpy as np
from _tools import mnnconvert  # the module's function: the command of that name reports to its makers

KINDS = [
    (np.dtype(np.float32), MNN.Halide_Type_Float),
    (np.dtype(np.int32), MNN.Halide_Type_Int),
    (np.dtype(np.uint8), MNN.Halide_Type_Uint8),
    (np.dtype(np.int64), MNN.Halide_Type_Int64),
    (np.dtype(np.float64), MNN.Halide_Type_Double),
]
VARIABLE_KIND = {
    np.dtype(np.float32): MNN.expr.float,
    np.dtype(np.int32): MNN.expr.int,
    np.dtype(np.uint8): MNN.expr.uint8,
}
# What MNN has no type of its own for is handed over as another.
FED_AS = {np.dtype(np.int64): np.int32, np.dtype(np.bool_): np.int32, np.dtype(np.float16): np.float32}
# Operators that do no work.
IDLE = {"Input", "Const", "ConvertTensor", "TrainableParam"}
WINOGRAD_HINT = 3


def said_by(path):
    """What a converter printed; it tells why only in words."""
    with open(path, errors="replace") as file:
        return [line.strip() for line in file if "Not Support" in line or "rror" in line]


@contextlib.contextmanager
def output_in(path):
    """What native code prints goes into a file."""
    kept = [os.dup(1), os.dup(2)]
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    try:
        yield
    finally:
        for descriptor, one in zip((1, 2), kept):
            os.dup2(one, descriptor)
            os.close(one)
        os.close(file)


def convert(model, folder):
    made = os.path.join(folder, "model.mnn")
    if os.path.exists(made):
        return made
    words, part = os.path.join(folder, "words.txt"), made + ".part"
    with output_in(words):
        mnnconvert(["mnnconvert", "-f", "ONNX", "--modelFile", model, "--MNNModel", part, "--bizCode", "kw"])
    if not os.path.exists(part):
        raise worker.NotSupported("its converter made no model: " + " ".join(said_by(words)[:3]))
    os.rename(part, made)
    return made


def operators(made, folder):
    listed = os.path.join(folder, "model.json")
    if not os.path.exists(listed):
        with output_in(os.devnull):
            mnnconvert(["mnnconvert", "-f", "MNN", "--modelFile", made, "--JsonFile", listed])
    with open(listed) as file:
        return [one.get("type", "") for one in json.load(file).get("oplists", [])]


def converted(model, folder):
    """The files of its own format, and why there is nothing to run in them."""
    made = convert(model, folder)
    working = [one for one in operators(made, folder) if one not in IDLE]
    return [made], "" if working else "its converter left no operator of the task in the model"


def kind_of(dtype):
    return next((kind for one, kind in KINDS if one == dtype), None)


def as_fed(array):
    fed = np.ascontiguousarray(array, FED_AS.get(array.dtype, array.dtype))
    if kind_of(fed.dtype) is None:
        raise worker.NotSupported(f"it has no type for {array.dtype}")
    return fed


class TheRival(worker.Rival):
    settings = ["session", "session, no Winograd", "module"]

    def version(self):
        return MNN.version()

    def load(self, model, folder, setting, threads, inputs, outputs):
        [made], folded = converted(model, folder)
        self.module = None
        config = {"backend": "CPU", "numThread": threads, "precision": "high"}
        if setting == "module":
            runtime = MNN.nn.create_runtime_manager((config,))
            self.module = MNN.nn.load_module_from_file(made, inputs, outputs, runtime_manager=runtime)
        else:
            self.net = MNN.Interpreter(made)
            if setting == "session, no Winograd":
                self.net.setSessionHint(WINOGRAD_HINT, 0)
            self.session = self.net.createSession(config)
            all_inputs, all_outputs = self.net.getSessionInputAll(self.session), self.net.getSessionOutputAll(self.session)
            lost = [name for name in inputs if name not in all_inputs]
            lost += [name for name in outputs if name not in all_outputs]
            if lost:
                raise worker.NotSupported("its converter lost " + ", ".join(lost))
            self.inputs = [all_inputs[name] for name in inputs]
            self.outputs = [all_outputs[name] for name in outputs]
        return folded

    def bind(self, inputs, outputs):
        return inputs, outputs

    def feed(self, call):
        inputs = [as_fed(array) for array in call[0]]
        if self.module is not None:
            self.fed = []
            for array in inputs:
                self.fed.append(MNN.expr.const(array, list(array.shape), MNN.expr.NCHW, VARIABLE_KIND[array.dtype]))
            return
        for tensor, array in zip(self.inputs, inputs, strict=True):
            shape = tuple(tensor.getShape())
            if int(np.prod(shape, dtype=np.int64)) != array.size:
                raise worker.NotSupported(f"it takes an input for {list(shape)} instead of {list(array.shape)}")
            tensor.copyFrom(MNN.Tensor(shape, kind_of(array.dtype), array.reshape(shape), MNN.Tensor_DimensionType_Caffe))

    def run(self, call):
        if self.module is None:
            self.net.runSession(self.session)
            return
        made = self.module.forward(self.fed)
        self.made = [one.read() for one in (made if isinstance(made, (list, tuple)) else [made])]

    def fetch(self, call):
        values = self.made if self.module is not None else [self.read(tensor) for tensor in self.outputs]
        return [worker.put(array, value) for array, value in zip(call[1], values, strict=True)]

    def read(self, tensor):
        shape, kind = tuple(tensor.getShape()), tensor.getDataType()
        dtype = next((dtype for dtype, one in KINDS if one == kind), np.dtype(np.float32))
        host = MNN.Tensor(shape, kind, np.zeros(shape, dtype), MNN.Tensor_DimensionType_Caffe)
        tensor.copyToHostTensor(host)
        return np.array(host.getNumpyData()).reshape(shape)  # a copy: the memory goes with the tensor
