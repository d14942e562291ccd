"""A framework alone: a plain loop over calls in memory of its own, as its users write it to see how fast it is.

plain_loop.py RIVAL.py FOLDER_OF_THE_WORKER ABOUT.json

ABOUT says model, folder, setting, and of each input and output its name, dtype and shape; an input also the files with its bytes, one a
call: several where they are small, since branches are foretold that always see the same values.
Then a line with a number on stdin is that many calls, and their median in nanoseconds is the answer on stdout.
"""

import gc
import importlib.util
import json
import os
import statistics
import sys
import time

sys.path.insert(0, sys.argv[2])
sys.path = [one for one in sys.path if os.path.abspath(one) != os.path.dirname(os.path.abspath(sys.argv[1]))]

import numpy as np
import worker


def aligned(shape, dtype):
    """Zeros at the begin of a cache line, as kw hands memory over: where numpy's own happen to lie makes 5 % of a Softmax."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    room = np.zeros(size + 64, np.uint8)
    begin = -room.ctypes.data % 64
    return room[begin : begin + size].view(dtype).reshape(shape)


def read(one, call):
    array = aligned(one["shape"], worker.TYPES[one["dtype"]])
    array[...] = np.fromfile(one["files"][call], array.dtype).reshape(one["shape"])
    return array


def main():
    # What frameworks print goes nowhere; the answers have a descriptor of their own.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    place = importlib.util.spec_from_file_location("rival", sys.argv[1])
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    with open(sys.argv[3]) as file:
        about = json.load(file)
    rival = module.TheRival()
    names = [[one["name"] for one in about[which]] for which in ("inputs", "outputs")]
    rival.load(about["model"], about["folder"], about["setting"], 1, *names)
    calls = [
        rival.bind(
            [read(one, call) for one in about["inputs"]],
            [aligned(one["shape"], worker.TYPES[one["dtype"]]) for one in about["outputs"]],
        )
        for call in range(about["calls"])
    ]
    gc.disable()
    clock, run = time.perf_counter_ns, rival.run
    for line in sys.stdin:
        times = []
        for i in range(int(line)):
            call = calls[i % len(calls)]
            rival.feed(call)
            begin = clock()
            run(call)
            times.append(clock() - begin)
        print(statistics.median(times), file=answers, flush=True)


main()
