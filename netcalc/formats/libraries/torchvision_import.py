"""Import of torchvision where its compiled operators do not load beside the installed torch."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

#: Declarations of operators, which last as long as this object.
_library: Any = None


def import_torchvision() -> Any:
    """Return torchvision, None if it is not installed; its compiled operators are declared where they do not load.

    The import fails otherwise on the first operator that it expects.  They compute nothing in a model that is captured
    and not run.
    """
    global _library
    if find_spec("torchvision") is None:
        return None
    try:
        return import_module("torchvision")
    except RuntimeError:
        for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
            del sys.modules[name]
        _library = import_module("torch").library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            _library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        return import_module("torchvision")
