"""A task's graph as PyTorch's own functions, on whichever device its tensors lie: what PyTorch's workers share.

An operator is a row of STRAIGHT or a maker in MAKERS, which gets a node and the constants and returns a function of the node's
tensors. What is not translated is named (worker.NotSupported).
"""

import operator

import worker

import torch
from torch.nn import functional as F
from torch_layers import (
    average_pool, batch_norm, conv, conv_transpose, cross_entropy, cumsum, einsum, extreme, gemm, group_norm,
    instance_norm, layer_norm, lp_norm, lp_pool, lrn, max_pool, mean_variance, numbers, over_the_image, Packed,
    product, recurrent, reduced, rms_norm, top_k,
)  # fmt: skip

DTYPES = {
    1: torch.float32, 2: torch.uint8, 3: torch.int8, 5: torch.int16, 6: torch.int32, 7: torch.int64, 9: torch.bool,
    10: torch.float16, 11: torch.float64,
}


# -- element by element, straight -------------------------------------------------------------------------------------
STRAIGHT = {
    "Abs": torch.abs, "Acos": torch.acos, "Acosh": torch.acosh, "Add": torch.add, "And": torch.logical_and,
    "Asin": torch.asin, "Asinh": torch.asinh, "Atan": torch.atan, "Atanh": torch.atanh, "BitwiseAnd": torch.bitwise_and,
    "BitwiseNot": torch.bitwise_not, "BitwiseOr": torch.bitwise_or, "BitwiseXor": torch.bitwise_xor,
    "Ceil": torch.ceil, "Cos": torch.cos, "Cosh": torch.cosh, "Equal": torch.eq, "Erf": torch.erf, "Exp": torch.exp,
    "Floor": torch.floor, "Greater": torch.gt, "GreaterOrEqual": torch.ge, "Less": torch.lt, "LessOrEqual": torch.le,
    "Log": torch.log, "MatMul": torch.matmul, "Mul": torch.mul, "Neg": torch.neg, "Not": torch.logical_not,
    "Or": torch.logical_or, "Pow": torch.pow, "Reciprocal": torch.reciprocal, "Round": torch.round,
    "Sigmoid": torch.sigmoid, "Sign": torch.sign, "Sin": torch.sin, "Sinh": torch.sinh, "Sqrt": torch.sqrt,
    "Sub": torch.sub, "Tan": torch.tan, "Tanh": torch.tanh, "Where": torch.where, "Xor": torch.logical_xor,
}
OUT = set(STRAIGHT) - {"Where"} | {"Relu", "Max", "Min", "Concat"}
VIEWS = {"Expand", "Flatten", "Identity", "Reshape", "Slice", "Squeeze", "Transpose", "Unsqueeze"}


def relu(node, constants):
    return lambda x, out=None: torch.clamp(x, min=0, out=out)


def folded(function):
    """Of two or more."""

    def make(node, constants):
        if len(node.inputs) == 1:
            raise worker.NotSupported(f"{node.op} of one input")
        if len(node.inputs) == 2:
            return function

        def run(*all, out=None):
            made = all[0]
            for one in all[1:-1]:
                made = function(made, one)
            return function(made, all[-1], out=out)

        return run

    return make


def div(node, constants):
    return lambda a, b: torch.div(a, b, rounding_mode=None if a.is_floating_point() else "trunc")


def clip(node, constants):
    if len(node.inputs) == 1:
        return lambda x: torch.clamp(x, node.attributes.get("min"), node.attributes.get("max"))
    low, high = numbers(constants, node, 1), numbers(constants, node, 2)
    return lambda x, *_: torch.clamp(x, low[0] if low else None, high[0] if high else None)


def prelu(node, constants):
    def run(x, slope):
        count = slope.numel()
        per_channel = x.ndim > 1 and count == x.shape[1] and (slope.ndim == x.ndim - 1 and slope.shape[0] == count)
        if count == 1 or per_channel:
            return F.prelu(x, slope.reshape(-1))
        return torch.where(x < 0, x * slope, x)

    return run


def hard_sigmoid(node, constants):
    alpha, beta = node.attributes.get("alpha", 0.2), node.attributes.get("beta", 0.5)
    return lambda x: torch.clamp(x * alpha + beta, 0, 1)


def gelu(node, constants):
    how = node.attributes.get("approximate", "none")
    return lambda x: F.gelu(x, approximate=how)


def swish(node, constants):
    alpha = node.attributes.get("alpha", 1.0)
    return F.silu if alpha == 1 else lambda x: x * torch.sigmoid(alpha * x)


def leaky_relu(node, constants):
    alpha = node.attributes.get("alpha", 0.01)
    return lambda x: F.leaky_relu(x, alpha)


def selu(node, constants):
    if node.attributes:
        raise worker.NotSupported("its Selu has the usual numbers")
    return F.selu


def thresholded_relu(node, constants):
    alpha = node.attributes.get("alpha", 1.0)
    return lambda x: torch.where(x > alpha, x, 0)


def modulo(node, constants):
    return torch.fmod if node.attributes.get("fmod", 0) else torch.remainder


def shift(node, constants):
    return torch.bitwise_left_shift if node.attributes["direction"] == "LEFT" else torch.bitwise_right_shift


def is_infinite(node, constants):
    up, down = node.attributes.get("detect_positive", 1), node.attributes.get("detect_negative", 1)
    return torch.isinf if up and down else torch.isposinf if up else torch.isneginf


def always(function):
    return lambda node, constants: function


def activation(function, **defaults):
    def make(node, constants):
        words = {name: node.attributes.get(name, value) for name, value in defaults.items()}
        return lambda x: function(x, **words)

    return make


def along(function, axis):
    def make(node, constants):
        dim = node.attributes.get("axis", axis)
        return lambda x: function(x, dim)

    return make


# -- moving -----------------------------------------------------------------------------------------------------------
def cast(node, constants):
    kind = node.attributes["to"]
    if kind not in DTYPES:
        raise worker.NotSupported(f"a cast to type {kind}")
    return lambda x: x.to(DTYPES[kind])


def concat(node, constants):
    axis = node.attributes["axis"]
    return lambda *all, out=None: torch.cat(all, axis, out=out)


def expand(node, constants):
    shape = numbers(constants, node, 1)
    return lambda x, *_: torch.broadcast_to(x, torch.broadcast_shapes(x.shape, shape))


def reshape(node, constants):
    shape = numbers(constants, node, 1)
    if node.attributes.get("allowzero", 0):
        raise worker.NotSupported("a reshape with allowzero")
    return lambda x, *_: x.reshape([x.shape[i] if n == 0 else n for i, n in enumerate(shape)])


def squeeze(node, constants):
    axes = numbers(constants, node, 1)
    return lambda x, *_: x.squeeze(tuple(axes)) if axes else x.squeeze()


def unsqueeze(node, constants):
    axes = numbers(constants, node, 1)

    def run(x, *_):
        for axis in sorted(axis % (x.ndim + len(axes)) for axis in axes):
            x = x.unsqueeze(axis)
        return x

    return run


def slices(node, constants):
    starts, ends, axes, steps = (numbers(constants, node, i) for i in range(1, 5))
    if steps and any(step < 1 for step in steps):
        raise worker.NotSupported("its slices have no negative steps")

    def run(x, *_):
        cut = [slice(None)] * x.ndim
        for i, (start, end) in enumerate(zip(starts, ends)):
            cut[axes[i] if axes else i] = slice(start, end, steps[i] if steps else 1)
        return x[tuple(cut)]

    return run


def flatten(node, constants):
    axis = node.attributes.get("axis", 1)

    def run(x):
        front = 1
        for length in x.shape[: axis if axis >= 0 else axis + x.ndim]:
            front *= length
        return x.reshape(front, -1)

    return run


def split(node, constants):
    axis, sizes = node.attributes.get("axis", 0), numbers(constants, node, 1)

    def run(x, *_):
        if sizes:
            return torch.split(x, sizes, axis)
        count = len(node.outputs)
        return torch.split(x, -(-x.shape[axis] // count), axis)

    return run


def space_to_depth(node, constants):
    size = node.attributes["blocksize"]

    def run(x):
        n, c, h, w = x.shape
        x = x.reshape(n, c, h // size, size, w // size, size).permute(0, 3, 5, 1, 2, 4)
        return x.reshape(n, c * size * size, h // size, w // size)

    return run


def gather_nd(node, constants):
    if node.attributes.get("batch_dims", 0):
        raise worker.NotSupported("its gather has no batch axes")
    return lambda x, indices: x[tuple(indices.unbind(-1))]


def scatter_nd(node, constants):
    reduction = node.attributes.get("reduction", "none")
    if reduction not in ("none", "add"):
        raise worker.NotSupported(f"its scatter does not reduce by {reduction}")
    return lambda x, indices, updates: x.index_put(tuple(indices.unbind(-1)), updates, reduction == "add")


def resize(node, constants):
    said = node.attributes
    mode, place = said.get("mode", "nearest"), said.get("coordinate_transformation_mode", "half_pixel")
    scales, sizes = numbers(constants, node, 2), numbers(constants, node, 3)
    if "axes" in said or said.get("antialias", 0) or said.get("exclude_outside", 0):
        raise worker.NotSupported("its resizing has no axes and leaves nothing out")
    if mode == "nearest" and not (place == "asymmetric" and said.get("nearest_mode", "round_prefer_floor") == "floor"):
        raise worker.NotSupported("its nearest neighbours are those below, counted from a corner")
    if mode != "nearest" and place not in ("half_pixel", "align_corners"):
        raise worker.NotSupported(f"its resizing does not know {place}")

    def run(x, *_):
        size = sizes[2:] if sizes else [int(length * scale) for length, scale in zip(x.shape[2:], scales[2:])]
        if mode == "nearest":
            return F.interpolate(x, size, mode="nearest")
        linear = {3: "linear", 4: "bilinear", 5: "trilinear"}[x.ndim]
        return F.interpolate(x, size, mode="bicubic" if mode == "cubic" else linear, align_corners=place == "align_corners")

    return run


def quantize(node, constants):
    axis = node.attributes.get("axis", 1)
    if node.attributes.get("block_size", 0):
        raise worker.NotSupported("it has no blocks of scales")

    def along(x, one):
        return one if one is None or one.ndim == 0 else one.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])

    def down(x, scale, zero=None):
        kind = torch.uint8 if zero is None else zero.dtype
        limits = torch.iinfo(kind)
        made = torch.round(x / along(x, scale))
        made = made if zero is None else made + along(x, zero)
        return torch.clamp(made, limits.min, limits.max).to(kind)

    def up(x, scale, zero=None):
        whole = x.to(torch.int32)
        return (whole if zero is None else whole - along(x, zero).to(torch.int32)) * along(x, scale)

    return down if node.op == "QuantizeLinear" else up


def one_hot(node, constants):
    axis, depth, pair = node.attributes.get("axis", -1), numbers(constants, node, 1), node.inputs[2]

    def run(indices, _, values):
        places = torch.arange(int(depth[0]), device=indices.device, dtype=indices.dtype)
        hot = torch.where(indices < 0, indices + int(depth[0]), indices).unsqueeze(-1) == places
        return torch.where(hot, values[1], values[0]).movedim(-1, axis)

    return run


def transpose(node, constants):
    order = node.attributes.get("perm")
    return lambda x: x.permute(order or list(reversed(range(x.ndim))))


def tile(node, constants):
    repeats = numbers(constants, node, 1)
    return lambda x, *_: x.repeat(repeats)


def gather(node, constants):
    axis = node.attributes.get("axis", 0)
    known = constants.get(node.inputs[1])
    from_front = known is not None and (known >= 0).all()

    def run(x, indices):
        if from_front:
            found = torch.index_select(x, axis, indices.reshape(-1))
            return found.reshape(x.shape[: axis % x.ndim] + indices.shape + x.shape[axis % x.ndim + 1 :])
        length = x.shape[axis]
        found = torch.index_select(x, axis, torch.where(indices < 0, indices + length, indices).reshape(-1))
        return found.reshape(x.shape[: axis % x.ndim] + indices.shape + x.shape[axis % x.ndim + 1 :])

    return run


def gather_elements(node, constants):
    axis = node.attributes.get("axis", 0)
    return lambda x, indices: torch.gather(x, axis, torch.where(indices < 0, indices + x.shape[axis], indices).long())


def scatter_elements(node, constants):
    axis = node.attributes.get("axis", 0)
    if node.attributes.get("reduction", "none") != "none":
        raise worker.NotSupported("its scatter does not reduce")
    return lambda x, indices, updates: torch.scatter(
        x, axis, torch.where(indices < 0, indices + x.shape[axis], indices).long(), updates
    )


def pad(node, constants):
    mode = {"constant": "constant", "reflect": "reflect", "edge": "replicate"}.get(node.attributes.get("mode", "constant"))
    if mode is None or len(node.inputs) > 3:
        raise worker.NotSupported("it pads with a constant, a reflection or the edge, on all axes")
    pads, value = numbers(constants, node, 1), numbers(constants, node, 2)
    rank = len(pads) // 2
    around = [pads[i] for axis in reversed(range(rank)) for i in (axis, axis + rank)]
    if mode != "constant":
        while around and around[-2:] == [0, 0]:
            around = around[:-2]
        return lambda x, *_: F.pad(x, around, mode=mode)
    return lambda x, *_: F.pad(x, around, value=value[0] if value else 0)


def reverse_sequence(node, constants):
    batch, when = node.attributes.get("batch_axis", 1), node.attributes.get("time_axis", 0)

    def run(x, lengths):
        places = torch.arange(x.shape[when], device=x.device)
        ends = lengths.unsqueeze(1)
        order = torch.where(places < ends, ends - 1 - places, places)
        order = order if batch < when else order.t()
        shape = [x.shape[i] if i in (batch, when) else 1 for i in range(x.ndim)]
        return torch.gather(x, when, order.reshape(shape).expand(x.shape))

    return run


def depth_to_space(node, constants):
    size, mode = node.attributes["blocksize"], node.attributes.get("mode", "DCR")
    if mode == "CRD":
        return lambda x: F.pixel_shuffle(x, size)

    def run(x):
        n, c, h, w = x.shape
        x = x.reshape(n, size, size, c // (size * size), h, w).permute(0, 3, 4, 1, 5, 2)
        return x.reshape(n, c // (size * size), h * size, w * size)

    return run


def trilu(node, constants):
    k = numbers(constants, node, 1)
    function = torch.triu if node.attributes.get("upper", 1) else torch.tril
    return lambda x, *_: function(x, k[0] if k else 0)


def grid_sample(node, constants):
    modes = {"linear": "bilinear", "bilinear": "bilinear", "nearest": "nearest", "cubic": "bicubic", "bicubic": "bicubic"}
    mode = modes[node.attributes.get("mode", "linear")]
    padding, corners = node.attributes.get("padding_mode", "zeros"), bool(node.attributes.get("align_corners", 0))
    return lambda x, grid: F.grid_sample(x, grid, mode, padding, corners)


MAKERS = {
    "ArgMax": extreme(torch.argmax), "ArgMin": extreme(torch.argmin), "AveragePool": average_pool,
    "BatchNormalization": batch_norm, "Cast": cast, "Celu": activation(F.celu, alpha=1.0), "Clip": clip,
    "Concat": concat, "Conv": conv, "ConvTranspose": conv_transpose, "CumSum": cumsum, "CumProd": cumsum, "DepthToSpace": depth_to_space,
    "Det": lambda node, constants: torch.linalg.det, "Div": div, "Einsum": einsum,
    "Elu": activation(F.elu, alpha=1.0), "Expand": expand, "Gather": gather, "GatherElements": gather_elements,
    "Gemm": gemm, "GlobalAveragePool": over_the_image(torch.mean), "GlobalMaxPool": over_the_image(torch.amax),
    "GridSample": grid_sample, "HardSigmoid": hard_sigmoid, "InstanceNormalization": instance_norm,
    "LayerNormalization": layer_norm, "LogSoftmax": along(torch.log_softmax, -1), "Max": folded(torch.maximum),
    "MaxPool": max_pool, "Min": folded(torch.minimum), "PRelu": prelu, "Pad": pad, "ReduceL1": reduced(
        lambda x, axes, keep: torch.linalg.vector_norm(x, 1, axes, keep)),
    "ReduceL2": reduced(lambda x, axes, keep: torch.linalg.vector_norm(x, 2, axes, keep)),
    "ReduceLogSumExp": reduced(torch.logsumexp), "ReduceMax": reduced(torch.amax), "ReduceMean": reduced(torch.mean),
    "ReduceMin": reduced(torch.amin), "ReduceProd": reduced(product), "ReduceSum": reduced(torch.sum), "Relu": relu,
    "Reshape": reshape, "ScatterElements": scatter_elements, "Slice": slices, "Softmax": along(torch.softmax, -1),
    "Softplus": always(F.softplus), "BitShift": shift, "DequantizeLinear": quantize, "Flatten": flatten,
    "GRU": recurrent, "GatherND": gather_nd, "Gelu": gelu, "GroupNormalization": group_norm,
    "HardSwish": always(F.hardswish), "IsInf": is_infinite, "IsNaN": always(torch.isnan), "Identity": always(lambda x: x),
    "LRN": lrn, "LpPool": lp_pool, "ReverseSequence": reverse_sequence, "LSTM": recurrent, "LeakyRelu": leaky_relu, "LpNormalization": lp_norm,
    "MeanVarianceNormalization": mean_variance, "Mish": always(F.mish), "Mod": modulo,
    "NegativeLogLikelihoodLoss": cross_entropy, "OneHot": one_hot, "QuantizeLinear": quantize,
    "RMSNormalization": rms_norm, "RNN": recurrent, "ReduceLogSum": reduced(
        lambda x, axes, keep: torch.log(torch.sum(x, axes, keep))),
    "ReduceSumSquare": reduced(lambda x, axes, keep: torch.sum(x * x, axes, keep)), "Resize": resize,
    "ScatterND": scatter_nd, "Selu": selu, "SoftmaxCrossEntropyLoss": cross_entropy, "Softsign": always(F.softsign),
    "SpaceToDepth": space_to_depth, "Split": split, "Sum": folded(torch.add), "Swish": swish,
    "ThresholdedRelu": thresholded_relu, "Squeeze": squeeze, "Tile": tile, "TopK": top_k,
    "Transpose": transpose, "Trilu": trilu, "Unsqueeze": unsqueeze,
}  # fmt: skip

# With a single number that is known, as a program would write it: a number in the program, not memory.
OPERATORS = {
    "Add": operator.add, "Div": operator.truediv, "Equal": operator.eq, "Greater": operator.gt,
    "GreaterOrEqual": operator.ge, "Less": operator.lt, "LessOrEqual": operator.le, "Mul": operator.mul,
    "Pow": operator.pow, "Sub": operator.sub,
}


def with_number(node, constants):
    """Its function where one of its two inputs is a known single number of a floating type, else None."""
    if node.op == "Max" and len(node.inputs) == 2 or node.op == "Min" and len(node.inputs) == 2:
        word = "min" if node.op == "Max" else "max"
        function = lambda a, b: torch.clamp(b, **{word: a}) if isinstance(a, float) else torch.clamp(a, **{word: b})
    elif node.op in OPERATORS:
        function = OPERATORS[node.op]
    else:
        return None
    for at in (1, 0):
        known = constants.get(node.inputs[at])
        if known is not None and known.ndim == 0 and known.dtype.kind == "f" and node.inputs[1 - at] not in constants:
            number = float(known)
            return (lambda a, _: function(a, number)) if at == 1 else (lambda _, b: function(number, b))
    return None


class Graph:
    """The nodes as steps: functions with the names of what they take and give."""

    def __init__(self, nodes, constants, outputs, numbers_in_program):
        self.outputs, self.steps, self.packs = outputs, [], []
        used = {name for node in nodes for name in node.inputs} | set(outputs)
        for i, node in enumerate(nodes):
            node.outputs = [name if name in used else "" for name in node.outputs]
            function = with_number(node, constants) if numbers_in_program else None
            if function is not None:
                pass
            elif node.op in STRAIGHT:
                function = STRAIGHT[node.op]
            elif node.op in MAKERS:
                function = MAKERS[node.op](node, constants)
            else:
                raise worker.NotSupported(f"it has no function for {node.op} here")
            names = list(node.inputs)
            while names and not names[-1]:
                names.pop()
            if isinstance(function, Packed):
                packed = f"packed weights of {i}"  # no tensor of a task is called so
                self.packs.append((packed, function.pack, function.weights))
                function, names = function.function, [packed] + function.others
            elif "" in names and node.op not in ("Resize", "Clip"):
                # An input that is left out in the middle would shift the others.
                raise worker.NotSupported(f"{node.op} without an input in the middle")
            self.steps.append((function, names, node.outputs))

    def pack(self, values):
        """Once the weights are there."""
        for name, pack, weights in self.packs:
            if any(one not in values for one in weights):
                raise worker.NotSupported("its recurrent layers have weights that are known beforehand")
            values[name] = pack(*(values[one] for one in weights))

    def run(self, values, steps):
        for function, names, made in steps:
            self.keep(values, made, function(*[values[name] if name else None for name in names]))

    @staticmethod
    def keep(values, names, made):
        if isinstance(made, torch.Tensor):
            values[names[0]] = made
        else:
            values.update(zip(names, made))
