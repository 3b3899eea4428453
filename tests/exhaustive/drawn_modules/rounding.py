"""Another rounding of PyTorch's results, which shows how much a module enlarges errors."""

from __future__ import annotations

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

__all__ = ["rounding_otherwise"]


def rounding_otherwise(seed: int) -> AbstractContextManager[Any]:
    """Return a context in which results of operators differ by up to a unit in the last place, drawn from a seed."""
    torch: Any = import_module("torch")
    generator = torch.Generator().manual_seed(seed)

    class Mode(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            result = function(*args, **(kwargs or {}))
            if any(returned.alias_info is not None for returned in function._schema.returns):  # a view, or in place
                return result
            return torch.utils._pytree.tree_map_only(torch.Tensor, rounded, result)

    def rounded(tensor: Any) -> Any:
        if not tensor.is_floating_point():
            return tensor
        errors = torch.rand(tensor.shape, generator=generator, dtype=torch.float64) * 2 - 1
        return (tensor.double() * (1 + torch.finfo(tensor.dtype).eps * errors)).to(tensor.dtype)

    return Mode()
