"""Predictions for one operation, for tests of shapes, parameters and counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from netcalc import ops
from netcalc.dims import Dim, symbol, value_at
from netcalc.ir.build import infer
from netcalc.opdef import Context, WorkingLine
from netcalc.tensor_type import TensorType


@dataclass
class Prediction:
    """Output shapes, shapes of parameters by name, work by kind, and the working of one operation."""

    shapes: list[tuple[Dim, ...]]
    params: dict[str, tuple[Dim, ...]]
    work: dict[str, Dim]
    steps: list[WorkingLine]

    def at(self, **sizes: int) -> Prediction:
        """Return the prediction with names of sizes replaced by numbers."""

        def numbers(shape: tuple[Dim, ...]) -> tuple[int, ...]:
            return tuple(value_at(size, sizes) for size in shape)

        work = {kind: value_at(count, sizes) for kind, count in self.work.items()}
        return Prediction(
            [numbers(shape) for shape in self.shapes], {n: numbers(s) for n, s in self.params.items()}, work, []
        )


def predict(name: str, attrs: dict[str, Any], *shapes: tuple[Dim, ...]) -> Prediction:
    """Return the prediction for an operation on float32 inputs of these shapes."""
    declared = ops.find(name)
    assert declared is not None, name
    op = declared(**attrs)
    ctx = Context(working=[])
    inputs = [TensorType(shape) for shape in shapes]
    outputs = infer(op, inputs, ctx)
    work: dict[str, Dim] = {}
    for term in op.cost(ctx, inputs, outputs):
        work[term.kind] = work.get(term.kind, 0) + term.count
    params = {p.name: p.shape for p in op.params(ctx, *inputs)}
    return Prediction([output.shape for output in outputs], params, work, ctx.working or [])


def agrees_symbolically(name: str, attrs: dict[str, Any], shape: tuple[int, ...], grown: int = 0) -> None:
    """Assert that predictions on named sizes equal those on numbers, also at sizes other than the defaults."""
    free = [axis for axis in range(len(shape)) if axis != 1]
    symbolic = tuple(symbol(f"n{axis}", default=n) if axis in free else n for axis, n in enumerate(shape))
    sizes = {f"n{axis}": shape[axis] + grown for axis in free}
    numbers = predict(name, attrs, tuple(n + grown if axis in free else n for axis, n in enumerate(shape)))
    expected = Prediction(numbers.shapes, numbers.params, {k: n for k, n in numbers.work.items() if n}, [])
    found = predict(name, attrs, symbolic).at(**sizes)
    found.work = {k: n for k, n in found.work.items() if n}
    assert found == expected
