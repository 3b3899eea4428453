"""The line of a report with the inputs and outputs of a network."""

from __future__ import annotations

from collections.abc import Mapping

from netcalc.analysis.numbered import fold_numbered
from netcalc.render.numbers import shape_text
from netcalc.tensor_type import TensorType


def signature_text(inputs: Mapping[str, TensorType], outputs: Mapping[str, TensorType], layout: str = "nchw") -> str:
    """Return names and types of inputs and outputs; numbered ones of one type are written once."""
    return f"{_side(inputs, layout) or 'no inputs'} → {_side(outputs, layout)}"


def _side(types: Mapping[str, TensorType], layout: str) -> str:
    folded = fold_numbered(types.items())
    return ", ".join(f"{names.name} {shape_text(type_.shape, layout)} {type_.dtype}" for names, type_ in folded)
