"""A double of a framework on a GPU: Relu by numpy, with made-up times; its file's name says what goes wrong."""
# packages: double==1.0

import os
import sys
import time

import numpy as np
import worker

HOW = os.path.basename(sys.argv[1]).removesuffix(".py")


class Side:
    def __init__(self):
        self.rival, self.settings, self.calls, self.lost = self, ["double"], [], False

    def version(self):
        return "1.0"

    def load(self, command):
        assert command["inputs"] == ["x"] and command["outputs"] == ["y"], command
        return {"folded": ""}

    def arrange(self, command, descriptors):
        inputs, outputs = worker.Arena(descriptors[0], False), worker.Arena(descriptors[1], True)
        assert command["constant"] == [False], command
        types = command["types"]
        self.calls = [(inputs.arrays(types["inputs"], one[0]), outputs.arrays(types["outputs"], one[1]))
                      for one in command["calls"]]  # fmt: skip
        return {}

    def run(self, command):
        if HOW == "hangs":
            time.sleep(1000)
        if HOW == "dies":
            os.kill(os.getpid(), 11)
        if HOW == "no_memory":
            raise MemoryError("CUDA out of memory")
        if HOW == "lost":
            self.lost = True
            raise RuntimeError("an illegal memory access was encountered")
        if HOW == "no_times":
            return {"times_ns": ["soon"], "own_ns": 1, "shapes": []}
        times = {"times_ns": [9000.0] * command["count"], "shapes": []}
        cold = {"own_ns": 3000.0, "own_warm_ns": 2000.0}
        return times | (cold if command["cold"] else {"own_ns": 2000.0})

    def fetch(self, command):
        inputs, outputs = self.calls[command["call"]]
        return {"shapes": [worker.put(outputs[0], np.maximum(inputs[0], 0))]}

    def is_lost(self):
        return self.lost


make_side = Side
