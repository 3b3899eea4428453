"""Tensors of PyTorch as arrays of NumPy, and the other way."""

from __future__ import annotations

from typing import Any

from netcalc.formats.torch.library import torch_library


def array_of(tensor: Any) -> Any:
    """Return a tensor as a NumPy array."""
    from netcalc.arrays import numpy_dtype

    tensor = tensor.detach().cpu().contiguous().resolve_conj().resolve_neg()
    name = str(tensor.dtype).removeprefix("torch.")
    if name == "bfloat16":  # which NumPy does not have
        torch = torch_library()
        return tensor.view(torch.int16).numpy().view(numpy_dtype("bfloat16"))
    return tensor.numpy()


def tensor_of(array: Any) -> Any:
    """Return a NumPy array as a tensor."""
    torch = torch_library()
    if str(array.dtype) == "bfloat16":
        return torch.from_numpy(array.view("int16").copy()).view(torch.bfloat16)
    return torch.from_numpy(array.copy())
