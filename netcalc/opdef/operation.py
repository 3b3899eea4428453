"""The base class of operations, with ports, examples and traits."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from netcalc.dims import Dim
from netcalc.models import ConfigDict, Model
from netcalc.opdef.context import Context
from netcalc.opdef.domain import Domain
from netcalc.opdef.params import Param
from netcalc.opdef.reach import Reach, aligned
from netcalc.opdef.terms import Term, on_complex
from netcalc.tensor_type import TensorType


class Port(NamedTuple):
    """An input or output of an operation."""

    name: str
    optional: bool = False
    variadic: bool = False
    """True if it takes one or more tensors."""
    default: str | None = None
    """The input before it that it is if it is not given."""


def ports(*declared: str) -> tuple[Port, ...]:
    """Return ports as they are declared.

    ``"mask?"`` is optional, ``"inputs*"`` takes any number of tensors, and ``"key = query"`` is the input ``query``
    before it if it is not given.
    """
    parts = [[part.strip() for part in text.partition("=")] for text in declared]
    return tuple(
        Port(name.rstrip("?*"), name.endswith("?"), name.endswith("*"), default or None) for name, _, default in parts
    )


class Example(NamedTuple):
    """Input shapes and attributes for tests, small enough for references that compute single elements."""

    inputs: tuple[tuple[int, ...] | TensorType, ...]
    attrs: Mapping[str, Any] = {}

    def types(self) -> tuple[TensorType, ...]:
        """Return the input types; a bare shape is float32."""
        return tuple(i if isinstance(i, TensorType) else TensorType(i) for i in self.inputs)


class Declared(NamedTuple):
    """The work of an operator that has no rule, as a user declares it; None for what is not declared."""

    operator: str
    macs: Dim | None = None
    flops: Dim | None = None
    """Floating-point operations, of which a multiply-add is 2."""
    source: str | None = None
    """Origin of the figures in words, empty if not given; None without any figure."""


class Operation(Model):
    """The base of every operation: a strict, frozen model whose fields are the attributes.

    The first line of the docstring is shown in listings, the rest on the operation's page.  ``reference`` names the
    implementation or paper that the rules follow.  ``shorthand`` is the attribute that a bare value sets
    (``dropout: 0.1``).
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)

    name: ClassVar[str]
    reference: ClassVar[str]
    inputs: ClassVar[tuple[Port, ...]] = ports("input")
    outputs: ClassVar[tuple[Port, ...]] = ports("output")
    shorthand: ClassVar[str | None] = None
    #: The rules in one line each, for the reference page.
    shape_rule: ClassVar[str]
    param_rule: ClassVar[str] = "none"
    cost_rule: ClassVar[str]
    #: The example of the reference page: inputs and lines of a spec, in which ``$op`` is the operation's name.
    usage: ClassVar[tuple[str, ...]]
    example: ClassVar[Example]

    #: Attribute that is written as lines without inputs; the operation gets the type of their value.
    lines_attribute: ClassVar[str | None] = None

    #: Reason why planned runs call the reference kernel, and the engine has no lowering of the operation.  None for an
    #: operation with a lowering, and for a no-op in inference, which no plan contains.
    kernel_suffices: ClassVar[str | None] = None

    #: Implementation whose work is counted, where implementations of the operation differ in their work.
    counted_as: ClassVar[str | None] = None

    #: True if the operation takes tensors with an axis of size 0.
    takes_empty: ClassVar[bool] = False

    #: True if the operation takes and gives complex numbers.  Its ``cost`` counts them as elements, and
    #: :meth:`real_work` the real arithmetic on them, unless ``counts_parts``.
    takes_complex: ClassVar[bool] = False
    #: True if ``cost`` counts the real arithmetic on the parts of complex numbers itself.
    counts_parts: ClassVar[bool] = False

    #: Attributes that are real numbers of which types, parameters and work are independent, if they are finite.
    any_real: ClassVar[frozenset[str]] = frozenset()

    # Traits: properties that fusion, lowering and the memory estimate read, instead of lists of names.

    #: A function of each element of the only input, without parameters.  The shape is kept, and a float type too.
    elementwise: ClassVar[bool] = False
    #: An elementwise function without a result (NaN) for some finite numbers, so that rounding them may decide if there
    #: is one.
    partial: ClassVar[bool] = False
    #: One arithmetic operation per element of two broadcast tensors, or of a tensor and a number: a NumPy ufunc, which
    #: is registered beside the kernel.
    combines: ClassVar[bool] = False
    #: The outputs are strided views of the input, or of the operation's own parameter: no data moves.
    view: ClassVar[bool] = False
    #: Only some rows of the parameters are read: no more elements than the outputs have.
    looks_up: ClassVar[bool] = False
    #: The identity in inference.
    no_op_in_inference: ClassVar[bool] = False
    #: The outputs are random numbers, in inference too.
    draws: ClassVar[bool] = False
    #: A scale and a shift for each channel (axis 1), provided that ``own_statistics(training)`` is False.
    normalizes_channels: ClassVar[bool] = False
    #: Axis of the channels of the first input and of the outputs; None if the operation takes them at any axis.
    channel_axis: ClassVar[int | None] = None
    #: A window of fixed size slides over the spatial axes; the kernel may copy windows into columns.
    windowed: ClassVar[bool] = False
    #: A matrix product of the input, or of its windows, with one weight (GEMM).
    gemm: ClassVar[bool] = False

    def named(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """Return the inputs that are present, by port name."""
        return {port.name: value for port, value in zip(self.inputs, inputs, strict=False) if value is not None}

    def reads_values(self) -> bool:
        """Return False if the outputs depend on the sizes and types of the inputs only."""
        return True

    def infer(self, ctx: Context, *inputs: Any) -> TensorType | tuple[TensorType, ...]:
        """Return the output types.

        Raises:
            RuleError: if the operation does not take inputs of these types.
        """
        raise NotImplementedError(self.name)

    def domains(self, *inputs: Any) -> Sequence[Domain | None]:
        """Return the numbers that the operation takes at each input; None for an input that may hold any number.

        A list shorter than the inputs says nothing about the others.
        """
        return ()

    def params(self, ctx: Context, *inputs: Any) -> Sequence[Param]:
        """Return the parameters and buffers, for inputs that ``infer`` accepts."""
        return ()

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        """Return the work of one forward pass as terms: the executed work, which does not depend on the data."""
        raise NotImplementedError(self.name)

    def real_work(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        """Return ``cost`` in real arithmetic: the terms of an operation on complex numbers by :func:`on_complex`."""
        return self.in_real_arithmetic(self.cost(ctx, inputs, outputs), (*inputs, *outputs))

    def in_real_arithmetic(self, terms: Sequence[Term], types: Iterable[TensorType | None]) -> Sequence[Term]:
        """Return terms of work on tensors of these types in real arithmetic."""
        is_complex = not self.counts_parts and any(type_ is not None and type_.is_complex for type_ in types)
        return on_complex(terms) if is_complex else terms

    def expected_cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        """Return the useful work: less than ``cost`` where capacity is expected to stay unused (experts)."""
        return self.cost(ctx, inputs, outputs)

    def declared(self) -> Declared | None:
        """Return the operator that the operation stands for and its declared work; None for work that rules count."""
        return None

    def reach(self, inputs: Sequence[Any], output: TensorType, training: bool) -> Sequence[Reach] | None:
        """Return, for each input that is present, what a position of ``output`` reads of it; None if not known.

        Operations that keep positions need no rule of their own; the default follows from the traits.
        """
        keeps = self.elementwise or self.combines or self.no_op_in_inference
        return [aligned(x, output) for x in inputs] if keeps else None

    def steps(self, inputs: Sequence[Any]) -> Dim:
        """Return the number of steps of which each needs the one before it: more than one for recurrences."""
        return 1

    def channels_at(self, rank: int) -> int | None:
        """Return the axis of channels of a tensor of a rank, from the first axis; None if it is not stated."""
        axis = self.channel_axis
        return None if axis is None else axis if axis >= 0 else rank + axis

    def active(self, param: Param, inputs: Sequence[Any]) -> Dim:
        """Return the number of elements of a parameter that one token uses: all, unless a router selects some."""
        return param.elements


def attribute_text(value: Any) -> str:
    """Return an attribute's value as one would write it in a spec; an operation with the attributes that it sets.

    >>> attribute_text((3, 3)), attribute_text(None), attribute_text("same")
    ('[3, 3]', 'null', 'same')
    """
    if isinstance(value, Model):
        fields = ((name, getattr(value, name)) for name in type(value).model_fields)
        differing = [(name, item) for name, item in fields if item != type(value).model_fields[name].default]
        inside = ", ".join(f"{name}={attribute_text(item)}" for name, item in differing)
        name = value.name if isinstance(value, Operation) else ""
        return f"{name}({inside})" if inside or not name else name
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(attribute_text, value))}]"
    return str(value)
