"""Times kernels that kw_cuda_export wrote beside eager PyTorch, in the tasks' own sizes, without the judge.

    python3 bench/cuda_times.py FOLDER [SECONDS]

A line a task: our median time with a cold L2 (256 MiB are overwritten before each call) and eager's, TF32 off on both sides but in
tasks of that precision (NAME@tf32);
bytes of inputs and outputs per second as a share of 4.3 TB/s; and how far the results lie from eager's, in units of the
root of their mean square. The kernels are launched as the plan says, by the driver. Needs PyTorch with a GPU.
"""
import ctypes
import glob
import json
import math
import os
import sys
import time

import torch
import torch.nn.functional as F

torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False  # sums in float32
torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
TYPES = {"float32": torch.float32, "float64": torch.float64, "float16": torch.float16, "bfloat16": torch.bfloat16,
         "int8": torch.int8, "int16": torch.int16, "int32": torch.int32, "int64": torch.int64, "uint8": torch.uint8,
         "bool": torch.bool}
INPUT, OUTPUT, SCRATCH, KEPT, VALUE = range(5)  # kinds of arguments (src/targets/cuda/plan.h)
BYTES_PER_S = 4.3e12
MOST_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES


def check(code, what):
    if code != 0:
        raise RuntimeError(f"{what}: CUDA error {code}")


class Kernels:
    """A cubin's functions, by name."""

    def __init__(self, driver, path):
        self.driver, self.module, self.functions = driver, ctypes.c_void_p(), {}
        with open(path, "rb") as file:
            check(driver.cuModuleLoadData(ctypes.byref(self.module), file.read()), path)

    def function(self, name, shared):
        if name not in self.functions:
            found = ctypes.c_void_p()
            check(self.driver.cuModuleGetFunction(ctypes.byref(found), self.module, name.encode()), name)
            if shared > 48 << 10:
                check(self.driver.cuFuncSetAttribute(found, MOST_SHARED, shared), name)
            self.functions[name] = found
        return self.functions[name]

    def launch(self, step, buffers):
        places = (ctypes.c_void_p * len(buffers))(*[ctypes.addressof(one) for one in buffers])
        sizes = [ctypes.c_uint(n) for n in (*step["grid"], *step["block"], step["shared"])]
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        check(self.driver.cuLaunchKernel(self.function(step["kernel"], step["shared"]), *sizes, stream, places, None),
              step["kernel"])


flush = torch.empty(64 << 20, dtype=torch.float32, device="cuda")


def median_ms(call, most_s=0.12, most=8):
    call()
    torch.cuda.synchronize()
    times, begin = [], time.time()
    while len(times) < 3 or (len(times) < most and time.time() - begin < most_s):
        flush.fill_(float(len(times)))
        before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(200000)  # hides the host's own time
        before.record()
        call()
        after.record()
        after.synchronize()
        times.append(before.elapsed_time(after))
    return sorted(times)[len(times) // 2]


def ints(v): return [int(x) for x in v]

def pads_of(at, n):
    p = at.get("pads") or [0] * (2 * n)
    return p[:n], p[n:]

def run_node(op, at, x, known):
    g = at.get
    a = x[0] if x else None
    simple = {"Relu": torch.relu, "Sigmoid": torch.sigmoid, "Tanh": torch.tanh, "Softplus": F.softplus, "Softsign": F.softsign, "Abs": torch.abs,
              "Exp": torch.exp, "Log": torch.log, "Sqrt": torch.sqrt, "Neg": torch.neg, "Erf": torch.erf, "Mish": F.mish, "HardSwish": F.hardswish,
              "Identity": lambda v: v, "Reciprocal": torch.reciprocal, "Selu": F.selu, "Sin": torch.sin, "Cos": torch.cos}
    if op in simple: return simple[op](a)
    two = {"Add": torch.add, "Sub": torch.sub, "Mul": torch.mul, "Div": torch.div, "Pow": torch.pow, "Less": torch.lt, "Greater": torch.gt,
           "Max": torch.maximum, "Min": torch.minimum, "Equal": torch.eq}
    if op in two and len(x) == 2: return two[op](x[0], x[1])
    if op == "Where": return torch.where(x[0], x[1], x[2])
    if op == "MatMul": return torch.matmul(x[0], x[1])
    if op == "Gemm":
        p, q = (x[0].t() if g("transA") else x[0]), (x[1].t() if g("transB") else x[1])
        if len(x) > 2 and x[2] is not None and g("alpha", 1) == 1 and g("beta", 1) == 1: return torch.addmm(x[2], p, q) if x[2].dim() <= 2 else p @ q + x[2]
        r = p @ q
        if g("alpha", 1) != 1: r = r * g("alpha")
        if len(x) > 2 and x[2] is not None: r = r + g("beta", 1) * x[2]
        return r
    if op == "LeakyRelu": return F.leaky_relu(a, g("alpha", 0.01))
    if op == "Elu": return F.elu(a, g("alpha", 1.0))
    if op == "Swish": return F.silu(a)
    if op == "Gelu": return F.gelu(a, approximate=g("approximate", "none"))
    if op == "HardSigmoid":
        return F.hardsigmoid(a) if abs(g("alpha", 0.2) - 1 / 6) < 1e-6 else torch.clamp(a * g("alpha", 0.2) + g("beta", 0.5), 0, 1)
    if op == "Clip":
        lo = x[1].item() if len(x) > 1 and x[1] is not None else None
        hi = x[2].item() if len(x) > 2 and x[2] is not None else None
        return torch.clamp(a, lo, hi)
    if op == "Softmax": return F.softmax(a, g("axis", -1))
    if op == "LogSoftmax": return F.log_softmax(a, g("axis", -1))
    if op.startswith("Reduce"):
        axes = g("axes") or (ints(known[1]) if len(x) > 1 and known[1] is not None else list(range(a.dim())))
        keep = bool(g("keepdims", 1)); axes = tuple(axes)
        return {"ReduceSum": lambda: torch.sum(a, axes, keep), "ReduceMean": lambda: torch.mean(a, axes, keep), "ReduceMax": lambda: torch.amax(a, axes, keep),
                "ReduceMin": lambda: torch.amin(a, axes, keep), "ReduceL2": lambda: torch.linalg.vector_norm(a, 2, axes, keep),
                "ReduceL1": lambda: torch.linalg.vector_norm(a, 1, axes, keep), "ReduceLogSumExp": lambda: torch.logsumexp(a, axes, keep),
                "ReduceSumSquare": lambda: torch.sum(a * a, axes, keep), "ReduceProd": lambda: torch.prod(a, axes[0], keep)}[op]()
    if op in ("ArgMax", "ArgMin"): return (torch.argmax if op == "ArgMax" else torch.argmin)(a, g("axis", 0), bool(g("keepdims", 1)))
    if op in ("Conv", "ConvTranspose"):
        n = a.dim() - 2
        lo, hi = pads_of(at, n)
        s, d, grp = g("strides") or [1] * n, g("dilations") or [1] * n, g("group", 1)
        b = x[2] if len(x) > 2 else None
        assert lo == hi
        if op == "Conv": return [F.conv1d, F.conv2d, F.conv3d][n - 1](a, x[1], b, s, lo, d, grp)
        return [F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d][n - 1](a, x[1], b, s, lo, g("output_padding") or [0] * n, grp, d)
    if op in ("MaxPool", "AveragePool"):
        n = a.dim() - 2
        lo, hi = pads_of(at, n)
        assert lo == hi
        k, s = g("kernel_shape"), g("strides") or [1] * n
        if op == "MaxPool": return [F.max_pool1d, F.max_pool2d, F.max_pool3d][n - 1](a, k, s, lo, g("dilations") or [1] * n, bool(g("ceil_mode", 0)))
        return [F.avg_pool1d, F.avg_pool2d, F.avg_pool3d][n - 1](a, k, s, lo, bool(g("ceil_mode", 0)), bool(g("count_include_pad", 0)))
    if op == "GlobalAveragePool": return torch.mean(a, tuple(range(2, a.dim())), True)
    if op == "BatchNormalization":
        if g("training_mode", 0):
            m, v = x[3].clone(), x[4].clone()
            return (F.batch_norm(a, m, v, x[1], x[2], True, 0.1, g("epsilon", 1e-5)), None, None)
        return F.batch_norm(a, x[3], x[4], x[1], x[2], False, 0.1, g("epsilon", 1e-5))
    if op == "InstanceNormalization": return F.instance_norm(a, None, None, x[1], x[2], True, 0.1, g("epsilon", 1e-5))
    if op == "GroupNormalization": return F.group_norm(a, g("num_groups"), x[1], x[2], g("epsilon", 1e-5))
    if op == "LayerNormalization":
        ax = g("axis", -1) % a.dim()
        return F.layer_norm(a, a.shape[ax:], x[1], x[2] if len(x) > 2 else None, g("epsilon", 1e-5))
    if op == "CumSum":
        ax = ints(known[1])[0]
        v = a.flip(ax) if g("reverse", 0) else a
        r = torch.cumsum(v, ax)
        if g("exclusive", 0): r = r - v
        return r.flip(ax) if g("reverse", 0) else r
    if op == "CumProd": return torch.cumprod(a, ints(known[1])[0])
    if op == "Trilu": return torch.triu(a) if g("upper", 1) else torch.tril(a)
    if op == "Unsqueeze":
        for k in sorted(ints(known[1])): a = a.unsqueeze(k)
        return a
    if op == "Squeeze":
        for k in sorted(ints(known[1]), reverse=True): a = a.squeeze(k)
        return a
    if op == "Reshape": return a.reshape([a.shape[i] if v == 0 else v for i, v in enumerate(ints(known[1]))])
    if op == "Flatten": return a.reshape(math.prod(a.shape[:g("axis", 1)]), -1)
    if op == "Transpose": return a.permute(g("perm")).contiguous()
    if op == "Cast": return a.to(torch.float32)
    if op == "SoftmaxCrossEntropyLoss": return F.cross_entropy(a, x[1], reduction=g("reduction", "mean"))
    if op == "Concat": return torch.cat(x, g("axis"))
    if op == "RMSNormalization": return a * torch.rsqrt(torch.mean(a * a, -1, True) + g("epsilon", 1e-5)) * x[1]
    raise NotImplementedError(op)


def reference(task, tensors, known):
    values, last = dict(enumerate(tensors)), {}
    for n, node in enumerate(task["nodes"]):
        for slot in node["inputs"]:
            last[slot] = n
    wanted = {one["slot"] for one in task["outputs"]}
    for n, node in enumerate(task["nodes"]):
        operands = [values[slot] if slot >= 0 else None for slot in node["inputs"]]
        constants = [known[slot] if 0 <= slot < len(known) else None for slot in node["inputs"]]
        made = run_node(node["op"], node["attributes"], operands, constants)
        for slot, value in zip(node["outputs"], made if isinstance(made, tuple) else (made,)):
            if slot >= 0:
                values[slot] = value
        for slot in node["inputs"]:
            if slot >= len(tensors) and last[slot] == n and slot not in wanted:
                values.pop(slot, None)
    return [values.get(one["slot"]) for one in task["outputs"]]


def drawn(one):
    """An input as the task says, and the values of a constant."""
    dtype = TYPES[one["dtype"]]
    if "value" in one:
        data = bytes.fromhex(one["value"])
        tensor = torch.frombuffer(bytearray(data), dtype=dtype) if data else torch.empty(0, dtype=dtype)
        tensor = tensor.reshape(one["shape"]).cuda()
        return tensor, tensor.flatten().tolist()
    if dtype == torch.bool:
        return torch.rand(one["shape"], device="cuda") > 0.5, None
    if not dtype.is_floating_point:
        return torch.randint(0, 16, one["shape"], dtype=dtype, device="cuda"), None
    normal, low, high = one.get("spread", [True, 0.0, 1.0])
    tensor = torch.empty(one["shape"], dtype=dtype, device="cuda")
    return tensor.normal_(low, high) if normal else tensor.uniform_(low, high), None


def difference(ours, theirs):
    if not ours.dtype.is_floating_point:
        return (ours != theirs.reshape(ours.shape)).float().mean().item()
    count = min(ours.numel(), 1 << 25)
    a, b = ours.flatten()[:count], theirs.flatten()[:count].float()
    return (a - b).abs().max().item() / (b.pow(2).mean().sqrt().item() + 1e-30)


def measure(driver, path):
    with open(path) as file:
        task = json.load(file)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = task["tf32"]
    torch.manual_seed(1)
    pairs = [drawn(one) for one in task["inputs"]]
    tensors, known = [one for one, _ in pairs], [one for _, one in pairs]
    outputs = [torch.empty(one["shape"], dtype=TYPES[one["dtype"]], device="cuda") for one in task["outputs"]]
    for one in outputs:
        one.fill_(math.nan if one.dtype.is_floating_point else 1)
    plan = task["plan"]
    scratch, kept = (torch.empty(max(plan[name], 1), dtype=torch.uint8, device="cuda") for name in ("scratch", "kept"))
    kernels = Kernels(driver, path[:-5] + ".cubin")

    def buffer(argument):
        kind, at = argument["kind"], argument["at"]
        if kind == VALUE:
            data = bytes.fromhex(argument["value"])
            return ctypes.create_string_buffer(data, len(data))
        place = {INPUT: lambda: tensors[at].data_ptr(), OUTPUT: lambda: outputs[at].data_ptr(),
                 SCRATCH: lambda: scratch.data_ptr() + at, KEPT: lambda: kept.data_ptr() + at}[kind]()
        return ctypes.c_uint64(place)

    steps = [(one, [buffer(argument) for argument in one["arguments"]]) for one in plan["launches"]]
    for one, buffers in steps:
        if one["once"]:
            kernels.launch(one, buffers)

    def ours():
        for one, buffers in steps:
            if not one["once"]:
                kernels.launch(one, buffers)

    ours()
    torch.cuda.synchronize()
    words, eager = "", math.nan
    try:
        pairs = zip(outputs, reference(task, tensors, known))
        words = "differs by " + ", ".join(f"{difference(a, b):.1e}" for a, b in pairs if b is not None)
        eager = median_ms(lambda: reference(task, tensors, known), 0.08, 5)
    except (NotImplementedError, AssertionError, torch.cuda.OutOfMemoryError) as error:
        words += f"{type(error).__name__} {error}"[:60]
    took = median_ms(ours)
    share = sum(one.numel() * one.element_size() for one in tensors + outputs) / (took / 1e3) / BYTES_PER_S
    return f"{took:9.3f} ms  eager {eager:9.3f} ms  {eager / took:6.2f}  {share:6.1%}  {words}  {task['draft']}"


def main(folder, seconds):
    driver = ctypes.CDLL("libcuda.so.1")
    begin = time.time()
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        if time.time() - begin > seconds:
            print("no time is left for", path, "and what follows")
            break
        try:
            said = measure(driver, path)
        except RuntimeError as error:
            said = str(error)[:160]
        torch.cuda.empty_cache()
        print(f"{os.path.basename(path)[:-5]:<50} {said}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 600)
