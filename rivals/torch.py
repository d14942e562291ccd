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
import torch_graph

torch.set_num_interop_threads(1)
warnings.simplefilter("ignore")  # memory that is read-only: nothing writes there


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
        self.graph = torch_graph.Graph(nodes, constants, outputs, numbers_in_program=False)
        self.graph.pack(self.constants)
        self.last = nodes[-1].op
        self.into_out = self.last in torch_graph.OUT and nodes[-1].outputs == outputs
        self.copies = self.last in torch_graph.VIEWS

    def bind(self, inputs, outputs):
        values = dict(self.constants)
        values.update(zip(self.inputs, (torch.from_numpy(array) for array in inputs), strict=True))
        return Call(values, [(array, torch.from_numpy(array)) for array in outputs])

    @torch.inference_mode()
    def run(self, call):
        values = call.values
        self.graph.run(values, self.graph.steps[:-1])
        if not self.into_out:
            self.graph.run(values, self.graph.steps[-1:])
            if self.copies:
                call.outputs[0][1].copy_(values[self.outputs[0]])
            return
        function, names, _ = self.graph.steps[-1]
        function(*[values[name] for name in names], out=call.outputs[0][1])

    def fetch(self, call):
        if self.into_out or self.copies:
            return None
        values = (call.values[name].numpy() for name in self.outputs)
        return [worker.put(array, value) for (array, _), value in zip(call.outputs, values, strict=True)]
