"""Runs the model in this folder in an unmodified ONNX Runtime: python run.py [INPUTS.npz]"""

import pathlib
import sys
import time

import numpy as np
import onnxruntime as ort

folder = pathlib.Path(__file__).resolve().parent
options = ort.SessionOptions()
options.intra_op_num_threads = 1  # more where the model was made with --threads
options.register_custom_ops_library(str(folder / "libkernels.so"))
session = ort.InferenceSession(str(folder / "model.onnx"), options, providers=["CPUExecutionProvider"])

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(int64)": np.int64, "tensor(int32)": np.int32}
if len(sys.argv) > 1:
    inputs = dict(np.load(sys.argv[1], allow_pickle=False))
else:
    inputs = {one.name: np.ones(one.shape, TYPES.get(one.type, np.float32)) for one in session.get_inputs()}
outputs = session.run(None, inputs)
for one, value in zip(session.get_outputs(), outputs):
    print(one.name, value.dtype, list(value.shape))

times = []
for _ in range(20):
    begin = time.perf_counter()
    session.run(None, inputs)
    times.append(time.perf_counter() - begin)
print(f"{sorted(times)[10] * 1e3:.2f} ms a call")
