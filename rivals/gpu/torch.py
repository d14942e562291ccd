"""PyTorch, eager: cuBLAS, cuDNN and its own kernels, as CUDA graphs.

The user's own: it is not installed by kw.
"""
# packages: torch
# module: torch

import torch_on_gpu


def make_side():
    return torch_on_gpu.GpuSide("eager")
