"""Operations that read an input of a body and do not take every number there, directly or through views of it."""

from __future__ import annotations

from typing import NamedTuple, cast

from netcalc.diagnostics import Span
from netcalc.ir.program import Body, OpNode, Value
from netcalc.ir.sketch import SketchedBody
from netcalc.opdef import Domain


class Reader(NamedTuple):
    """Operation that takes the numbers of ``domain`` only."""

    domain: Domain
    operation: str
    span: Span | None


class _Reads(NamedTuple):
    """For each input of a body its readers; for each output the input that it is a view of, None for no view."""

    readers: tuple[tuple[Reader, ...], ...]
    viewed: tuple[int | None, ...]


def readers(body: Body) -> tuple[tuple[Reader, ...], ...]:
    """Return, for each input of a body, the operations in it and in its calls that do not take every number there."""
    return _reads(body).readers


def _reads(body: Body) -> _Reads:
    if isinstance(body, SketchedBody):
        derived = body.sketch.derived
        if _Reads not in derived:
            derived[_Reads] = body.sketch.function(_reads(body.sketch.body))
        return cast("_Reads", derived[_Reads](*body.sizes))
    if _Reads not in body.derived:
        body.derived[_Reads] = _computed(body)
    return cast("_Reads", body.derived[_Reads])


def _computed(body: Body) -> _Reads:
    origins: dict[Value | None, int] = {value: i for i, value in enumerate(body.inputs) if value is not None}
    readers: list[list[Reader]] = [[] for _ in body.inputs]
    for node in body.nodes:
        if origins.keys().isdisjoint(node.inputs):
            continue
        inner = _of_operation(node) if isinstance(node, OpNode) else _reads(node.body)
        for value, there in zip(node.inputs, inner.readers, strict=False):
            if value in origins:
                readers[origins[value]] += there
        for number, (output, viewed) in enumerate(zip(node.outputs, inner.viewed, strict=True)):
            # an iteration takes the outputs of the one before it as its first inputs
            passed = isinstance(node, OpNode) or viewed == number or (viewed or 0) >= len(node.outputs)
            if viewed is not None and passed and node.inputs[viewed] in origins:
                origins[output] = origins[node.inputs[viewed]]
    return _Reads(tuple(map(tuple, readers)), tuple([origins.get(value) for value in body.outputs]))


def _of_operation(node: OpNode) -> _Reads:
    domains = node.op.domains(*node.input_types)
    readers = [() if domain is None else (Reader(domain, node.op.name, node.span),) for domain in domains]
    is_view = node.op.view and bool(node.inputs)
    return _Reads(tuple(readers), tuple([0 if is_view else None for _ in node.outputs]))
