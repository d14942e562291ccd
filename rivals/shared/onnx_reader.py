"""ONNX models for frameworks that do not read them: the few messages of the format that a task's model uses.

A message of the format is a row of fields: a number that says which field and which kind, then the value. The numbers below are those
of onnx.proto. It needs numpy alone, so that nothing has to be installed into a Python of the user's own.
"""

import struct

import numpy as np

DTYPES = {
    1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
    10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64,
}
BFLOAT16 = 16
BFLOAT16_BITS = np.dtype("V2")  # numpy has no such numbers: two bytes without a meaning


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


def fields(data):
    """The fields of a message: number, value (an int, or bytes)."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at : at + size], at + size
        elif kind in (1, 5):
            size = 8 if kind == 1 else 4
            value, at = data[at : at + size], at + size
        else:
            raise ValueError(f"no ONNX model: a field of kind {kind}")
        yield number, value


def ints(value):
    """A repeated number: one, or several packed into bytes."""
    if isinstance(value, int):
        return [signed(value)]
    found, at = [], 0
    while at < len(value):
        one, at = varint(value, at)
        found.append(signed(one))
    return found


def floats(value):
    return list(struct.unpack(f"<{len(value) // 4}f", value))


def widened(array):
    """An array of bfloat16 as float32, others as they are."""
    if array.dtype != BFLOAT16_BITS:
        return array
    return (array.view(np.uint16).astype(np.uint32) << 16).view(np.float32)


def tensor(data):
    """Its name and its array."""
    dims, values, name, kind, raw = [], [], "", 1, None
    for number, value in fields(data):
        if number == 1:
            dims += ints(value)
        elif number == 2:
            kind = value
        elif number == 4:
            values += floats(value)
        elif number in (5, 7, 11):
            values += ints(value)
        elif number == 8:
            name = value.decode()
        elif number == 9:
            raw = value
        elif number == 10:
            values += struct.unpack(f"<{len(value) // 8}d", value)
    if kind == BFLOAT16:
        bits = np.frombuffer(raw, np.uint16) if raw is not None else np.array(values, np.uint16)
        return name, bits.reshape(dims).copy().view(BFLOAT16_BITS)
    if kind not in DTYPES:
        raise ValueError(f"no type for the tensor {name}")
    dtype = np.dtype(DTYPES[kind])
    if raw is not None:
        return name, np.frombuffer(raw, dtype).reshape(dims).copy()
    if kind == 10:  # as the bits of 16-bit numbers
        return name, np.array(values, np.uint16).view(np.float16).reshape(dims)
    return name, np.array(values, dtype).reshape(dims)


def attribute(data):
    name, found, many = "", None, None
    for number, value in fields(data):
        if number == 1:
            name = value.decode()
        elif number == 2:
            found = floats(value)[0]
        elif number == 3:
            found = signed(value)
        elif number == 4:
            found = value.decode()
        elif number == 5:
            found = tensor(value)[1]
        elif number == 7:
            many = (many or []) + floats(value)
        elif number == 8:
            many = (many or []) + ints(value)
        elif number == 9:
            many = (many or []) + [value.decode()]
    return name, many if found is None else found


class Node:
    def __init__(self, data):
        self.inputs, self.outputs, self.op, self.attributes = [], [], "", {}
        for number, value in fields(data):
            if number == 1:
                self.inputs.append(value.decode())
            elif number == 2:
                self.outputs.append(value.decode())
            elif number == 4:
                self.op = value.decode()
            elif number == 5:
                name, found = attribute(value)
                self.attributes[name] = found


def read(path):
    """The nodes in their order, and the constants by name."""
    with open(path, "rb") as file:
        graph = next(value for number, value in fields(file.read()) if number == 7)
    nodes, constants = [], {}
    for number, value in fields(graph):
        if number == 1:
            nodes.append(Node(value))
        elif number == 5:
            name, array = tensor(value)
            constants[name] = array
    return nodes, constants
