"""The page of ``export``: the file that was written, and what is in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from netcalc.analysis.exported import Exported
from netcalc.render.numbers import bytes_text, exact, measured
from netcalc.render.page import Answer, Line, Page, Paragraph
from netcalc.render.presentations import Presentation, View
from netcalc.render.selection import Selected
from netcalc.render.table import Column, Row, Table

_WEIGHTS = {
    "stored": "with the weights of the checkpoint",
    "drawn": "with weights that are drawn",
    "none": "without weights",
}
_FORMATS = {"onnx": "ONNX", "pytorch": "code of PyTorch"}


class _Exported(Presentation[Exported]):
    selected_list = listed = ""

    def page(self, result: Exported, rows: Selected[Any], view: View) -> Page:
        yield Answer([Paragraph([*_lines(result)])])

    def data(self, result: Exported, rows: Selected[Any], view: View) -> Table:
        names = [*Exported.__dataclass_fields__]
        return Table([Column(name) for name in names], [Row([getattr(result, name) for name in names])])


def _lines(result: Exported) -> Iterator[Line]:
    format_ = _FORMATS[result.format] + (f", opset {result.opset}" if result.opset is not None else "")
    yield Line(f": {format_}, {bytes_text(result.bytes)}", result.path)
    if result.data is not None:
        yield Line(f": the data of weights, {bytes_text(result.data_bytes)}", result.data)
    nodes = "" if result.nodes is None else f", {exact(result.nodes)} nodes"
    yield Line(f" of {result.model}{nodes}, {_WEIGHTS[result.weights]}", f"{measured(result.params)} parameters")


PRESENTATIONS: Mapping[str, Presentation[Any]] = {"Exported": _Exported()}
