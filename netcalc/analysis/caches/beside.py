"""Activations beside the caches, in an ideal execution that reads and writes caches where they lie."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from netcalc.analysis.activations.execution import Ideal
from netcalc.analysis.activations.peaks import activations_by
from netcalc.analysis.activations.records import Activations
from netcalc.analysis.layout import Layout, passes_on
from netcalc.dims import equal, integer
from netcalc.ir import Body, CallNode, OpNode, Program, Value
from netcalc.ops.cache import KeyValueCache


def beside_caches(program: Program) -> Activations:
    """Return the activations of an ideal execution without the memory of caches, which is counted apart.

    Inputs that are caches, what the next step takes of them, and keys and values that are appended to a cache and fit
    it, lie in the caches.

    Raises:
        UndecidedError: E404 if a size is symbolic.
    """
    caches = {entry.input for entry in program.caches.entries}
    return activations_by(_Cached(program), program, parameters=caches)


class _Cached(Ideal):
    """The ideal execution, with the memory of caches treated as the memory of parameters, which is not counted."""

    def __init__(self, program: Program) -> None:
        super().__init__(program.training)
        self._passed_on = set(_passed_on(program))

    def results(self, node: OpNode, layouts: Sequence[Layout | None]) -> list[Layout]:
        results = super().results(node, layouts)
        return [
            Layout.new(value.known_type, parameter=True) if value in self._passed_on or _fits(node, value) else layout
            for value, layout in zip(node.outputs, results, strict=True)
        ]


def _fits(node: OpNode, value: Value) -> bool:
    """Return True for keys or values that are the cache: appended to it, and no more than its window."""
    if not isinstance(node.op, KeyValueCache):
        return False
    window, cells = node.op.window, value.known_type.shape[-2]
    return window is None or integer(cells) <= integer(window)


def _passed_on(program: Program) -> Iterator[Value]:
    """Yield the values of all bodies that are passed on to the next step as a whole."""
    passed_on = {entry.output for entry in program.caches.entries}
    outputs = zip(program.output_names, program.main.outputs, strict=True)
    pending = [(program.main, value) for name, value in outputs if name in passed_on]
    visited = set()
    while pending:
        body, value = pending.pop()
        if (body, value) in visited:
            continue
        visited.add((body, value))
        yield value
        pending += _made_of(body, value, program.training)


def _made_of(body: Body, value: Value, training: bool) -> Iterator[tuple[Body, Value]]:
    """Yield the values that a value is another name of, or a view of all elements of."""
    for node in body.nodes:
        if value not in node.outputs:
            continue
        if isinstance(node, CallNode):
            yield node.body, node.body.outputs[node.outputs.index(value)]
        elif (source := node.inputs[0] if node.inputs else None) is not None:
            is_view = node.op.view and equal(source.known_type.elements, value.known_type.elements)
            if is_view or passes_on(node.op, node.input_types, training):
                yield body, source
