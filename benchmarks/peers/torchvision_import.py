"""Import of torchvision, which networks of transformers may import too."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import torch

#: Declarations of operators, which last as long as this object.
_library: Any = None


def _import_torchvision() -> None:
    """Import torchvision, also where its compiled operators do not load beside the installed build of torch.

    The import then fails on the first operator that it expects to be declared.  No network here calls one.
    """
    global _library
    try:
        import_module("torchvision")
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        _library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            _library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import_module("torchvision")


if find_spec("torchvision") is not None:
    _import_torchvision()
