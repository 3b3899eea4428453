"""Construction of a graph, line by line, with the output types that the rules of the operations give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, Poly
from netcalc.dtypes import FLOATS, DType, scalar_dtype
from netcalc.formats.graph.model import Graph, Line, Scope, Stored, StoredTensor, Value
from netcalc.ir.build import infer
from netcalc.models import ValidationError
from netcalc.opdef import Context
from netcalc.ops import find


class Builder:
    """A graph under construction.

    ``scope`` holds the calls of modules around the lines to come, ``hint`` a name for their outputs.  ``limits`` are
    the largest norms of rows, with the orders of the norms, of stored tables that are limited before a look-up.
    """

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.scope: Scope = ()
        self.hint = ""
        self.limits: dict[Stored, tuple[float, float]] = {}
        self._context = Context(training=graph.training, dtype="float32")
        self._read: dict[Stored, Value] = {}

    def line(
        self,
        operation: str,
        inputs: Sequence[Value | None] = (),
        attributes: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Value | None] | None = None,
    ) -> Value:
        """Add an operation with one output, or of which only the first is used, and return this output."""
        return self.lines(operation, inputs, attributes, parameters)[0]

    def lines(
        self,
        operation: str,
        inputs: Sequence[Value | None] = (),
        attributes: Mapping[str, Any] | None = None,
        parameters: Mapping[str, Value | None] | None = None,
    ) -> tuple[Value, ...]:
        """Add an operation and return its outputs.

        Args:
            operation: name of the operation.
            inputs: values of its ports, in order; a stored tensor among them becomes a line ``parameter`` or
                ``buffer`` of its own, once.
            attributes: its attributes; those that are None are left out, so that the default holds.
            parameters: stored tensors by the names of its parameters; None and absent ones are left out.

        Raises:
            RuleError: the operation does not take these inputs or attributes.
        """
        values = tuple(None if value is None else self.read(value) for value in inputs)
        present = {name: value for name, value in (attributes or {}).items() if value is not None}
        stored = {name: _stored(value) for name, value in (parameters or {}).items() if value is not None}
        return self._add(operation, present, values, stored)

    def undo(self, start: int) -> None:
        """Leave out the lines from a number on, which nothing uses."""
        made = {value for line in self.graph.lines[start:] for value in line.outputs}
        del self.graph.lines[start:]
        self._read = {stored: value for stored, value in self._read.items() if value not in made}

    def maker(self, value: Value) -> Line | None:
        """Return the line that makes a value; None for an input of the graph and a stored tensor."""
        return next((line for line in reversed(self.graph.lines) if value in line.outputs), None)

    def filled(self, shape: Sequence[Dim], number: Any, dtype: DType) -> Value:
        """Return a tensor whose elements are all the same number, of a complex one real and imaginary part."""
        if not isinstance(number, (Poly, list)):
            number = float(number) if dtype in FLOATS else bool(number) if dtype == "bool" else int(number)
        attributes = {
            "value": number,
            "shape": [1 if size == 0 else size for size in shape] or None,
            "dtype": dtype if isinstance(number, list) or scalar_dtype(number) != dtype else None,
        }
        result = self.line("constant", [], attributes)
        for axis, size in enumerate(shape):
            if size == 0:  # constants have elements
                result = self.line("slice", [result], {"axis": axis, "stop": 0})
        return result

    def read(self, value: Value) -> Value:
        """Return a value that lines can use: for a stored tensor the output of the line that reads it."""
        if value.stored is None:
            return value
        if value.stored not in self._read:
            self._read[value.stored] = self._reading(value.stored)
        return self._read[value.stored]

    def remember(self, stored: Stored, value: Value) -> None:
        """Let a value stand for a stored tensor, which some line reads already."""
        self._read.setdefault(stored, value)

    def _reading(self, stored: Stored) -> Value:
        tensor = self.graph.tensors[stored.path]
        if stored.part is not None or stored.transpose:
            value = self.read(Value(tensor.type, self.hint, Stored(stored.path)))
            if stored.part is not None:
                start, stop = stored.part
                value = self.line("slice", [value], {"axis": 0, "start": start, "stop": stop})
            return self.line("transpose", [value], {"axes": [-2, -1]}) if stored.transpose else value
        if tensor.computed is not None:
            return self._computed(stored, tensor)
        if tensor.buffer and 0 in tensor.type.shape:
            return self.filled(tensor.type.shape, 0, tensor.type.dtype)
        attributes = declaration(tensor)
        return self._add("buffer" if tensor.buffer else "parameter", attributes, (), {"": stored})[0]

    def _computed(self, stored: Stored, tensor: StoredTensor) -> Value:
        """Add a buffer with the lines that compute it, which are no operation's attribute before they are read."""
        attributes = declaration(tensor)
        value = Value(tensor.type, self.hint)
        self.graph.lines.append(Line("buffer", attributes, (), (value,), self.scope, {"": stored}))
        return value

    def _add(
        self,
        operation: str,
        attributes: dict[str, Any],
        inputs: tuple[Value | None, ...],
        parameters: dict[str, Stored],
    ) -> tuple[Value, ...]:
        declared = find(operation)
        if declared is None:
            raise RuleError(f"there is no operation {operation}")
        try:
            op = declared(**attributes)
        except ValidationError as error:
            problem = error.errors()[0]
            place = ".".join(map(str, problem["loc"]))
            raise RuleError(f"{operation} takes no {place} of {problem['input']!r}") from None
        types = infer(op, [None if value is None else value.type for value in inputs], self._context)
        outputs = tuple(Value(type_, self.hint) for type_ in types)
        self.graph.lines.append(Line(operation, attributes, inputs, outputs, self.scope, parameters))
        return outputs


def declaration(tensor: StoredTensor) -> dict[str, Any]:
    """Return the attributes of the operation ``parameter`` or ``buffer`` that is a tensor."""
    if tensor.computed is not None:
        persistent = {} if tensor.persistent else {"persistent": False}
        is_other = tensor.type.is_float and tensor.type.dtype != "float32"  # than the type of computed numbers
        dtype = {"dtype": tensor.type.dtype} if is_other else {}
        return {**persistent, **dtype, "computed": tensor.computed}
    attributes: dict[str, Any] = {"shape": list(tensor.type.shape)}
    if tensor.type.dtype != "float32":
        attributes["dtype"] = tensor.type.dtype
    if tensor.buffer:
        if not tensor.persistent:
            attributes["persistent"] = False
        if tensor.value is not None:
            attributes["value"] = tensor.value
        elif not tensor.type.is_inexact:  # the default, 0.0, does not fit
            attributes["value"] = False if tensor.type.dtype == "bool" else 0
    elif not tensor.trainable:
        attributes["trainable"] = False
    return attributes


def _stored(value: Value) -> Stored:
    if value.stored is None:
        raise RuleError("a parameter must be a tensor of the checkpoint")
    return value.stored
