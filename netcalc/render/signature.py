"""The line of a report with the inputs and outputs of a network."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from netcalc.analysis.numbered import fold_numbered
from netcalc.dims import Dim
from netcalc.dtypes import DType
from netcalc.render.numbers import Ordered, bytes_text, mark_of, shape_text
from netcalc.render.page import Line
from netcalc.tensor_type import TensorType


def signature_text(inputs: Mapping[str, TensorType | Ordered], outputs: Mapping[str, TensorType | Ordered]) -> str:
    """Return names and types of inputs and outputs; numbered ones of one type are written once."""
    return f"{_side(inputs) or 'no inputs'} → {_side(outputs)}"


def _side(types: Mapping[str, TensorType | Ordered]) -> str:
    folded = fold_numbered(types.items())
    return ", ".join(
        f"{names.name} {shape_text(type_.shape, mark=mark_of(type_))} {type_.dtype}" for names, type_ in folded
    )


def element_type(dtype: DType, published: DType | None, stored_as: str, size: Dim | None = None) -> Iterator[Line]:
    """Yield the line on the type in which the checkpoint stores parameters, with their bytes, if these are counted."""
    if stored_as:
        text = "" if size is None else f": {bytes_text(size)}"
        yield Line(f"stored as {stored_as}, {dtype} elsewhere{text}")
    elif dtype == published:
        yield Line(f"element type {dtype}, as in the published checkpoint; --dtype replaces it")
