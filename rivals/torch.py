"""PyTorch: one thread, eager, in inference mode; the operators of a task as torch's own functions.

It is the user's own, or installed when it is asked for: it takes several GB. Inputs are the shared memory itself. Where a function writes
into memory that is given to it, it gets the output's; what others make is copied there after the time, except views of an input,
whose copy is the operator's work.
"""
# packages: torch==2.15.0 numpy==2.4.6
# only when asked: several GB
# module: torch

import warnings

import worker

import onnx_reader
import torch
from torch.nn import functional as F

torch.set_num_interop_threads(1)
warnings.simplefilter("ignore")  # memory that is read-only: nothing writes there

DTYPES = {
    1: torch.float32, 2: torch.uint8, 3: torch.int8, 5: torch.int16, 6: torch.int32, 7: torch.int64, 9: torch.bool,
    10: torch.float16, 11: torch.float64,
}


def same_on_both_sides(pads, op):
    """[begin..., end...] as torch wants it: one number an axis."""
    half = len(pads) // 2
    if pads[:half] != pads[half:]:
        raise worker.NotSupported(f"its {op} pads both sides alike")
    return pads[:half]


def no_auto_pad(node):
    if node.attributes.get("auto_pad", "NOTSET") != "NOTSET":
        raise worker.NotSupported(f"its {node.op} has no auto_pad")


def numbers(constants, node, index):
    """An input that must be known beforehand, as a list."""
    name = node.inputs[index] if index < len(node.inputs) else ""
    if not name:
        return None
    if name not in constants:
        raise worker.NotSupported(f"{node.op} takes its input {index} as a constant only")
    return constants[name].reshape(-1).tolist()


# Each maker gets a node and the constants and returns a function of the node's tensors. What takes `out` is in OUT.
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


# -- windows ----------------------------------------------------------------------------------------------------------
def conv(node, constants):
    no_auto_pad(node)
    said = node.attributes
    rank = constants[node.inputs[1]].ndim - 2 if node.inputs[1] in constants else len(said.get("kernel_shape", [0, 0]))
    function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[rank]
    strides, dilations = said.get("strides", [1] * rank), said.get("dilations", [1] * rank)
    pads, group = said.get("pads", [0] * 2 * rank), said.get("group", 1)
    if pads[:rank] == pads[rank:]:
        return lambda x, w, b=None: function(x, w, b, strides, pads[:rank], dilations, group)
    around = [pads[i] for axis in reversed(range(rank)) for i in (axis, axis + rank)]
    return lambda x, w, b=None: function(F.pad(x, around), w, b, strides, 0, dilations, group)


def conv_transpose(node, constants):
    no_auto_pad(node)
    said = node.attributes
    if "output_shape" in said:
        raise worker.NotSupported("its transposed convolution takes no output_shape")
    rank = constants[node.inputs[1]].ndim - 2 if node.inputs[1] in constants else len(said.get("kernel_shape", [0, 0]))
    function = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[rank]
    strides, dilations = said.get("strides", [1] * rank), said.get("dilations", [1] * rank)
    pads = same_on_both_sides(said.get("pads", [0] * 2 * rank), node.op)
    more, group = said.get("output_padding", [0] * rank), said.get("group", 1)
    return lambda x, w, b=None: function(x, w, b, strides, pads, more, group, dilations)


def max_pool(node, constants):
    no_auto_pad(node)
    said = node.attributes
    kernel = said["kernel_shape"]
    rank = len(kernel)
    if len(node.outputs) > 1:
        raise worker.NotSupported("its indices are counted otherwise")
    function = {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[rank]
    strides, dilations = said.get("strides", [1] * rank), said.get("dilations", [1] * rank)
    pads = same_on_both_sides(said.get("pads", [0] * 2 * rank), node.op)
    ceil = bool(said.get("ceil_mode", 0))
    return lambda x: function(x, kernel, strides, pads, dilations, ceil)


def average_pool(node, constants):
    no_auto_pad(node)
    said = node.attributes
    kernel = said["kernel_shape"]
    rank = len(kernel)
    if any(one != 1 for one in said.get("dilations", [1])):
        raise worker.NotSupported("its average pooling has no dilations")
    function = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[rank]
    strides = said.get("strides", [1] * rank)
    pads = same_on_both_sides(said.get("pads", [0] * 2 * rank), node.op)
    ceil, counted = bool(said.get("ceil_mode", 0)), bool(said.get("count_include_pad", 0))
    return lambda x: function(x, kernel, strides, pads, ceil, counted)


def over_the_image(function):
    return lambda node, constants: lambda x: function(x, dim=tuple(range(2, x.ndim)), keepdim=True)


# -- sums and norms ---------------------------------------------------------------------------------------------------
def reduced(function):
    def make(node, constants):
        axes = numbers(constants, node, 1) if len(node.inputs) > 1 else node.attributes.get("axes")
        keep = bool(node.attributes.get("keepdims", 1))
        if not axes and node.attributes.get("noop_with_empty_axes", 0):
            raise worker.NotSupported("a reduction over no axis")
        return lambda x, *_: function(x, tuple(axes) if axes else tuple(range(x.ndim)), keep)

    return make


def product(x, axes, keep):
    for axis in sorted((axis % x.ndim for axis in axes), reverse=True):
        x = torch.prod(x, axis, keepdim=keep)
    return x


def extreme(function):
    def make(node, constants):
        axis, keep = node.attributes.get("axis", 0), bool(node.attributes.get("keepdims", 1))
        return lambda x: function(x, axis, keepdim=keep)

    return make


def top_k(node, constants):
    count = numbers(constants, node, 1)[0]
    said = node.attributes
    axis, largest, is_sorted = said.get("axis", -1), bool(said.get("largest", 1)), bool(said.get("sorted", 1))
    return lambda x, *_: torch.topk(x, count, axis, largest, is_sorted)


def gemm(node, constants):
    said = node.attributes
    alpha, beta = said.get("alpha", 1.0), said.get("beta", 1.0)

    def run(a, b, c=None):
        a = a.t() if said.get("transA", 0) else a
        b = b.t() if said.get("transB", 0) else b
        if c is not None:
            return torch.addmm(c, a, b, beta=beta, alpha=alpha)
        made = torch.mm(a, b)
        return made if alpha == 1 else made * alpha

    return run


def layer_norm(node, constants):
    axis, epsilon = node.attributes.get("axis", -1), node.attributes.get("epsilon", 1e-5)
    if len(node.outputs) > 1:
        raise worker.NotSupported("its layer norm gives no mean")
    return lambda x, scale, bias=None: F.layer_norm(x, x.shape[axis:], scale, bias, epsilon)


def batch_norm(node, constants):
    if node.attributes.get("training_mode", 0) or len(node.outputs) > 1:
        raise worker.NotSupported("training is not meant")
    epsilon = node.attributes.get("epsilon", 1e-5)
    return lambda x, scale, bias, mean, var: F.batch_norm(x, mean, var, scale, bias, False, 0.0, epsilon)


def instance_norm(node, constants):
    epsilon = node.attributes.get("epsilon", 1e-5)
    return lambda x, scale, bias: F.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


def einsum(node, constants):
    equation = node.attributes["equation"]
    return lambda *all: torch.einsum(equation, *all)


def cumsum(node, constants):
    axis = numbers(constants, node, 1)[0]
    if node.attributes.get("exclusive", 0) or node.attributes.get("reverse", 0):
        raise worker.NotSupported("its sums are neither exclusive nor reversed")
    return lambda x, *_: torch.cumsum(x, axis)


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


def transpose(node, constants):
    order = node.attributes.get("perm")
    return lambda x: x.permute(order or list(reversed(range(x.ndim))))


def tile(node, constants):
    repeats = numbers(constants, node, 1)
    return lambda x, *_: x.repeat(repeats)


def gather(node, constants):
    axis = node.attributes.get("axis", 0)

    def run(x, indices):
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
    if node.attributes.get("mode", "constant") != "constant" or len(node.inputs) > 3:
        raise worker.NotSupported("it pads with a constant, on all axes")
    pads, value = numbers(constants, node, 1), numbers(constants, node, 2)
    rank = len(pads) // 2
    around = [pads[i] for axis in reversed(range(rank)) for i in (axis, axis + rank)]
    return lambda x, *_: F.pad(x, around, value=value[0] if value else 0)


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
    "Concat": concat, "Conv": conv, "ConvTranspose": conv_transpose, "CumSum": cumsum, "DepthToSpace": depth_to_space,
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
    "Softplus": lambda node, constants: F.softplus, "Squeeze": squeeze, "Tile": tile, "TopK": top_k,
    "Transpose": transpose, "Trilu": trilu, "Unsqueeze": unsqueeze,
}  # fmt: skip


class Call:
    """One call's tensors: all that the steps read and write, by name."""

    def __init__(self, values, outputs):
        self.values, self.outputs, self.made = values, outputs, []


class TheRival(worker.Rival):
    settings = ["eager"]

    def version(self):
        return torch.__version__.partition("+")[0]  # "2.15.0+cu132": which CUDA it was built for does not matter here

    def load(self, model, folder, setting, threads, inputs, outputs):
        torch.set_num_threads(threads)
        nodes, constants = onnx_reader.read(model)
        self.constants = {name: torch.from_numpy(array) for name, array in constants.items()}
        self.inputs, self.outputs = inputs, outputs
        self.steps = []
        for node in nodes:
            if node.op in STRAIGHT:
                function = STRAIGHT[node.op]
            elif node.op in MAKERS:
                function = MAKERS[node.op](node, constants)
            else:
                raise worker.NotSupported(f"it has no function for {node.op} here")
            # An input that is left out in the middle would shift the others.
            names = [name for name in node.inputs if name]
            if "" in node.inputs[: len(names)]:
                raise worker.NotSupported(f"{node.op} without an input in the middle")
            self.steps.append((function, names, node.outputs))
        self.last = nodes[-1].op
        self.into_out = self.last in OUT and nodes[-1].outputs == outputs
        self.copies = self.last in VIEWS

    def bind(self, inputs, outputs):
        values = dict(self.constants)
        values.update(zip(self.inputs, (torch.from_numpy(array) for array in inputs), strict=True))
        return Call(values, [(array, torch.from_numpy(array)) for array in outputs])

    @torch.inference_mode()
    def run(self, call):
        values = call.values
        for function, names, made in self.steps[:-1]:
            self.keep(values, made, function(*[values[name] for name in names]))
        function, names, made = self.steps[-1]
        found = [values[name] for name in names]
        if self.into_out:
            function(*found, out=call.outputs[0][1])
            return
        self.keep(values, made, function(*found))
        if self.copies:
            call.outputs[0][1].copy_(values[self.outputs[0]])

    @staticmethod
    def keep(values, names, made):
        if len(names) == 1 and isinstance(made, torch.Tensor):
            values[names[0]] = made
        else:
            values.update(zip(names, made))

    def fetch(self, call):
        if self.into_out or self.copies:
            return None
        values = (call.values[name].numpy() for name in self.outputs)
        return [worker.put(array, value) for (array, _), value in zip(call.outputs, values, strict=True)]
