"""Limits on the network that the lines of a spec expand to.

Blocks are elaborated once for equal arguments and inputs, so that a few lines can call each other to any number of
layers.  Reports have a row for each, which is counted here as nodes are added, body by body.
"""

from __future__ import annotations

from typing import NamedTuple

from netcalc.diagnostics import Diagnostic, TooLargeError
from netcalc.ir import Body, Node, OpNode
from netcalc.ir.sketch import SketchedBody
from netcalc.limits import MAX_PATH, MAX_ROWS, MAX_TENSORS
from netcalc.spec.reporter import Reporter
from netcalc.spec.scope import PartialBody

_TENSORS_PER_ROW = 16


class _Extent(NamedTuple):
    """Rows of a node or body in reports, and characters of the longest path in it."""

    rows: int
    path: int


class Expansion:
    """Numbers of tensors of the elaborated lines and of rows that they expand to, checked against limits."""

    def __init__(self, reporter: Reporter) -> None:
        self._reporter = reporter
        self.tensors = 0

    def add(self, node: Node, body: PartialBody) -> None:
        """Append a node to a body; TooLargeError if the network is then beyond a limit."""
        tensors = _tensors(node)
        rows, path = self._node(node, tensors)
        self.tensors += tensors
        body.rows += rows
        if body.rows > MAX_ROWS:
            message = f"the network expands to {body.rows:,} layers, and reports have at most {MAX_ROWS:,} rows"
            hint = "a repeat of equal layers is one row, however long"
            raise self._too_large(message, node, hint)
        if self.tensors > MAX_TENSORS:
            raise self._too_large(f"the lines have more than {MAX_TENSORS:,} inputs, outputs and parameters", node)
        if path > MAX_PATH:
            raise self._too_large(f"a path of {path:,} characters (at most {MAX_PATH:,})", node)
        body.nodes.append(node)

    def _node(self, node: Node, tensors: int) -> _Extent:
        own = 1 + tensors // _TENSORS_PER_ROW
        if isinstance(node, OpNode):
            return _Extent(own, len(node.name))
        inner = self._body(node.body)
        return _Extent(own + inner.rows, len(node.name) + 1 + inner.path)

    def _body(self, body: Body) -> _Extent:
        if isinstance(body, SketchedBody):
            return self._body(body.sketch.body)
        extent = body.derived.get(_Extent)
        if extent is None:
            nodes = [self._node(node, _tensors(node)) for node in body.nodes]
            rows = sum(node.rows for node in nodes)
            extent = body.derived[_Extent] = _Extent(rows, max((node.path for node in nodes), default=0))
        return extent

    def _too_large(self, message: str, node: Node, hint: str | None = None) -> TooLargeError:
        chain = tuple(self._reporter.chain)
        return TooLargeError(Diagnostic("E003", message, node.span, chain=chain, hint=hint))


def rows_of(body: Body) -> int:
    """Return the number of rows that a body expands to."""
    return Expansion(Reporter())._body(body).rows


def _tensors(node: Node) -> int:
    params = len(node.params) if isinstance(node, OpNode) else 0
    return len(node.inputs) + len(node.outputs) + params
