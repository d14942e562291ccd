"""Layers of networks as PyTorch's functions: windows, sums and norms, losses, recurrent layers, and what such makers share
(torch_graph.py)."""

import math

import worker

import torch
from torch.nn import functional as F


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


# -- windows ----------------------------------------------------------------------------------------------------------
def conv(node, constants):
    no_auto_pad(node)
    said = node.attributes

    def run(x, w, b=None):
        rank = w.ndim - 2
        function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[rank]
        strides, dilations = said.get("strides", [1] * rank), said.get("dilations", [1] * rank)
        pads, group = said.get("pads", [0] * 2 * rank), said.get("group", 1)
        if pads[:rank] == pads[rank:]:
            return function(x, w, b, strides, pads[:rank], dilations, group)
        around = [pads[i] for axis in reversed(range(rank)) for i in (axis, axis + rank)]
        return function(F.pad(x, around), w, b, strides, 0, dilations, group)

    return run


def conv_transpose(node, constants):
    no_auto_pad(node)
    said = node.attributes
    if "output_shape" in said:
        raise worker.NotSupported("its transposed convolution takes no output_shape")
    if "pads" in said:
        same_on_both_sides(said["pads"], node.op)

    def run(x, w, b=None):
        rank = w.ndim - 2
        function = {1: F.conv_transpose1d, 2: F.conv_transpose2d, 3: F.conv_transpose3d}[rank]
        strides, dilations = said.get("strides", [1] * rank), said.get("dilations", [1] * rank)
        pads = said.get("pads", [0] * 2 * rank)[:rank]
        more, group = said.get("output_padding", [0] * rank), said.get("group", 1)
        return function(x, w, b, strides, pads, more, group, dilations)

    return run


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


def lp_pool(node, constants):
    no_auto_pad(node)
    said = node.attributes
    kernel, p = said["kernel_shape"], float(said.get("p", 2))
    rank = len(kernel)
    if any(one != 1 for one in said.get("dilations", [1])) or said.get("ceil_mode", 0):
        raise worker.NotSupported("its pooling of norms has no dilations and rounds down")
    function = {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[rank]
    strides = said.get("strides", [1] * rank)
    pads = same_on_both_sides(said.get("pads", [0] * 2 * rank), node.op)
    return lambda x: (function(x.abs() ** p, kernel, strides, pads) * math.prod(kernel)) ** (1 / p)


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

    def run(x, scale, bias=None):
        shape = x.shape[axis:]
        if scale.shape == shape and (bias is None or bias.shape == shape):
            return F.layer_norm(x, shape, scale, bias, epsilon)
        made = F.layer_norm(x, shape, None, None, epsilon) * scale
        return made if bias is None else made + bias

    return run


def batch_norm(node, constants):
    epsilon = node.attributes.get("epsilon", 1e-5)
    momentum = node.attributes.get("momentum", 0.9)

    def with_moments(x, scale, bias, mean, var):
        made, own_mean, inverse = torch.native_batch_norm(x, scale, bias, None, None, True, 0.0, epsilon)
        own_var = 1 / (inverse * inverse) - epsilon
        return made, mean * momentum + own_mean * (1 - momentum), var * momentum + own_var * (1 - momentum)

    if any(node.outputs[1:]):
        return with_moments
    if node.attributes.get("training_mode", 0):
        return lambda x, scale, bias, *_: F.batch_norm(x, None, None, scale, bias, True, 0.0, epsilon)
    return lambda x, scale, bias, mean, var: F.batch_norm(x, mean, var, scale, bias, False, 0.0, epsilon)


def instance_norm(node, constants):
    epsilon = node.attributes.get("epsilon", 1e-5)
    return lambda x, scale, bias: F.instance_norm(x, weight=scale, bias=bias, eps=epsilon)


def group_norm(node, constants):
    groups, epsilon = node.attributes["num_groups"], node.attributes.get("epsilon", 1e-5)

    def run(x, scale, bias):
        if scale.numel() != x.shape[1]:
            scale, bias = (one.repeat_interleave(x.shape[1] // groups) for one in (scale, bias))
        return F.group_norm(x, groups, scale, bias, epsilon)

    return run


def rms_norm(node, constants):
    axis, epsilon = node.attributes.get("axis", -1), node.attributes.get("epsilon", 1e-5)
    return lambda x, scale: F.rms_norm(x, x.shape[axis:], scale.expand(x.shape[axis:]), epsilon)


def lp_norm(node, constants):
    axis, p = node.attributes.get("axis", -1), node.attributes.get("p", 2)
    return lambda x: F.normalize(x, float(p), axis)


def lrn(node, constants):
    said = node.attributes
    size, alpha, beta, bias = said["size"], said.get("alpha", 1e-4), said.get("beta", 0.75), said.get("bias", 1.0)
    if size % 2 == 0:
        raise worker.NotSupported("its windows over channels lie otherwise where their size is even")
    return lambda x: F.local_response_norm(x, size, alpha, beta, bias)


def mean_variance(node, constants):
    axes = tuple(node.attributes.get("axes", [0, 2, 3]))

    def run(x):
        var, mean = torch.var_mean(x, axes, correction=0, keepdim=True)
        return (x - mean) / (torch.sqrt(var) + 1e-9)

    return run


def cross_entropy(node, constants):
    said = node.attributes
    if any(node.outputs[1:]):
        raise worker.NotSupported("its cross entropy gives no logarithms")
    words = {"ignore_index": said.get("ignore_index", -100), "reduction": said.get("reduction", "mean")}
    function = F.cross_entropy if node.op == "SoftmaxCrossEntropyLoss" else F.nll_loss
    return lambda scores, labels, weight=None: function(scores, labels.long(), weight, **words)


# -- recurrent --------------------------------------------------------------------------------------------------------
class Packed:
    """A function whose first operand is made once, before anything is timed, from the weights among a node's inputs."""

    def __init__(self, pack, weights, others, function):
        self.pack, self.weights, self.others, self.function = pack, weights, others, function


# Where torch has the gates: ONNX has them as input, output, forget, cell and as update, reset, hidden.
GATES = {"LSTM": [0, 2, 3, 1], "GRU": [1, 0, 2], "RNN": [0]}


def recurrent(node, constants):
    said, kind = node.attributes, node.op
    both = said.get("direction", "forward") == "bidirectional"
    plain = ["Sigmoid", "Tanh", "Tanh"] if kind == "LSTM" else ["Sigmoid", "Tanh"] if kind == "GRU" else ["Tanh"]
    activations = said.get("activations", plain * (1 + both))
    relu_instead = kind == "RNN" and activations == ["Relu"] * (1 + both)
    if activations != plain * (1 + both) and not relu_instead:
        raise worker.NotSupported(f"its {kind} has its own activations")
    if said.get("direction", "forward") == "reverse" or said.get("layout", 0) or "clip" in said:
        raise worker.NotSupported(f"its {kind} goes forward or both ways, over batches in the middle, without clipping")
    if kind == "GRU" and not said.get("linear_before_reset", 0):
        raise worker.NotSupported("its GRU resets after the product")
    names = node.inputs + [""] * (8 - len(node.inputs))
    if names[4] or names[7] or (names[6] and kind != "LSTM"):
        raise worker.NotSupported(f"its {kind} takes no lengths and no peepholes")
    if kind == "LSTM" and bool(names[5]) != bool(names[6]):
        raise worker.NotSupported("its LSTM takes both first states or none")
    hidden, directions = said["hidden_size"], 1 + both
    function = {"LSTM": torch.lstm, "GRU": torch.gru, "RNN": torch.rnn_relu if relu_instead else torch.rnn_tanh}[kind]

    def in_order(rows):
        parts = rows.split(hidden)
        return torch.cat([parts[i] for i in GATES[kind]]).contiguous()

    def pack(w, r, b=None):
        flat = []
        for k in range(directions):
            flat += [in_order(w[k]), in_order(r[k])]
            if b is not None:
                half = b.shape[1] // 2
                flat += [in_order(b[k][:half]), in_order(b[k][half:])]
        return flat

    def run(weights, x, h=None, c=None):
        if h is None:
            h = x.new_zeros(directions, x.shape[1], hidden)
        state = (h, x.new_zeros(h.shape) if c is None else c) if kind == "LSTM" else h
        made = function(x, state, weights, bool(names[3]), 1, 0.0, False, both, False)
        y = made[0].reshape(x.shape[0], x.shape[1], directions, hidden).transpose(1, 2)
        return (y, *made[1:])

    return Packed(pack, [name for name in names[1:4] if name], [names[0], names[5], names[6]], run)


def einsum(node, constants):
    equation = node.attributes["equation"]
    return lambda *all: torch.einsum(equation, *all)


def cumsum(node, constants):
    axis = numbers(constants, node, 1)[0]
    exclusive, backwards = node.attributes.get("exclusive", 0), node.attributes.get("reverse", 0)
    function, none = (torch.cumsum, 0) if node.op == "CumSum" else (torch.cumprod, 1)

    def run(x, *_):
        x = x.flip(axis) if backwards else x
        if exclusive:
            shorter = x.narrow(axis, 0, x.shape[axis] - 1)
            made = torch.cat((torch.full_like(x.narrow(axis, 0, 1), none), function(shorter, axis)), axis)
        else:
            made = function(x, axis)
        return made.flip(axis) if backwards else made

    return run
