"""PyTorch through torch.compile, in its default mode, as CUDA graphs.

The user's own: it is not installed by kw. Compiling a task takes seconds.
"""
# packages: torch
# module: torch

import torch_on_gpu


def make_side():
    return torch_on_gpu.GpuSide("compile")
