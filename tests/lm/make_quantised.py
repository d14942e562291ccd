"""Writes quantised.gguf, a tensor of every type, and quantised.json, their values as the `gguf` package reads them.

    python make_quantised.py FOLDER      (needs gguf, numpy)

The blocks are random bytes with scales that are finite; only the types that the package can write are quantised from numbers.
"""
import json
import sys

import numpy
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType as Type, GGUFWriter
from gguf.quants import dequantize

folder = sys.argv[1]
random = numpy.random.default_rng(5)
writer = GGUFWriter(f"{folder}/quantised.gguf", "llama")
values = {}
# Where the float16 scales of a block lie.
scales = {Type.Q4_0: [0], Type.Q4_1: [0, 2], Type.Q5_0: [0], Type.Q5_1: [0, 2], Type.Q8_0: [0], Type.Q4_K: [0, 2],
          Type.Q5_K: [0, 2], Type.Q6_K: [208]}
for kind, places in scales.items():
    elements, size = GGML_QUANT_SIZES[kind]
    rows = random.integers(0, 256, (2, 256 // elements * size), dtype=numpy.uint8)
    for row in rows:
        for block in range(0, row.size, size):
            for place in places:
                row[block + place:block + place + 2] = numpy.frombuffer(numpy.float16(random.normal() / 8).tobytes(), numpy.uint8)
    writer.add_tensor(kind.name, rows, raw_dtype=kind)
    values[kind.name] = dequantize(rows, kind)
plain = random.normal(size=(2, 8)).astype(numpy.float32)
for kind, stored in [(Type.F32, plain), (Type.F16, plain.astype(numpy.float16))]:
    writer.add_tensor(kind.name, stored, raw_dtype=kind)
    values[kind.name] = stored.astype(numpy.float32)
brain = (plain.view(numpy.uint32) >> 16).astype(numpy.uint16)
writer.add_tensor("BF16", brain.view(numpy.uint8), raw_dtype=Type.BF16)
values["BF16"] = (brain.astype(numpy.uint32) << 16).view(numpy.float32)
writer.write_header_to_file()
writer.write_kv_data_to_file()
writer.write_tensors_to_file()
writer.close()
with open(f"{folder}/quantised.json", "w") as file:
    json.dump({name: [float(f"{x:.8g}") for x in array.flatten()] for name, array in values.items()}, file)
    file.write("\n")
