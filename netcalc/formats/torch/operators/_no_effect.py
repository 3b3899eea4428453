"""Operators that change no number, and give no tensor or the tensor that they take: copies, aliases, assertions."""

from __future__ import annotations

from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Graph, Stored, Value
from netcalc.formats.torch.operators import operator
from netcalc.ops.backward.no_gradient import NO_GRADIENT


@operator(
    *("aten.alias.default", "aten.alias_copy.default", "aten.clone.default", "aten.contiguous.default"),
    *("aten.lift_fresh.default", "aten.lift_fresh_copy.default", "aten.lift.default", "aten.pin_memory.default"),
    *("aten.positive.default", "aten.resolve_conj.default", "aten.resolve_neg.default", "aten.requires_grad_.default"),
)
def same(build: Builder, input: Value, **layout: Any) -> Value:
    return input


@operator("aten.detach.default", "aten.detach_.default", "aten.detach_copy.default")
def detach(build: Builder, input: Value) -> Value:
    """The tensor without its gradient; the tensor itself if it has none."""
    return build.line("detach", [input]) if _has_gradient(build.graph, input) else input


def _has_gradient(graph: Graph, value: Value) -> bool:
    """Return True for a floating-point number that depends on a trained parameter or on an input of the graph."""
    makers = {output: line for line in graph.lines for output in line.outputs}
    inputs, seen, waiting = set(graph.inputs.values()), set[Value](), [value]
    while waiting:
        value = waiting.pop()
        if value in seen or not value.type.is_float:
            continue
        seen.add(value)
        line = makers.get(value)
        if value in inputs or (value.stored is not None and _is_trained(graph, value.stored)):
            return True
        if line is not None and line.operation not in NO_GRADIENT:
            if any(_is_trained(graph, stored) for stored in line.parameters.values()):
                return True
            waiting += filter(None, line.inputs)
    return False


def _is_trained(graph: Graph, stored: Stored) -> bool:
    tensor = graph.tensors[stored.path]
    return tensor.trainable and not tensor.buffer


@operator(
    *("aten._assert_tensor_metadata.default", "aten._assert_async.default", "aten._assert_async.msg"),
    *("aten._assert_scalar.default", "aten.sym_constrain_range.default", "aten._print.default"),
    "aten.sym_constrain_range_for_size.default",
)
def nothing(build: Builder, **expected: Any) -> None:
    return None
