"""What every rival's worker shares: the protocol by which kw drives it.

kw starts `python worker.py NAME.py SOCKET`. The socket carries one JSON object a packet, from kw a command, back an answer with
"ok" or with "error". Inputs and outputs lie in two files of shared memory, which come with `arrange`.

  about                                     -> version, settings
  load  model, folder, setting, threads, inputs, outputs (their names)  -> folded: why it does no work, or ""
  arrange  types, calls, two descriptors    -> -                  types of inputs and outputs; offsets of each call's
  run  first, count, warm                   -> times_ns, shapes   of each call; outputs lie where they should; the call
                                               `warm` is run before, untimed, until all is warm

A rival is a file with a class `TheRival`, made from Rival below, and a line `# packages:` with what pip has to install.
"""

import gc
import importlib.util
import json
import mmap
import os
import socket
import sys
import time

import numpy as np

TYPES = {
    "float32": np.float32, "float64": np.float64, "float16": np.float16, "int8": np.int8, "int16": np.int16,
    "int32": np.int32, "int64": np.int64, "uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32,
    "uint64": np.uint64, "bool": np.bool_,
}

# A process that comes back to its core finds nothing as it left it: it takes this long until calls are as fast as in a
# loop (MNN's Relu: 50 % slower after one call, 3 % after two milliseconds).
WARM_UP_NS = 1_000_000
# Longer calls warm up by themselves.
WARM_UP_BELOW_NS = 2_000_000


class NotSupported(Exception):
    """The framework does not have what the task needs; the words say what."""


class Rival:
    """What a framework has to do. Everything but `run` is outside of the time."""

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


def load(rival, command):
    keys = ("model", "folder", "setting", "threads", "inputs", "outputs")
    return {"folded": rival.load(*(command[key] for key in keys)) or ""}


def arrange(rival, command, descriptors):
    inputs, outputs = Arena(descriptors[0], False), Arena(descriptors[1], True)
    types = command["types"]
    return [
        rival.bind(inputs.arrays(types["inputs"], call[0]), outputs.arrays(types["outputs"], call[1]))
        for call in command["calls"]
    ]


def run(rival, calls, warm):
    times, shapes = [], []
    clock = time.perf_counter_ns
    feed, work, fetch = rival.feed, rival.run, rival.fetch
    begun = clock()
    while True:
        feed(warm)
        work(warm)
        if clock() - begun > WARM_UP_NS:
            break
    for call in calls:
        # On the call's own memory: its inputs are then as warm as a kernel's, which come right before its turn.
        if not times or times[-1] < WARM_UP_BELOW_NS:
            feed(call)
            work(call)
        feed(call)
        begin = clock()
        work(call)
        end = clock()
        times.append(end - begin)
        shapes.append(fetch(call))
    return {"times_ns": times, "shapes": shapes}


def put(array, value):
    """Into an output's memory. One whose length the values tell may be shorter than its room; its shape is returned."""
    if value.shape == array.shape:
        array[...] = value
    elif value.size <= array.size:
        array.reshape(-1)[: value.size] = value.reshape(-1)
    else:
        raise NotSupported(f"its output has the shape {list(value.shape)}, more than {list(array.shape)}")
    return list(value.shape)


def serve(rival, link):
    gc.disable()
    calls = []
    while True:
        packet, descriptors, _, _ = socket.recv_fds(link, 1 << 20, 2)
        if not packet:
            return
        command = json.loads(packet)
        try:
            answer = {}
            if command["do"] == "about":
                answer = {"version": rival.version(), "settings": rival.settings}
            elif command["do"] == "load":
                calls = []
                answer = load(rival, command)
            elif command["do"] == "arrange":
                calls = []
                calls = arrange(rival, command, descriptors)
            elif command["do"] == "run":
                first = command["first"]
                answer = run(rival, calls[first : first + command["count"]], calls[command["warm"]])
            answer["ok"] = True
        except NotSupported as missing:
            answer = {"error": str(missing)[:2000], "unsupported": True}
        except Exception as problem:  # what a framework throws is its own business
            answer = {"error": f"{type(problem).__name__}: {problem}"[:2000]}
        link.send(json.dumps(answer).encode())


def main():
    # The rival's own folder is not where modules are looked for: its file may have the framework's name.
    place = importlib.util.spec_from_file_location("rival", sys.argv[1])
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    serve(module.TheRival(), socket.socket(fileno=int(sys.argv[2])))


if __name__ == "__main__":
    import worker  # the rival imports this too, and must see the same classes

    worker.main()
