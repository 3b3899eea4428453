"""How an operation is declared: one class that holds attributes, shape rule, parameter rule and cost rule.

::

    @operation  # of netcalc.ops
    class Linear(Operation):
        \"\"\"y = x·Wᵀ + b on the last axis.\"\"\"

        name = "linear"
        source = "torch.nn.Linear"
        inputs = ports("input")

        out: Size = attr("output features")
        bias: bool = attr("add a learned bias", default=True)

        def infer(self, ctx, x): ...          # TensorType(s) -> TensorType(s); raises RuleError
        def params(self, ctx, x): ...         # -> Params and buffers
        def cost(self, ctx, inputs, outputs): # -> Terms

A rule never sees whether sizes are ints or symbolic, and never knows where in a file it was written.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self, TypeAlias, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from netcalc.diagnostics import Fix, RuleError
from netcalc.dims import Dim, Poly, product
from netcalc.dtypes import DType
from netcalc.expressions import parse
from netcalc.tensor_type import TensorType

__all__ = [
    "KINDS",
    "Buffer",
    "Context",
    "Fix",
    "Init",
    "Kind",
    "Operation",
    "Param",
    "Port",
    "RuleError",
    "Size",
    "Spatial",
    "Step",
    "Term",
    "attr",
    "ports",
]

Kind: TypeAlias = Literal["mac", "add", "mul", "div", "compare", "transcendental"]
#: The kinds of work.  ``mac`` is one multiply with its add; ``add`` covers subtraction, negation and integer
#: arithmetic on indices; ``compare`` covers min, max, comparisons and logic; ``transcendental`` covers roots,
#: powers, exponentials, logarithms and trigonometric functions.  Moving data (reshape, gather, select, pad,
#: copy, cast) is no work.
KINDS: tuple[Kind, ...] = get_args(Kind)


# -- what rules return ------------------------------------------------------------------------------


class Init(NamedTuple):
    """How a parameter is drawn when no weights are given (``kind`` as in torch.nn.init), with its arguments.

    ``fan_in_uniform(fan_in)`` is PyTorch's default for biases: uniform on ±1/√fan_in.  ``normal`` may name a
    ``padding_idx``, a row that is zero.  A ``table`` is not drawn: a formula of the operation gives it, which its
    kernel module registers (:func:`netcalc.numerics.kernels.initial`).
    """

    kind: Literal[
        "kaiming_uniform",
        "kaiming_normal",
        "xavier_uniform",
        "xavier_normal",
        "uniform",
        "fan_in_uniform",
        "normal",
        "truncated_normal",
        "orthogonal",
        "constant",
        "table",
    ]
    args: tuple[tuple[str, Any], ...] = ()

    @classmethod
    def of(cls, kind: Any, **args: Any) -> Self:
        """``Init.of("uniform", bound=0.1)``."""
        return cls(kind, tuple(args.items()))


ONES = Init.of("constant", value=1.0)
ZEROS = Init.of("constant", value=0.0)


@dataclass(frozen=True, slots=True)
class Param:
    """A learned tensor of an operation, named as PyTorch names it."""

    name: str
    shape: tuple[Dim, ...]
    init: Init
    dtype: DType | None = None  # None: the type of the operation's floating-point input
    trainable: bool = True
    is_buffer: ClassVar[bool] = False

    @property
    def elements(self) -> Dim:
        """How many numbers it holds."""
        return product(self.shape)


@dataclass(frozen=True, slots=True)
class Buffer(Param):
    """State that is not learned: running statistics, fixed tables.  ``persistent``: kept in checkpoints."""

    trainable: bool = False
    persistent: bool = True
    is_buffer: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Term:
    """``kind`` work, as a product of named factors: ``Term("mac", {"positions": 12544, "taps": 147})``.

    ``role`` names the part of the work within the operation ("scores", "bias") for conventions and readers.
    """

    kind: Kind
    factors: tuple[tuple[str, Dim], ...]
    role: str

    @classmethod
    def of(cls, kind: Kind, role: str, **factors: Dim) -> Self:
        """``Term.of("add", "bias", positions=n, channels=c)``."""
        return cls(kind, tuple(factors.items()), role)

    @property
    def count(self) -> Dim:
        """How much work it is: the product of the factors."""
        return product(size for _, size in self.factors)


class Step(NamedTuple):
    """One line of working: ``label = formula = substituted = value``."""

    label: str
    formula: str
    substituted: str
    value: Any


class Context:
    """What a rule may know beyond its inputs; collects the working when ``steps`` is a list.

    ``dtype`` is the program's floating-point type, for what no input decides (the output of an embedding).
    """

    def __init__(self, *, training: bool = False, dtype: DType = "float32", steps: list[Step] | None = None) -> None:
        self.training = training
        self.dtype: DType = dtype
        self.steps = steps

    def size(self, label: str, formula: str, **values: Any) -> Any:
        """The value of ``formula`` (see :mod:`netcalc.expressions`) with these values; noted as working.

        The very text that is evaluated is the text that is explained.
        """
        expression = parse(formula)
        value = expression.evaluate(values)
        if self.steps is not None:
            self.steps.append(Step(label, expression.pretty(), expression.pretty(values), value))
        return value


# -- attributes -------------------------------------------------------------------------------------


def whole_number(value: Any, *, least: int | None = 1) -> Any:
    """``value``, which may be symbolic, if it is a whole number, and no number below ``least``; else ValueError."""
    if isinstance(value, bool) or not isinstance(value, (int, Poly)):
        raise ValueError("should be a whole number")
    if least is not None and isinstance(value, int) and value < least:
        raise ValueError(f"should be at least {least}")
    return value


#: A size that may be symbolic, at least 1.
Size = Annotated[Any, BeforeValidator(whole_number), WithJsonSchema({"type": "integer", "minimum": 1, "title": "size"})]


def _spatial(value: Any, *, axes: int, least: int) -> Any:
    if isinstance(value, (list, tuple)):
        if len(value) != axes:
            raise ValueError(f"should be one number or {axes}, one for each axis")
        return tuple(whole_number(item, least=least) for item in value)
    return (whole_number(value, least=least),) * axes


def Spatial(axes: int, least: int = 1) -> Any:  # noqa: N802 - reads as a type in declarations
    """The type of an attribute with one whole number for each of ``axes`` axes, or one for all of them."""
    number = {"type": "integer", "minimum": least}
    schema = {"anyOf": [number, {"type": "array", "items": number, "minItems": axes, "maxItems": axes}]}
    if axes == 1:
        schema = {"anyOf": [number, {"type": "array", "items": number, "minItems": 1, "maxItems": 1}]}
    return Annotated[
        tuple[Any, ...], BeforeValidator(partial(_spatial, axes=axes, least=least)), WithJsonSchema(schema)
    ]


def attr(description: str, *, default: Any = ..., **constraints: Any) -> Any:
    """An attribute: what it means, its default (required without one), and pydantic's constraints."""
    return Field(default, description=description, validate_default=default is not ..., **constraints)


class Port(NamedTuple):
    """A named input or output; a variadic port takes one or more."""

    name: str
    optional: bool = False
    variadic: bool = False


def ports(*names: str) -> tuple[Port, ...]:
    """Ports by name; ``"mask?"`` is optional, ``"inputs*"`` takes any number."""
    return tuple(Port(name.rstrip("?*"), optional=name.endswith("?"), variadic=name.endswith("*")) for name in names)


class Example(NamedTuple):
    """Input shapes and attributes that show the operation at work."""

    inputs: tuple[tuple[int, ...] | TensorType, ...]
    attrs: Mapping[str, Any] = {}

    def types(self) -> tuple[TensorType, ...]:
        """The inputs as types; float32 where none is said."""
        return tuple(i if isinstance(i, TensorType) else TensorType(i) for i in self.inputs)


class Operation(BaseModel):
    """The base of every operation: a strict, frozen model whose fields are the attributes.

    ``shorthand`` names the attribute that a bare value sets (``dropout: 0.1``).  The first line of the
    docstring is what listings show, the rest is the operation's page; ``source`` says where the rules come from.
    """

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", arbitrary_types_allowed=True, defer_build=True)

    name: ClassVar[str]
    source: ClassVar[str]
    inputs: ClassVar[tuple[Port, ...]] = ports("input")
    outputs: ClassVar[tuple[Port, ...]] = ports("output")
    shorthand: ClassVar[str | None] = None
    #: One line each, as the reference prints them.
    shape_rule: ClassVar[str]
    param_rule: ClassVar[str] = "none"
    cost_rule: ClassVar[str]
    #: A runnable spec fragment: input shapes and the attributes, for the reference and for tests.
    example: ClassVar[Example]

    # -- traits: properties that general rules read instead of lists of names

    #: A function of each element of the one input, without parameters; the shape stays, and so does a float type.
    elementwise: ClassVar[bool] = False
    #: One arithmetic operation for each element of two tensors, broadcast, or of a tensor and a number
    #: (:meth:`numbers` of arithmetic operations).
    combines: ClassVar[bool] = False
    #: The outputs are strided views of the input, or of the operation's own tensor: no data has to move.
    view: ClassVar[bool] = False
    #: The identity in inference.
    no_op_in_inference: ClassVar[bool] = False
    #: A scale and a shift for each channel (axis 1) where the statistics are given (``own_statistics`` is False).
    normalises_channels: ClassVar[bool] = False
    #: A window of fixed size slides over the spatial axes; a kernel may copy windows into columns.
    windowed: ClassVar[bool] = False
    #: A matrix product of the input, or of its windows, with one weight: the result is rows of output channels.
    gemm: ClassVar[bool] = False

    def named(self, inputs: Sequence[Any]) -> dict[str, Any]:
        """The inputs that are given, by port; for operations with many optional ones."""
        return {port.name: given for port, given in zip(self.inputs, inputs, strict=False) if given is not None}

    def infer(self, ctx: Context, *inputs: Any) -> TensorType | tuple[TensorType, ...]:
        """The output types, from the input types; raises RuleError where they do not fit."""
        raise NotImplementedError(self.name)

    def params(self, ctx: Context, *inputs: Any) -> Sequence[Param]:
        """The parameters and buffers; sees only inputs that ``infer`` accepted."""
        return ()

    def cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        """The work of one forward pass, as terms: what runs, and no data makes it more."""
        raise NotImplementedError(self.name)

    def expected_cost(self, ctx: Context, inputs: Sequence[Any], outputs: Sequence[TensorType]) -> Sequence[Term]:
        """The part of that work which is of use on data as expected; less than ``cost`` where room is kept free."""
        return self.cost(ctx, inputs, outputs)

    def active(self, param: Param, inputs: Sequence[Any]) -> Dim:
        """How many of a parameter's elements one token uses: all, unless a router chooses among them."""
        return param.elements


# pydantic evaluates the annotations of every base anew for each subclass; these are all class variables
Operation.__annotations__.clear()


# -- what many rules do -----------------------------------------------------------------------------


def as_tuple(result: TensorType | tuple[TensorType, ...]) -> tuple[TensorType, ...]:
    """The outputs of ``infer`` as a tuple."""
    return result if isinstance(result, tuple) else (result,)


def require_float(x: TensorType, what: str) -> None:
    """RuleError (E402) unless ``x`` holds floating-point numbers."""
    if not x.is_float:
        raise RuleError(f"{what} takes floating-point numbers, and its input is {x.dtype}", code="E402")


def require_rank(x: TensorType, ranks: int | Iterable[int], what: str) -> None:
    """RuleError unless ``x`` has one of these ranks."""
    allowed = (ranks,) if isinstance(ranks, int) else tuple(ranks)
    if x.rank not in allowed:
        wanted = " or ".join(map(str, allowed))
        raise RuleError(f"{what} takes an input of {wanted} dimensions, and this one has {x.rank}: {x}")


def normal_axis(axis: int, rank: int, what: str) -> int:
    """``axis`` counted from the front; RuleError where the tensor has no such axis."""
    if not -rank <= axis < rank:
        raise RuleError(f"{what}: no axis {axis} in a tensor of {rank} dimensions")
    return axis % rank
