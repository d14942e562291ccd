"""ONNX Runtime: one thread, sequential; inputs and outputs bound to the shared memory, nothing copied."""
# packages: onnxruntime==1.31.1

import worker

import onnxruntime as ort


class TheRival(worker.Rival):
    def version(self):
        return ort.__version__

    def load(self, model, folder, setting, threads, inputs, outputs):
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.execution_mode = ort.ExecutionMode.ORT_SEQUENTIAL
        options.log_severity_level = 4
        self.session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.inputs = inputs
        self.outputs = [next(one for one in self.session.get_outputs() if one.name == name) for name in outputs]

    def bind(self, inputs, outputs):
        binding = self.session.io_binding()
        for name, array in zip(self.inputs, inputs, strict=True):
            binding.bind_input(name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        free = False
        for one, array in zip(self.outputs, outputs, strict=True):
            # The values alone say how long it is: the framework has to make room for it.
            if any(not isinstance(length, int) for length in one.shape):
                binding.bind_output(one.name, "cpu")
                free = True
            else:
                binding.bind_output(one.name, "cpu", 0, array.dtype.type, array.shape, array.ctypes.data)
        return binding, inputs, outputs, free

    def run(self, call):
        self.session.run_with_iobinding(call[0])

    def fetch(self, call):
        binding, _, outputs, free = call
        if not free:
            return None
        return [worker.put(array, value) for array, value in zip(outputs, binding.copy_outputs_to_cpu(), strict=True)]
