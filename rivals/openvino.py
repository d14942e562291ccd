"""OpenVINO: one thread, latency mode, float32 throughout; outputs are the shared memory itself, inputs are copied before
the call, since it takes no memory that is read-only."""
# packages: --no-deps openvino==2026.4.1 numpy==2.4.6

import worker

import numpy as np
import openvino as ov


class TheRival(worker.Rival):
    def version(self):
        return ov.__version__.split("-")[0]

    def load(self, model, folder, setting, threads, inputs, outputs):
        core = ov.Core()
        config = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
            "INFERENCE_PRECISION_HINT": "f32",
            "ENABLE_CPU_PINNING": False,
        }
        self.compiled = core.compile_model(core.read_model(model), "CPU", config)
        self.inputs, self.outputs = inputs, outputs

    def bind(self, inputs, outputs):
        request = self.compiled.create_infer_request()
        fed = []
        for name, array in zip(self.inputs, inputs, strict=True):
            fed.append((np.empty_like(array), array))
            request.set_tensor(name, ov.Tensor(fed[-1][0], shared_memory=True))
        free = []
        for name, array in zip(self.outputs, outputs, strict=True):
            port = self.compiled.output(name)
            if port.partial_shape.is_dynamic:
                free.append((name, array))
            else:
                request.set_tensor(name, ov.Tensor(array, shared_memory=True))
        return request, outputs, free, fed

    def feed(self, call):
        for own, array in call[3]:
            own[...] = array

    def run(self, call):
        call[0].infer()

    def fetch(self, call):
        request, outputs, free, _ = call
        if not free:
            return None
        shapes = {name: worker.put(array, request.get_tensor(name).data) for name, array in free}
        return [shapes.get(name, list(array.shape)) for name, array in zip(self.outputs, outputs, strict=True)]
