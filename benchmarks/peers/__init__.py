"""The models as torch modules, with the parameter names of the specs, and what loads weights into them."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from safetensors.torch import load_file

if TYPE_CHECKING:
    from models import Case
    from torch import nn

__all__ = ["torch_module"]


def torch_module(case: Case) -> nn.Module:
    """The model of the case as a torch module that evaluates, with the weights of the case.

    Raises:
        LookupError: where the names of the weights are not those of the module.
    """
    file, _, name = case.model.peer.partition(":")
    module = getattr(import_module(f"peers.{file}"), name)().eval()
    missing, unexpected = module.load_state_dict(load_file(case.weights), strict=False)
    needed = {name for name, _ in module.named_parameters()} | {name for name, _ in module.named_buffers()}
    if absent := needed.intersection(missing) or unexpected:  # of tied parameters the second name is not among those
        raise LookupError(f"{case.model.name}: the weights do not fit: {', '.join(absent)}")
    return module
