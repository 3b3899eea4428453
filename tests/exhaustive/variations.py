"""Small programs of every operation, with varied attributes, element types and optional inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple, get_args

from netcalc import ops
from netcalc.diagnostics import NetcalcError, RuleError
from netcalc.ir import Body, InputSpec, Program
from netcalc.models import ValidationError
from netcalc.opdef import Context, Operation
from netcalc.tensor_type import TensorType
from netcalc.verification.verify import verify
from tests.nodes import node_of

__all__ = ["Variation", "optional_inputs", "variations"]

#: Programs of one operation, at most.
MOST = 14
#: Values that are tried for an attribute, besides those that its type names.
_VALUES: tuple[Any, ...] = (True, False, 2, 3, 1, 0, -1, 0.5, 2.0, "same_upper", "same_lower", [1, 2], [0, 1], None)
#: Ranges of floating-point inputs; the first one that the operation takes is used.
_RANGES = ((-2.0, 2.0), (0.1, 0.9))


class Variation(NamedTuple):
    """An operation on inputs of these types; None is an absent optional input."""

    op: Operation
    types: tuple[TensorType | None, ...]
    training: bool = False
    range: tuple[float, float] = _RANGES[0]

    def program(self) -> Program:
        """Return the program of the operation alone; its rules run."""
        node = node_of(self.op, self.types, Context(training=self.training))
        values = tuple(value for value in node.inputs if value is not None)
        inputs = tuple(
            InputSpec(v.name, v.known_type, *((0, 2) if v.known_type.dtype.startswith("int") else self.range))
            for v in values
        )
        names = tuple(f"out{n}" for n in range(len(node.outputs)))
        main = Body("main", values, (node,), node.outputs)
        return replace(Program(self.op.name, main, inputs, names), training=self.training)


@cache
def variations(name: str) -> tuple[Variation, ...]:
    """Return variations of the example of an operation that are verified, values included."""
    found: list[Variation] = []
    for candidate in _candidates(ops.every()[name]):
        for limits in _RANGES:
            variation = candidate._replace(range=limits)
            if len(found) < MOST and _holds(variation):
                found.append(variation)
                break
    return tuple(found)


def _candidates(declared: type[Operation]) -> Iterator[Variation]:
    example = declared.example
    types: tuple[TensorType | None, ...] = example.types()
    base = declared.model_validate(example.attrs)
    yield Variation(base, types)
    yield Variation(base, types, training=True)
    for changed in optional_inputs(declared, types):
        yield Variation(base, changed)
    for dtype in ("float16", "int64"):
        yield Variation(base, tuple(None if t is None else t.with_dtype(dtype) for t in types))
    if len(types) > 1 and types[0] is not None:
        yield Variation(base, (types[0].with_dtype("int32"), *types[1:]))
    by_field = [list(_with_attribute(declared, base, field)) for field in declared.model_fields]
    for turn in range(3):  # one value of every attribute before a second one of any
        for changes in by_field:
            if turn < len(changes):
                yield Variation(changes[turn], types)


def optional_inputs(
    declared: type[Operation], types: Sequence[TensorType | None]
) -> Iterator[tuple[TensorType | None, ...]]:
    first = types[0] if types else None
    for number, port in enumerate(declared.inputs):
        if not port.optional or number < len(types) or first is None:
            continue
        shapes = [first.shape, first.shape[-1:], first.shape[:1], first.shape[-2:], (first.shape[-2:-1] * 2)]
        for dtype in ("bool", "float32", "int64"):
            for shape in shapes:
                absent = (None,) * (number - len(types))
                yield (*types, *absent, TensorType(tuple(shape)).with_dtype(dtype))


def _with_attribute(declared: type[Operation], base: Operation, field: str) -> Iterator[Operation]:
    seen = [getattr(base, field)]
    for value in (*_literals(declared.model_fields[field].annotation), *_VALUES):
        try:
            changed = declared.model_validate({**declared.example.attrs, field: value})
        except (ValidationError, ValueError, RuleError):
            continue
        if getattr(changed, field) not in seen:
            seen.append(getattr(changed, field))
            yield changed


def _literals(annotation: Any) -> Iterator[Any]:
    """Yield the strings that a type names."""
    for part in get_args(annotation):
        if isinstance(part, str):
            yield part
        yield from _literals(part)


def _holds(variation: Variation) -> bool:
    try:
        report = verify(variation.program(), values=True)
    except (RuleError, NetcalcError, ValueError, TypeError):
        return False
    return report.ok
