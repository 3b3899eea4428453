"""The models as torch modules, with the parameter names of the specs, and the loading of their weights."""

from __future__ import annotations

from collections import OrderedDict
from importlib import import_module
from typing import TYPE_CHECKING

from safetensors.torch import load_file

import peers.torchvision_import  # noqa: F401  before any network of torchvision or transformers

if TYPE_CHECKING:
    from models import Case, Model
    from torch import nn

__all__ = ["built", "torch_module"]


def built(model: Model) -> nn.Module:
    """Return a model as a torch module in evaluation mode, with weights of no meaning."""
    file, _, name = model.peer.partition(":")
    module: nn.Module = getattr(import_module(f"peers.{file}"), name)()
    return module.eval()


def torch_module(case: Case) -> nn.Module:
    """Return the model of a case as a torch module in evaluation mode, with the weights of the case.

    Raises:
        LookupError: if the names of the weights are not those of the module.
    """
    module = built(case.model)
    versions = module.state_dict()._metadata  # of the formats of its layers, which some networks insist on
    weights = OrderedDict(load_file(case.weights))
    weights._metadata = versions  # type: ignore[attr-defined]
    missing, unexpected = module.load_state_dict(weights, strict=False)
    # the second name of a tied parameter is not among those; a buffer of integers is a table of indices
    needed = {name for name, _ in module.named_parameters()}
    needed |= {name for name, buffer in module.named_buffers() if buffer.is_floating_point()}
    if absent := needed.intersection(missing) or unexpected:
        some = ", ".join(sorted(absent)[:5])
        raise LookupError(f"{case.model.name}: {len(absent)} weights are missing or unexpected: {some}")
    return module
