"""PyTorch beside CUDA kernels, on the same GPU: a task's graph eagerly or through torch.compile, replayed as a CUDA graph.

Its part of the protocol of worker.py differs from that of the CPU's rivals, since tensors are copied to the GPU before anything is timed:

  arrange  types, calls, constant, two descriptors   -> -    as there; inputs that are constant lie there once, for all calls.
                                                            Where `drawn` has words for an input, by call and input, it is
                                                            drawn on the GPU from them by the machine code in the file
                                                            `drawing`, with `layers`
  run      first, count, warm, cold   -> times_ns, own_ns, own_warm_ns    of each call as called, and of one as a graph
           drawn, of all calls                               their words anew
  fetch    call                       -> shapes              puts a call's outputs into the shared memory

Both sides of a comparison are timed alike (src/targets/cuda/worker/launcher.h): calls as one graph between two events while something
that was queued before hides the host, or with `cold` each call alone after as many bytes were overwritten as the cache cannot hold.
A call as called is one from Python, on a GPU that waits for it. Products and convolutions of float32 are of float32, and of TF32 only
where the task allows it to kernels too (`tf32` of load).
"""

import ctypes

import worker

import onnx_reader
import torch
import torch_graph

SLEEP_CYCLES = 300_000  # about 0.2 ms, in which Python queues a graph and two events
FLUSH_BYTES = 256 << 20
MOST_COLD_CALLS = 4  # of a lap
# Twice on another stream before a capture, as libraries choose and allocate at first.
WARM_UP_CALLS = 2
EMPTY_LAPS = 7
worker.TYPES["bfloat16"] = onnx_reader.BFLOAT16_BITS  # numpy has no such numbers: they pass as bits
LARGE_BYTES = 1 << 30  # outputs above that are not kept in PyTorch's cache: kernels and references need the memory


def set_up(tf32):
    torch.backends.cuda.matmul.allow_tf32 = tf32
    torch.backends.cudnn.allow_tf32 = tf32
    # Sums of 16-bit products in float32, as kernels must have them.
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    # Each shape gets the convolution that is the fastest here.
    torch.backends.cudnn.benchmark = True


class Drawing:
    """The judge's own code that draws inputs (kernels/cuda/judge), so that they are the kernels' to the bit."""

    THREADS, MOST_BLOCKS = 256, 1 << 16

    def __init__(self, file, layers):
        self.driver = ctypes.CDLL("libcuda.so.1")
        self.layers = ctypes.create_string_buffer(bytes.fromhex(layers))
        torch.zeros(1, device="cuda")  # so that its context is there, and current
        module, self.kernel = ctypes.c_void_p(), ctypes.c_void_p()
        self.must(self.driver.cuModuleLoad(ctypes.byref(module), file.encode()))
        self.must(self.driver.cuModuleGetFunction(ctypes.byref(self.kernel), module, b"kw_draw"))

    @staticmethod
    def must(result):
        if result != 0:
            raise RuntimeError(f"inputs cannot be drawn: CUDA's driver says {result}")

    def draw(self, tensor, words):
        count = tensor.numel()
        if count == 0:
            return
        arguments = [ctypes.c_uint64(tensor.data_ptr()), ctypes.c_uint64(0), ctypes.create_string_buffer(bytes.fromhex(words)),
                     self.layers, ctypes.c_int64(count)]  # fmt: skip
        places = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(one) for one in arguments))
        blocks = min((count + self.THREADS - 1) // self.THREADS, self.MOST_BLOCKS)
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        self.must(self.driver.cuLaunchKernel(self.kernel, blocks, 1, 1, self.THREADS, 1, 1, 0, stream, places, None))


def torch_of(array):
    """The same memory as PyTorch has it."""
    if array.dtype == onnx_reader.BFLOAT16_BITS:
        return torch.from_numpy(array.view("int16")).view(torch.bfloat16)
    return torch.from_numpy(array)


def array_of(tensor):
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).cpu().numpy().view(onnx_reader.BFLOAT16_BITS)
    return tensor.cpu().numpy()


class Call:
    def __init__(self, inputs, outputs):
        self.sources, self.places = inputs, outputs  # in the shared memory; of inputs that are drawn: their words
        self.tensors, self.made = [], []


class GpuSide:
    """One task and its calls; takes the place of worker.Side."""

    def __init__(self, setting):
        self.rival, self.settings, self.setting = self, [setting], setting
        self.calls, self.graphs, self.constants = [], {}, {}
        self.flush = self.stream = None

    def version(self):
        if not torch.cuda.is_available():
            raise worker.NotSupported("the user's PyTorch sees no GPU")
        return torch.__version__

    def load(self, command):
        self.forget()
        set_up(command["tf32"])
        torch._dynamo.reset()
        self.device = torch.device("cuda", 0)
        self.stream = self.stream or torch.cuda.Stream()
        nodes, constants = onnx_reader.read(command["model"])
        self.names, self.outputs = command["inputs"], command["outputs"]
        # Weights stand in the model without their values, which come with the calls.
        constants = {name: array for name, array in constants.items() if name not in self.names}
        self.constants = {name: torch_of(array).to(self.device) for name, array in constants.items()}
        numbers = {name: onnx_reader.widened(array) for name, array in constants.items()}
        self.graph = torch_graph.Graph(nodes, numbers, self.outputs, numbers_in_program=True)
        self.copies = None
        self.function = None
        return {"folded": ""}

    def forget(self):
        self.calls, self.graphs, self.packed, self.weights = [], {}, {}, {}
        torch.cuda.empty_cache()

    @torch.inference_mode()
    def arrange(self, command, descriptors):
        self.forget()
        inputs, outputs = worker.Arena(descriptors[0], False), worker.Arena(descriptors[1], True)
        types, constant, drawn = command["types"], command["constant"], command.get("drawn", [])
        for one in command["calls"]:
            words = drawn.pop(0) if drawn else [""] * len(types["inputs"])
            sources = [word or inputs.array(tensor, offset)
                       for tensor, offset, word in zip(types["inputs"], one[0], words, strict=True)]  # fmt: skip
            self.calls.append(Call(sources, outputs.arrays(types["outputs"], one[1])))
        self.drawing = Drawing(command["drawing"], command["layers"]) if command.get("drawing") else None
        self.types = types["inputs"]
        self.is_large = sum(place.nbytes for place in self.calls[0].places) > LARGE_BYTES
        values = dict(self.constants)
        for i, (name, is_constant) in enumerate(zip(self.names, constant, strict=True)):
            if is_constant:
                values[name] = self.placed(self.calls[0].sources[i], i)
        self.weights = values
        self.graph.pack(values)
        self.free = [i for i, is_constant in enumerate(constant) if not is_constant]
        for call in self.calls:
            call.tensors = [self.placed(call.sources[i], i) for i in self.free]
        if self.function is None:
            self.function = self.prepared()
        return {}

    def placed(self, source, i):
        if not isinstance(source, str):
            return torch_of(source).to(self.device)
        tensor = torch.empty(self.types[i]["shape"], dtype=torch.float32, device=self.device)
        self.drawing.draw(tensor, source)
        return tensor

    def prepared(self):
        """What is called: the graph, with outputs that lie as a kernel's do."""
        names = [self.names[i] for i in self.free]
        graph, outputs = self.graph, self.outputs

        def plain(weights, *tensors):
            values = dict(weights)
            values.update(zip(names, tensors))
            graph.run(values, graph.steps)
            return [values[name] for name in outputs]

        first = self.calls[0].tensors
        known = {one.untyped_storage().data_ptr() for one in [*first, *self.constants.values(), *self.weights.values()]
                 if isinstance(one, torch.Tensor)}  # fmt: skip
        made = plain(self.weights, *first)
        copies = [one.untyped_storage().data_ptr() in known for one in made]

        def whole(weights, *tensors):
            results = plain(weights, *tensors)
            return [one.clone(memory_format=torch.contiguous_format) if copy else one.contiguous()
                    for one, copy in zip(results, copies)]  # fmt: skip

        return torch.compile(whole, dynamic=False) if self.setting == "compile" else whole

    def call(self, call):
        return self.function(self.weights, *call.tensors)

    def feed(self, calls):
        for call in calls:
            for tensor, i in zip(call.tensors, self.free):
                if isinstance(call.sources[i], str):
                    self.drawing.draw(tensor, call.sources[i])
                else:
                    tensor.copy_(torch_of(call.sources[i]))

    def graph_of(self, first, count):
        """Calls in a row, as one graph; its outputs stay where they are."""
        key = (first, count)
        if key in self.graphs:
            return self.graphs[key]
        calls = self.calls[first : first + count]
        torch.cuda.synchronize()
        with torch.cuda.stream(self.stream):
            for _ in range(WARM_UP_CALLS):
                self.call(calls[0])
        torch.cuda.synchronize()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream):
            made = [self.call(call) for call in calls]
        self.graphs[key] = graph, made
        return self.graphs[key]

    def between_events(self, queue, hidden, cold):
        """Nanoseconds of what `queue` queues; with `hidden` the host's own time is not in them."""
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        if hidden:
            torch.cuda._sleep(SLEEP_CYCLES)
        if cold:
            if self.flush is None:
                self.flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device=self.device)
            self.flush.zero_()
        if not hidden:
            torch.cuda.synchronize()
        begin.record()
        queue()
        end.record()
        end.synchronize()
        return begin.elapsed_time(end) * 1e6

    @torch.inference_mode()
    def run(self, command):
        first, count, cold = command["first"], command["count"], command["cold"]
        calls = self.calls[first : first + count]
        for call, words in zip(self.calls, command.get("drawn", [])):
            call.sources = [word or source for word, source in zip(words, call.sources, strict=True)]
        group, made = self.graph_of(first, count)
        for call, tensors in zip(calls, made):
            call.made = tensors
        alone = [self.graph_of(i, 1)[0] for i in range(first, first + min(count, MOST_COLD_CALLS))] if cold else []
        warm = None if cold else self.graph_of(command["warm"], 1)[0]
        answer = {"shapes": []}
        with torch.cuda.stream(self.stream):
            if not cold:
                warm.replay()
            self.feed(calls)
            torch.cuda.synchronize()
            answer["times_ns"] = [self.between_events(lambda: self.call(call), False, cold) for call in calls]
            if self.is_large:
                torch.cuda.empty_cache()
            # What is in the outputs afterwards, the last graph has computed.
            for call in calls:
                for one in call.made:
                    one.fill_(float("nan") if one.is_floating_point() else 77)
            torch.cuda.synchronize()
            empty = min(self.between_events(lambda: None, True, cold) for _ in range(EMPTY_LAPS))
            if cold:
                own = [self.between_events(graph.replay, True, True) for graph in alone]
                answer["own_ns"] = max(sum(own) / len(own) - empty, 1.0)
                group.replay()
            in_a_row = max(self.between_events(group.replay, True, False) - empty, 1.0) / count
            answer["own_warm_ns" if cold else "own_ns"] = in_a_row
        return answer

    def fetch(self, command):
        call, shapes = self.calls[command["call"]], []
        for place, one in zip(call.places, call.made, strict=True):
            if list(one.shape) == list(place.shape):
                torch_of(place).copy_(one)  # straight there: it may be gigabytes
                shapes.append(list(one.shape))
            else:
                shapes.append(worker.put(place, array_of(one)))
        return {"shapes": shapes}

    def is_lost(self):
        """The GPU's context has failed: every further call would."""
        try:
            torch.cuda.synchronize()
            return False
        except Exception:
            return True
