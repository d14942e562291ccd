"""What every rival's worker shares: the protocol by which kw drives it.

kw starts `python -I worker.py NAME.py SOCKET FOLDERS`; in FOLDERS (with colons) modules are looked for too. The socket carries one JSON object a packet, from kw a command, back an answer with
"ok" or with "error". Inputs and outputs lie in two files of shared memory, which come with `arrange`.

  about                                     -> version, settings
  load  model, folder, setting, threads, inputs, outputs (their names)  -> folded: why it does no work, or ""
  arrange  types, calls, two descriptors    -> -                  types of inputs and outputs; offsets of each call's
  convert  model, folder                    -> folded, files      the model in the framework's own format, for another machine
  run  first, count, warm                   -> times_ns, shapes   of each call; outputs lie where they should; the call
                                               `warm` is run before, untimed, until all is warm

Two models lie ready at once: these three say in `of` which is meant, the "task" or "nothing", a model with next to nothing in it.
Where the latter is arranged, `run` of the task also answers with overhead_ns: what a call of nothing takes right after it.

A rival is a file with a class `TheRival`, made from Rival below, and a line `# packages:` with what pip has to install. One that runs
beside kernels of a GPU has a function `make_side` instead (torch_on_gpu.py).
"""

import gc
import importlib.util
import json
import mmap
import os
import socket
import statistics
import sys
import time

if __name__ == "__main__":
    # Python is started isolated, and looks neither into this folder nor into those where the user keeps modules.
    sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))] + [one for one in sys.argv[3].split(":") if one]

import numpy as np

TYPES = {
    "float32": np.float32, "float64": np.float64, "float16": np.float16, "int8": np.int8, "int16": np.int16,
    "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32,
    "uint64": np.uint64, "bool": np.bool_,
}

# A process that comes back to its core finds nothing as it left it: it takes this long until calls are as fast as in a
# loop (MNN's Relu: 50 % slower after one call, 3 % after two milliseconds).
WARM_UP_NS = 1_000_000
# On the call's own memory: then it is as fast as in a loop over one call (with a single one, MNN's Erf and Min and ONNX Runtime's
# Reshape take 15 % longer). Longer calls warm up by themselves.
WARM_UP_CALLS = 5
WARM_UP_BELOW_NS = 2_000_000
OVERHEAD_CALLS = 9


class NotSupported(Exception):
    """The framework does not have what the task needs; the words say what."""


class Rival:
    """What a framework has to do. Everything but `run` is outside of the time. A worker makes two of it, with a model each."""

    # The names of the ways in which it can run a task, the first is the usual one. All are honest: no setting trades
    # accuracy for speed beyond what the framework itself does by default.
    settings = ["default"]

    def version(self):
        raise NotImplementedError

    def load(self, model, folder, setting, threads, inputs, outputs):
        """Prepares the model file. `folder` is for files that are kept: conversions. The last two are lists of names.
        Returns words where the framework has made the operator go away: then there is nothing to time."""
        raise NotImplementedError

    def bind(self, inputs, outputs):
        """One call's arrays, in the shared memory. What it returns is handed to feed, run and fetch."""
        raise NotImplementedError

    def feed(self, call):
        """Puts the inputs where the framework wants them."""

    def run(self, call):
        raise NotImplementedError

    def fetch(self, call):
        """Puts the outputs where they belong, and returns their shapes where they are not as declared."""


class Arena:
    """A file of shared memory as arrays."""

    def __init__(self, descriptor, writable):
        size = os.fstat(descriptor).st_size
        access = mmap.PROT_READ | mmap.PROT_WRITE if writable else mmap.PROT_READ
        self.memory = mmap.mmap(descriptor, max(size, 1), mmap.MAP_SHARED, access)
        os.close(descriptor)

    def array(self, tensor, offset):
        dtype = np.dtype(TYPES[tensor["dtype"]])
        count = int(np.prod(tensor["shape"], dtype=np.int64))
        if count == 0:
            return np.zeros(tensor["shape"], dtype)
        return np.frombuffer(self.memory, dtype, count, offset).reshape(tensor["shape"])

    def arrays(self, types, offsets):
        return [self.array(tensor, offset) for tensor, offset in zip(types, offsets, strict=True)]


class Side:
    """One model and the calls that are arranged for it."""

    def __init__(self, rival):
        self.rival, self.calls = rival, []

    def load(self, command):
        self.calls = []
        keys = ("model", "folder", "setting", "threads", "inputs", "outputs")
        return {"folded": self.rival.load(*(command[key] for key in keys)) or ""}

    def arrange(self, command, descriptors):
        self.calls = []
        inputs, outputs = Arena(descriptors[0], False), Arena(descriptors[1], True)
        types = command["types"]
        self.calls = [
            self.rival.bind(inputs.arrays(types["inputs"], call[0]), outputs.arrays(types["outputs"], call[1]))
            for call in command["calls"]
        ]
        return {}

    def time(self, call):
        clock, run = time.perf_counter_ns, self.rival.run
        self.rival.feed(call)
        begin = clock()
        run(call)
        return clock() - begin

    def run(self, command):
        first, warm = command["first"], self.calls[command["warm"]]
        begun = time.perf_counter_ns()
        while True:
            last = self.time(warm)
            if time.perf_counter_ns() - begun > WARM_UP_NS:
                break
        calls = self.calls[first : first + command["count"]]
        # One after the other, so that no branch is foretold by what the last call saw.
        short = last < WARM_UP_BELOW_NS
        for _ in range(WARM_UP_CALLS if short else 0):
            for call in calls:
                self.time(call)
        times, shapes = [], []
        for i, call in enumerate(calls):
            if short:  # on other values: `fetch` has come between
                self.time(calls[i - 1])
            times.append(self.time(call))
            shapes.append(self.rival.fetch(call))
        return {"times_ns": times, "shapes": shapes}

    def overhead_ns(self):
        return statistics.median(self.time(self.calls[0]) for _ in range(OVERHEAD_CALLS))


def put(array, value):
    """Into an output's memory. One whose length the values tell may be shorter than its room; its shape is returned."""
    if value.shape == array.shape:
        array[...] = value
    elif value.size <= array.size:
        array.reshape(-1)[: value.size] = value.reshape(-1)
    else:
        raise NotSupported(f"its output has the shape {list(value.shape)}, more than {list(array.shape)}")
    return list(value.shape)


def serve(module, link):
    gc.disable()
    make_side = getattr(module, "make_side", None) or (lambda: Side(module.TheRival()))
    sides = {"task": make_side(), "nothing": make_side()}
    while True:
        packet, descriptors, _, _ = socket.recv_fds(link, 1 << 20, 2)
        if not packet:
            return
        command = json.loads(packet)
        side = sides[command.get("of", "task")]
        try:
            answer = {}
            if command["do"] == "about":
                answer = {"version": side.rival.version(), "settings": side.rival.settings}
            elif command["do"] == "load":
                answer = side.load(command)
            elif command["do"] == "convert":
                files, folded = module.converted(command["model"], command["folder"])
                answer = {"files": [os.path.basename(one) for one in files], "folded": folded}
            elif command["do"] == "arrange":
                answer = side.arrange(command, descriptors)
            elif command["do"] == "fetch":
                answer = side.fetch(command)
            elif command["do"] == "run":
                answer = side.run(command)
                if side is not sides["nothing"] and sides["nothing"].calls:
                    answer["overhead_ns"] = sides["nothing"].overhead_ns()
            answer["ok"] = True
        except NotSupported as missing:
            answer = {"error": str(missing)[:2000], "unsupported": True}
        except Exception as problem:  # what a framework throws is its own business
            answer = {"error": f"{type(problem).__name__}: {problem}"[:2000]}
        lost = "error" in answer and getattr(side, "is_lost", bool)()
        if lost:
            answer["lost"] = True  # it ends, and is started anew
        link.send(json.dumps(answer).encode())
        if lost:
            return


def main():
    # The rival's own folder is not where modules are looked for: its file may have the framework's name.
    place = importlib.util.spec_from_file_location("rival", sys.argv[1])
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    serve(module, socket.socket(fileno=int(sys.argv[2])))


if __name__ == "__main__":
    import worker  # the rival imports this too, and must see the same classes

    worker.main()
