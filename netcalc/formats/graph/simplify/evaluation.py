"""Constant values of a graph as arrays, by the reference kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from netcalc.dims import Poly, UndecidedError, value_at
from netcalc.formats.graph.model import Line, Value, operation_named
from netcalc.formats.graph.simplify.rewriting import Rewriter

#: Most elements of a tensor that is evaluated.
_LARGEST = 1 << 22


class Evaluation:
    """The constant values of a graph at given sizes, by name; others have their defaults."""

    def __init__(self, work: Rewriter, sizes: Mapping[str, int] | None = None) -> None:
        self.work = work
        self.sizes = dict(sizes or {})
        self._arrays: dict[Value, Any] = {}

    def array(self, value: Value | None) -> Any:
        """Return a value as an array; None if it depends on an input or a parameter, or is not known."""
        if value is None:
            return None
        waiting = [value]
        while waiting:
            line = self.work.maker(waiting[-1])
            if waiting[-1] in self._arrays:
                waiting.pop()
            elif line is None:
                self._arrays[waiting.pop()] = None
            else:
                needed = [x for x in line.inputs if x is not None and x not in self._arrays]
                waiting += needed
                if not needed:
                    self._evaluate(line)
        return self._arrays[value]

    def _evaluate(self, line: Line) -> None:
        inputs = tuple(None if value is None else self._arrays[value] for value in line.inputs)
        ready = all(array is not None for value, array in zip(line.inputs, inputs, strict=True) if value is not None)
        results = self._applied(line, inputs) if ready else None
        for place, value in enumerate(line.outputs):
            self._arrays[value] = None if results is None else results[place]

    def _applied(self, line: Line, inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
        from netcalc.numerics.kernels import Run, apply

        try:
            if any(value_at(value.type.elements, self.sizes) > _LARGEST for value in line.outputs):
                return None
            attributes = {name: self._written(value) for name, value in line.attributes.items()}
        except UndecidedError:
            return None
        operation = line.operation
        if operation == "buffer":
            if attributes.get("persistent", True):
                return None
            array = self.work.build.graph.tensors[line.parameters[""].path].array
            if array is not None:  # too long for the attribute
                return (array,)
            if not isinstance(attributes.get("value"), (list, int, float)):
                return None
            operation = "constant"
            attributes = {"dtype": "float32", **attributes}
            del attributes["persistent"]
        elif line.parameters or self._draws(operation):
            return None
        return apply(operation_named(operation)(**attributes), Run(), inputs, {})

    def _draws(self, operation: str) -> bool:
        """Return True if an operation gives random numbers, or may drop elements in the mode of the graph."""
        declared = operation_named(operation)
        return declared.draws or (self.work.graph.training and declared.no_op_in_inference)

    def _written(self, value: Any) -> Any:
        """Return an attribute with numbers for symbolic sizes."""
        if isinstance(value, (list, tuple)):
            return [self._written(item) for item in value]
        return value_at(value, self.sizes) if isinstance(value, Poly) else value
