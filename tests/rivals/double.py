"""A double of a framework: computes Relu and goes wrong in the way that its file's name says."""

import importlib.metadata
import os
import sys
import time

import worker

import numpy as np

HOW = os.path.splitext(os.path.basename(__file__))[0]


class TheRival(worker.Rival):
    settings = ["only"]

    def version(self):
        # It lives in the environment of that one.
        return "0.1" if HOW == "other_version" else importlib.metadata.version("onnxruntime")

    def load(self, model, folder, setting, threads, inputs, outputs):
        self.timed = 0
        if HOW == "hangs_in_load":
            time.sleep(1000)
        return ""

    def bind(self, inputs, outputs):
        return inputs, outputs

    # Once for each call that is timed; a trial has fewer than a race.
    def fetch(self, call):
        self.timed += 1

    def run(self, call):
        inputs, outputs = call
        np.maximum(inputs[0], 0, out=outputs[0])
        if inputs[0].size == 1:
            return
        if HOW == "hangs" or HOW == "hangs_later" and self.timed > 25:
            time.sleep(1000)
        if HOW == "dies_later" and self.timed > 25:
            os.abort()
        if HOW == "wrong_later" and self.timed > 25:
            outputs[0].flat[0] += 1
        if HOW == "wrong":
            outputs[0].flat[0] += 1
        if HOW == "eats_memory":
            kept = []
            while True:
                kept.append(np.zeros(1 << 27))
        if HOW == "prints":
            for _ in range(1000):
                os.write(1, b"x" * 65536)
                os.write(2, b"x" * 65536)
        if HOW == "ends":
            sys.exit(0)
