"""Import of torchvision for the live oracles, which transformers and timm need too."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

#: Declarations of operators, which last as long as this object.
_library: Any = None


def _import_torchvision() -> None:
    """Import torchvision, also where its compiled operators do not load beside the installed build of torch.

    Its import then fails on the first operator that it expects to be declared.  No oracle calls these operators.
    """
    global _library
    try:
        import torchvision
    except RuntimeError:
        import torch

        for name in [n for n in sys.modules if n.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        _library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            _library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision  # noqa: F401


if importlib.util.find_spec("torchvision") is not None:
    _import_torchvision()
