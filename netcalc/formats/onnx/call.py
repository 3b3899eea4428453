"""Calls of operators: a node with its operands, as values of the graph or as known elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.dims import Dim, Poly
from netcalc.dtypes import FLOATS, DType
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.onnx.constants import constant_inputs
from netcalc.formats.onnx.held import Held, Rows, Scaling
from netcalc.formats.onnx.known import Known, number
from netcalc.formats.onnx.messages import Node, TensorProto
from netcalc.tensor_type import TensorType

#: Attributes that say what is known otherwise: sizes of kernels, precision within an operator, formats of memory.
_WITHOUT_EFFECT = frozenset(
    (
        "kernel_shape",
        "stash_type",
        "storage_order",
        "consumed_inputs",
        "saturate",
        "round_mode",
        "is_test",
        "seed",
        "sorted",
        "ratio",
    )
)


@dataclass(eq=False, slots=True)
class Operand:
    """A tensor of a model: a value of the graph, elements that are known, or both; ``tensor`` if the file holds it."""

    value: Value | None = None
    known: Known | None = None
    tensor: TensorProto | None = None

    @property
    def type(self) -> TensorType:
        """Shape and element type."""
        if self.known is not None:
            return TensorType(self.known.shape, self.known.dtype)
        assert self.value is not None
        return self.value.type

    def materialized(self, build: Builder) -> Value:
        """Return the value, for which known elements become a constant."""
        if self.value is None:
            assert self.known is not None
            self.value = constant(build, self.known)
        return self.value


class Surroundings(NamedTuple):
    """The model around a node: the version of onnx's own operators, how often values are used, and ways to tensors.

    These read them, make them buffers, cut them, and give what quantized ones mean.
    """

    read: Callable[[TensorProto], Known]
    make_buffer: Callable[[str], None]
    cut: Callable[[str, str, Rows], Value]
    scaled: Callable[[Held], Operand]
    opset: int = 1
    uses: Mapping[str, int] = {}


class Call:
    """A node that is translated.

    Attributes:
        node: the node.
        build: adds lines to the graph.
        version: version of the operators of its domain.
        operands: its inputs, None where an optional one is left out.
        around: the model around it.
    """

    def __init__(
        self,
        node: Node,
        build: Builder,
        version: int,
        operands: Sequence[Operand | None],
        around: Surroundings,
    ) -> None:
        self.node = node
        self.build = build
        self.version = version
        self.operands = operands
        self.around = around
        self._read: set[str] = set()

    def __len__(self) -> int:
        return len(self.operands)

    @property
    def results(self) -> int:
        """Number of outputs that have names."""
        return len(self.node.outputs)

    def has_result(self, place: int) -> bool:
        """Return True if an output has a name, so that it may be used."""
        return place < len(self.node.outputs) and self.node.outputs[place] != ""

    def has(self, place: int) -> bool:
        """Return True if an input is given."""
        return place < len(self.operands) and self.operands[place] is not None

    def operand(self, place: int) -> Operand:
        """Return an input; RuleError if it is not given."""
        operand = self.operands[place] if place < len(self.operands) else None
        if operand is None:
            raise RuleError(f"input {place} is missing")
        return operand

    def type(self, place: int) -> TensorType:
        """Return the type of an input."""
        return self.operand(place).type

    def shape(self, place: int) -> tuple[Dim, ...]:
        """Return the shape of an input."""
        return self.type(place).shape

    def x(self, place: int = 0) -> Value:
        """Return the value of an input, for which known elements become a constant; RuleError if it is not given."""
        return self.operand(place).materialized(self.build)

    def uses(self, name: str) -> int:
        """Return how many nodes and outputs use a value."""
        return self.around.uses.get(name, 0)

    def buffer(self, place: int) -> Value:
        """Return the value of an input, which is a buffer if the file holds it."""
        value = self.x(place)
        if value.stored is not None:
            self.around.make_buffer(value.stored.path)
        return value

    def part(self, place: int, name: str, index: int, starts: Sequence[int], count: int) -> Value:
        """Return rows of a stored input as a stored tensor of its own, by the name that the layer has for it."""
        stored = self.x(place).stored
        assert stored is not None
        return self.around.cut(stored.path, name, Rows(index, tuple(starts), count))

    def meant(self, place: int, scales: Sequence[int], zero: int, scaling: tuple[int, int, DType]) -> Operand | None:
        """Return what a tensor of the file means, a parameter unless it is one number; None for computed operands.

        Args:
            place: the place of quantized numbers.
            scales: places of scales, whose product counts.
            zero: the place of zero points, which may be left out.
            scaling: axis, size of blocks and element type, as in :class:`~netcalc.formats.onnx.held.Scaling`.
        """
        axis, block, dtype = scaling
        numbers = self.operand(place).tensor
        factors = [factor for each in scales if (factor := self.operand(each).tensor) is not None]
        point = self.operand(zero).tensor if self.has(zero) else None
        if numbers is None or len(factors) < len(scales) or (point is None and self.has(zero)):
            return None
        if not block and any(len(factor.shape) > 1 for factor in factors):
            return None
        axis += len(numbers.shape) if axis < 0 else 0
        shared = len(factors) > 1
        return self.around.scaled(Held(numbers, None, Scaling(tuple(factors), point, axis, block, dtype, shared)))

    def optional(self, place: int) -> Value | None:
        """Return the value of an input; None if it is not given."""
        return self.x(place) if self.has(place) else None

    def line(self, operation: str, inputs: Sequence[Value | None], attributes: dict[str, Any] | None = None) -> Value:
        """Add an operation with one output."""
        return self.build.line(operation, inputs, attributes)

    def known(self, place: int) -> Known | None:
        """Return the elements of an input, if they are known."""
        return self.operands[place].known if self.has(place) else None  # type: ignore[union-attr]

    def number(self, place: int) -> Any:
        """Return the only element of an input as a spec writes it; None if it is not known or not the only one."""
        elements = self.known(place)
        if elements is None or len(elements.elements) != 1:
            return None
        return number(elements.elements[0], elements.dtype)

    def needed(self, place: int, what: str) -> Known:
        """Return the elements of an input; RuleError if they depend on data."""
        elements = self.known(place)
        if elements is None:
            name = constant_inputs(self.node.op, self.version)[place]
            raise RuleError(f"{what} depends on data, and the input {name!r} has to be a constant")
        return elements

    def ints(self, place: int, what: str) -> list[Any]:
        """Return the elements of an input as integers and symbolic sizes; RuleError if they depend on data."""
        return [element if isinstance(element, Poly) else int(element) for element in self.needed(place, what).elements]

    def attribute(self, name: str, default: Any = None) -> Any:
        """Return an attribute, or the default."""
        self._read.add(name)
        value = self.node.attributes.get(name)
        if isinstance(value, float):  # of 32 bits in the file
            return number(value, "float32")
        return default if value is None else value

    def require_read(self) -> None:
        """Check that no attribute was passed over, which might change the result; RuleError with its name."""
        rest = [name for name in self.node.attributes if name not in self._read and name not in _WITHOUT_EFFECT]
        if rest:
            raise RuleError(f"attribute {', '.join(map(repr, rest))} is not known")

    def tensor(self, name: str) -> Known | None:
        """Return the elements of an attribute that is a tensor."""
        self._read.add(name)
        value = self.node.attributes.get(name)
        return self.around.read(value) if isinstance(value, TensorProto) else None

    def axes(self, place: int, name: str = "axes") -> list[int] | None:
        """Return the axes that an input lists, or an attribute in older versions; None for neither."""
        if self.has(place):
            return [int(axis) for axis in self.ints(place, f"the input {name!r}")]
        value = self.attribute(name)
        return [value] if isinstance(value, int) else value

    def axis(self, rank: int, default: int = 0) -> int:
        """Return the attribute ``axis``, counted from the front; RuleError if the tensor has no such axis."""
        return front(self.attribute("axis", default), rank)

    def slices(self, rank: int) -> tuple[list[Any], list[Any], list[int], list[Any]]:
        """Return starts, ends, axes and steps of a slice, of any version."""
        if self.version < 10:
            starts, stops = self.attribute("starts", []), self.attribute("ends", [])
            axes, steps = self.attribute("axes") or list(range(len(starts))), [1] * len(starts)
        else:
            starts, stops = self.ints(1, "the start of a slice"), self.ints(2, "the end of a slice")
            axes = self.axes(3, "_") or list(range(len(starts)))
            steps = self.ints(4, "the step of a slice") if self.has(4) else [1] * len(starts)
        return starts, stops, [front(axis, rank) for axis in axes], steps


def front(axis: int, rank: int) -> int:
    """Return an axis counted from the front; RuleError if a tensor of this rank has no such axis."""
    if not -rank <= axis < max(rank, 1):
        raise RuleError(f"axis {axis} of a tensor of {rank} axes")
    return axis % max(rank, 1)


def constant(build: Builder, known: Known) -> Value:
    """Return known elements as a value: one number for all, numbers that count, or a list."""
    elements, shape, dtype = known.elements, known.shape, known.dtype
    if not elements:
        return build.filled(shape, 0, dtype)
    first = elements[0]
    if all(type(element) is type(first) and element == first for element in elements):
        return build.filled(shape, first if isinstance(first, Poly) else number(first, dtype), dtype)
    if not known.is_plain:
        parts = [build.filled((), element, dtype) for element in elements]
        stacked = build.line("stack", parts, {"axis": 0})
        return stacked if shape == (len(elements),) else build.line("reshape", [stacked], {"shape": list(shape)})
    counted = _counted(build, known)
    if counted is not None:
        return counted
    given = dtype if dtype not in ("float32", "int64", "bool") else None
    return build.line("constant", [], {"value": known.nested(), "dtype": given})


def _counted(build: Builder, known: Known) -> Value | None:
    """Return the value of integers in arithmetic progression along one axis; None for others."""
    elements, count = known.elements, len(known.elements)
    if known.dtype not in ("int64", "int32") or count < 3 or max(known.shape) != count or elements[1] <= elements[0]:
        return None
    start, step = elements[0], elements[1] - elements[0]
    if any(element != start + place * step for place, element in enumerate(elements)):
        return None
    attributes = {
        "start": start or None,
        "stop": start + count * step,
        "step": None if step == 1 else step,
        "dtype": None if known.dtype == "int64" else known.dtype,
    }
    result = build.line("arange", [], attributes)
    for axis, size in enumerate(known.shape):
        if size == 1:
            result = build.line("unsqueeze", [result], {"axis": axis})
    return result


def scalar_for(call: Call, place: int, other: int) -> Any:
    """Return the number that an operand is, if arithmetic with it gives the shape and type of the other; else None."""
    value, elements = call.number(place), call.known(place)
    if value is None or elements is None or isinstance(value, bool) or not call.has(other):
        return None
    if len(elements.shape) > len(call.shape(other)) or call.known(other) is not None:
        return None
    dtype: DType = call.type(other).dtype
    if dtype in FLOATS:
        return value if isinstance(value, Poly) else float(value)
    return value
