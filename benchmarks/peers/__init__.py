"""The models as torch modules, with the parameter names of the specs, and the loading of their weights."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from safetensors.torch import load_file

if TYPE_CHECKING:
    from models import Case
    from torch import nn

__all__ = ["torch_module"]


def torch_module(case: Case) -> nn.Module:
    """Return the model of the case as a torch module in evaluation mode, with the weights of the case.

    Raises:
        LookupError: if the names of the weights are not those of the module.
    """
    file, _, name = case.model.peer.partition(":")
    module = getattr(import_module(f"peers.{file}"), name)().eval()
    missing, unexpected = module.load_state_dict(load_file(case.weights), strict=False)
    needed = {name for name, _ in module.named_parameters()} | {name for name, _ in module.named_buffers()}
    if absent := needed.intersection(missing) or unexpected:  # the second name of a tied parameter is not among those
        raise LookupError(f"{case.model.name}: these weights are missing or unexpected: {', '.join(absent)}")
    return module
