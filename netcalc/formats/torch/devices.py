"""Modules of which parts are on the meta device, all on one device for a while."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from netcalc.formats.torch.holding import holding
from netcalc.formats.torch.library import torch_library


@contextmanager
def one_device(module: Any, leaves: list[Any]) -> Iterator[list[Any]]:
    """Yield the arguments, with tensors of another device in place of those on the meta device.

    These have no data either, and neither have the ones that the module gets for a while.  Thus tensors on the meta
    device may be used with others: buffers that have values, and those that ``forward`` makes.
    """
    torch = torch_library()
    tables = [table for part in module.modules() for table in (part._parameters, part._buffers, vars(part))]
    held = [tensor for table in tables for tensor in table.values()]
    devices = {leaf.device for leaf in (*held, *leaves) if isinstance(leaf, torch.Tensor)}
    real = next((device for device in devices if device.type != "meta"), torch.device("cpu"))
    if all(device.type != "meta" for device in devices):
        yield list(leaves)
        return
    mode = torch._subclasses.FakeTensorMode(allow_non_fake_inputs=True)
    made: dict[int, Any] = {}

    def replaced(tensor: Any) -> Any:
        if not isinstance(tensor, torch.Tensor) or tensor.device.type != "meta":
            return tensor
        if id(tensor) not in made:
            with mode:
                new = torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=real)
                is_parameter = isinstance(tensor, torch.nn.Parameter)
                made[id(tensor)] = torch.nn.Parameter(new, tensor.requires_grad) if is_parameter else new
        return made[id(tensor)]

    with holding(module, replaced, attributes=True):
        yield [replaced(leaf) for leaf in leaves]
