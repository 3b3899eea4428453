"""Tensors that come from no other tensor: learned, kept beside the weights, or written in the spec."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from netcalc.diagnostics import NetcalcError
from netcalc.dims import Poly
from netcalc.dtypes import FLOATS, ITEMSIZE, DType, promote, scalar_dtype
from netcalc.inits import parse_init
from netcalc.opdef import Buffer, Context, Example, Init, Param, RuleError, attr
from netcalc.ops import operation
from netcalc.ops._lists import Sizes
from netcalc.ops._movement import Movement
from netcalc.ops.arithmetic import Number
from netcalc.tensor_type import TensorType


class _Source(Movement):
    inputs = ()


def _init(value: Any) -> Init:
    if isinstance(value, Init):
        return value
    if not isinstance(value, str):
        raise ValueError("should be an initialiser, like normal(std=0.02)")
    try:
        init = parse_init(value)
    except NetcalcError as error:
        (found,) = error.diagnostics
        raise ValueError(f"{found.message} ({found.hint})" if found.hint else found.message) from None
    if init is None:
        raise ValueError("should name an initialiser; a parameter has no other default")
    return init


_Init = Annotated[Init, BeforeValidator(_init), WithJsonSchema({"type": "string"})]

#: Initialisers that need two axes, for the number of inputs and outputs that each weight has.
_BY_FANS = ("kaiming_uniform", "kaiming_normal", "xavier_uniform", "xavier_normal", "orthogonal")


@operation
class Parameter(_Source):
    """A learned tensor as it is: a class token, a table of positions, a scale.

    Its path is that of the line itself: ``{name: class_token, parameter: {shape: [1, 1, 768]}}`` is the parameter
    ``class_token``.  ``init`` is written as everywhere: zeros, ones, constant(0.5), normal(std=0.02),
    truncated_normal(std=0.02), uniform(a=-1, b=1), xavier_uniform, kaiming_normal(mode=fan_out), orthogonal.  To meet a
    batch it is expanded, or broadcasts.
    """

    name = "parameter"
    view = True
    reference = "torch.nn.Parameter"
    shorthand = "shape"
    shape_rule = "→ shape"
    param_rule = "the tensor itself"
    example = Example((), {"shape": [1, 1, 8]})

    shape: Sizes = attr("the sizes; [] is a scalar")
    init: _Init = attr("how it is drawn when no weights are given", default="normal(std=0.02)")
    dtype: DType | None = attr("the element type; the program's unless given", default=None)
    trainable: bool = attr("learned; otherwise it is a parameter that stays as it is", default=True)

    def infer(self, ctx: Context) -> TensorType:
        dtype = self.dtype or ctx.dtype
        if self.trainable and dtype not in FLOATS:
            raise RuleError(f"a parameter that is trained is of floating point, and not {dtype}", code="E402")
        if self.init.kind in _BY_FANS and len(self.shape) < 2:
            raise RuleError(f"{self.init.kind} needs at least 2 dimensions, and the parameter has {len(self.shape)}")
        return TensorType(self.shape, dtype)

    def params(self, ctx: Context) -> Sequence[Param]:
        return (Param("", self.shape, self.init, self.dtype, trainable=self.trainable),)


# -- written in the spec ----------------------------------------------------------------------------


def _content(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        items = tuple(_content(item) for item in value)
        if not items or len({_shape_of(item) for item in items}) > 1:
            raise ValueError("should be a number, or lists of numbers of equal length")
        return items
    if not isinstance(value, (bool, int, float, Poly)):
        raise ValueError("should be a number, or lists of numbers of equal length")
    return value


def _shape_of(content: Any) -> tuple[int, ...]:
    return (len(content), *_shape_of(content[0])) if isinstance(content, tuple) else ()


def _numbers(content: Any) -> Iterator[Any]:
    if isinstance(content, tuple):
        for item in content:
            yield from _numbers(item)
    else:
        yield content


#: A number, true or false, or nested lists of them.
_Content = Annotated[
    Any, BeforeValidator(_content), WithJsonSchema({"anyOf": [{"type": ["number", "boolean"]}, {"type": "array"}]})
]


class _Written(_Source):
    shape: Sizes | None = attr("the sizes; those of the value unless given, and a number fills any", default=None)

    def typed(self, value: Any, dtype: DType) -> TensorType:
        """The type of a tensor that holds ``value``; RuleError where it does not fit."""
        own = _shape_of(value)
        if self.shape is not None and own not in ((), self.shape):
            given, wanted = TensorType(own), TensorType(self.shape)
            raise RuleError(f"{self.name}: the value is {given}, and its shape is to be {wanted}")
        misfit = next((number for number in _numbers(value) if not _fits(number, dtype)), None)
        if misfit is not None:
            raise RuleError(f"{self.name}: {misfit} does not fit {dtype}", code="E402")
        return TensorType(own if self.shape is None else self.shape, dtype)


def _fits(number: Any, dtype: DType) -> bool:
    """Whether a tensor of this type can hold the number."""
    if dtype in FLOATS or isinstance(number, bool):
        return True
    if dtype == "bool" or isinstance(number, float):
        return False
    values = 1 << 8 * ITEMSIZE[dtype]
    least = 0 if dtype == "uint8" else -values // 2
    return isinstance(number, Poly) or least <= number < least + values


@operation
class BufferTensor(_Written):
    """A tensor that is kept beside the weights and not learned.

    Its path is that of the line itself, as with parameter.  A buffer that is not ``persistent`` stays out of
    checkpoints.
    """

    name = "buffer"
    view = True
    reference = "torch.nn.Module.register_buffer"
    shorthand = "shape"
    shape_rule = "→ shape"
    param_rule = "the buffer itself"
    example = Example((), {"value": [[1.0, 2.0], [3.0, 4.0]]})

    value: _Content = attr("what it holds at first: a number, or lists of them", default=0.0)
    dtype: DType | None = attr("the element type; the program's unless given", default=None)
    persistent: bool = attr("kept in checkpoints", default=True)

    def infer(self, ctx: Context) -> TensorType:
        return self.typed(self.value, self.dtype or ctx.dtype)

    def params(self, ctx: Context) -> Sequence[Param]:
        x = self.infer(ctx)
        init = Init.of("constant", value=self.value)
        return (Buffer("", x.shape, init, self.dtype, persistent=self.persistent),)


@operation
class Constant(_Written):
    """A tensor that the spec writes down.

    Without ``dtype`` it is as in torch.tensor: bool for true and false, int64 for whole numbers, else float32.
    """

    name = "constant"
    reference = "torch.tensor, torch.full"
    shorthand = "value"
    shape_rule = "→ shape, or that of the value"
    example = Example((), {"value": [1, 2, 3]})

    value: _Content = attr("a number, or lists of them")
    dtype: DType | None = attr("the element type; the value's unless given", default=None)

    def infer(self, ctx: Context) -> TensorType:
        return self.typed(self.value, self.dtype or promote(*map(scalar_dtype, _numbers(self.value))))


@operation
class Arange(_Source):
    """The numbers from ``start`` to ``stop``, which is not among them, in steps of ``step``."""

    name = "arange"
    reference = "torch.arange"
    shorthand = "stop"
    shape_rule = "→ (⌈(stop − start)/step⌉)"
    example = Example((), {"stop": 6})

    start: Number = attr("the first number", default=0)
    stop: Number = attr("the number where it ends")
    step: Number = attr("from one number to the next", default=1)
    dtype: DType = attr("the element type", default="int64")

    def infer(self, ctx: Context) -> TensorType:
        if self.dtype == "bool":
            raise RuleError("arange gives numbers, and not bool", code="E402")
        bounds = {"start": self.start, "stop": self.stop, "step": self.step}
        fractional = any(isinstance(number, float) for number in bounds.values())
        if fractional and self.dtype not in FLOATS:
            raise RuleError(f"arange of {self.dtype} takes whole numbers", code="E402")
        if fractional:
            bounds = {name: float(number) for name, number in bounds.items()}
        start, stop, step = bounds.values()
        if step == 0:
            raise RuleError("arange: the step is 0")
        if start == stop or (stop > start) != (step > 0):
            raise RuleError(f"arange: no number lies from {start} to {stop} in steps of {step}")
        formula = "ceil_div(stop - start, step)" if step > 0 else "ceil_div(start - stop, -step)"
        if fractional:
            formula = "ceil((stop - start)/step)"
        return TensorType((ctx.size("length", formula, **bounds),), self.dtype)
