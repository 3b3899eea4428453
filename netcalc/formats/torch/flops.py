"""FLOPs of a call by PyTorch's counter, with products of vectors as netcalc counts them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from netcalc.formats.torch.library import torch_library

_PRODUCTS = {"matmul", "__matmul__", "__rmatmul__", "linear"}


@contextmanager
def counted(counts: dict[str, int]) -> Iterator[None]:
    """Count the FLOPs of what runs, and add them to counts by operator at the end.

    PyTorch runs the product of a vector and a batch of matrices as ``bmm`` or, without a formula, as ``mv``, depending
    on strides.  It counts as the convention says, which knows no strides: as a product of matrices if the vector comes
    first, and else not at all.
    """
    torch = torch_library()
    counter = torch.utils.flop_counter.FlopCounterMode(display=False)
    corrections = []
    mode: Any = torch.overrides.TorchFunctionMode

    class Products(mode):  # type: ignore[misc]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            before = counter.get_total_flops()
            result = function(*args, **(kwargs or {}))
            if getattr(function, "__name__", "") in _PRODUCTS:
                factors = [value for value in (*args, *(kwargs or {}).values()) if isinstance(value, torch.Tensor)][:2]
                factors = factors[::-1] if function.__name__ == "__rmatmul__" else factors
                if len(factors) == 2 and min(factor.dim() for factor in factors) == 1:
                    _, second = factors
                    work = 2 * second.numel() if second.dim() > 1 else 0
                    corrections.append(work - (counter.get_total_flops() - before))
            return result

    with counter, Products():
        yield
    counts.update({str(name): int(count) for name, count in counter.get_flop_counts().get("Global", {}).items()})
    counts["aten.bmm"] = counts.get("aten.bmm", 0) + sum(corrections)
