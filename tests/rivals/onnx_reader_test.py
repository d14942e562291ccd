"""Our reader of ONNX models says the same as ONNX's own.

onnx_reader_test.py KW FOLDER_OF_THE_READER
"""

import subprocess
import sys
import tempfile

import numpy as np
import onnx
from onnx import numpy_helper

kw, folder = sys.argv[1:]
sys.path.insert(0, folder)
import onnx_reader  # noqa: E402

# Weights, constants of several types, attributes of every kind, several outputs.
TASKS = ["Conv", "Gemm", "TopK", "Einsum_diagonal", "LSTM", "Pad_constant", "Slice", "Clip", "Cast", "LayerNorm", "Where"]
with tempfile.TemporaryDirectory() as scratch:
    for task in TASKS:
        file = f"{scratch}/{task}.onnx"
        subprocess.run([kw, "show", task, "--onnx", file], stdout=subprocess.DEVNULL, check=True)
        model = onnx.load(file)
        nodes, constants = onnx_reader.read(file)
        assert len(nodes) == len(model.graph.node), task
        for node, expected in zip(nodes, model.graph.node):
            assert node.op == expected.op_type, task
            assert node.inputs == list(expected.input) and node.outputs == list(expected.output), task
            for one in expected.attribute:
                value = onnx.helper.get_attribute_value(one)
                value = value.decode() if isinstance(value, bytes) else value
                value = list(value) if isinstance(value, (list, tuple)) else value
                assert node.attributes[one.name] == value, (task, one.name, node.attributes[one.name], value)
        assert len(constants) == len(model.graph.initializer), task
        for one in model.graph.initializer:
            expected = numpy_helper.to_array(one)
            assert constants[one.name].dtype == expected.dtype, (task, one.name)
            assert np.array_equal(constants[one.name], expected), (task, one.name)
    # numpy has no bfloat16: they come as bits.
    file = f"{scratch}/bfloat16.onnx"
    subprocess.run([kw, "show", "Clip@bfloat16", "--onnx", file], stdout=subprocess.DEVNULL, check=True)
    _, constants = onnx_reader.read(file)
    initializers = onnx.load(file).graph.initializer
    assert initializers
    for one in initializers:
        assert constants[one.name].dtype == onnx_reader.BFLOAT16_BITS, one.name
        expected = numpy_helper.to_array(one).astype(np.float32)
        assert np.array_equal(onnx_reader.widened(constants[one.name]), expected), one.name
print(f"{len(TASKS)} models are read alike")
