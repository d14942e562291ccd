"""Runs the cases that kw_differential writes through ONNX Runtime and writes back what it answered.

Both files are a sequence of records; integers are little-endian 64-bit.
A case:    size, model; number of inputs, and for each: size, name; code of the type; rank; lengths; size, bytes.
An answer: 0, size, message where ONNX Runtime refuses the case; or
           1, number of outputs, and for each: code of the type; rank; lengths; size, bytes.
"""

import struct
import sys

import numpy as np
import onnxruntime

# The order of kw::DType. numpy has no bfloat16: it travels as uint16, which ONNX Runtime then refuses.
TYPES = ["float32", "float64", "float16", "uint16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"]


class Reader:
    def __init__(self, path):
        self.file = open(path, "rb")

    def number(self):
        return struct.unpack("<q", self.file.read(8))[0]

    def block(self):
        return self.file.read(self.number())

    def tensor(self):
        dtype = np.dtype(TYPES[self.number()])
        shape = [self.number() for _ in range(self.number())]
        return np.frombuffer(self.block(), dtype=dtype).reshape(shape)


def answer(model, inputs):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    # Folding and fusing would test something else than the operator.
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


def main():
    onnxruntime.set_default_logger_severity(4)
    reader = Reader(sys.argv[1])
    with open(sys.argv[2], "wb") as out:

        def number(value):
            out.write(struct.pack("<q", value))

        def block(data):
            number(len(data))
            out.write(data)

        for _ in range(reader.number()):
            model = reader.block()
            inputs = {}
            for _ in range(reader.number()):
                name = reader.block().decode()
                inputs[name] = reader.tensor()
            try:
                outputs = answer(model, inputs)
            except Exception as error:  # every refusal is an answer
                number(0)
                block(str(error).encode())
                continue
            number(1)
            number(len(outputs))
            for output in outputs:
                array = np.ascontiguousarray(output)
                number(len(TYPES) - 1 - TYPES[::-1].index(array.dtype.name))
                number(np.ndim(output))
                for length in np.shape(output):
                    number(length)
                block(array.tobytes())


main()
