"""Tensors without inputs: parameters, buffers, and constants of the spec."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Self

from netcalc.diagnostics import NetcalcError
from netcalc.dims import Poly
from netcalc.dtypes import COMPLEX, FLOATS, INEXACT, DType, limits, promote, scalar_dtype
from netcalc.inits import parse_init
from netcalc.models import BeforeValidator, WithJsonSchema, model_validator
from netcalc.opdef import Buffer, Context, Example, Init, Param, RuleError, Size, attr, same_shape
from netcalc.ops import operation
from netcalc.ops._lists import Sizes
from netcalc.ops._movement import Movement
from netcalc.ops._weights import weight_and_bias
from netcalc.ops.arithmetic import Number
from netcalc.tensor_type import TensorType


class _Creation(Movement):
    inputs = ()


def _init(value: Any) -> Init:
    if isinstance(value, Init):
        return value
    if not isinstance(value, str):
        raise ValueError("should be an initializer, like normal(std=0.02)")
    try:
        init = parse_init(value)
    except NetcalcError as error:
        (diagnostic,) = error.diagnostics
        text = f"{diagnostic.message} ({diagnostic.hint})" if diagnostic.hint else diagnostic.message
        raise ValueError(text) from None
    if init is None:
        raise ValueError("should name an initializer; a parameter has no other default")
    return init


_Init = Annotated[Init, BeforeValidator(_init), WithJsonSchema({"type": "string"})]

#: Initializers that need at least two axes, since they depend on the numbers of inputs and outputs.
_BY_FANS = ("kaiming_uniform", "kaiming_normal", "xavier_uniform", "xavier_normal", "lecun_normal", "orthogonal")


@operation
class Parameter(_Creation):
    """A learned tensor: a class token, a table of positions, a scale.

    The parameter has the path of the line: ``{name: class_token, parameter: {shape: [1, 1, 768]}}`` is the
    parameter ``class_token``.  ``init`` is an initializer: zeros, ones, constant(0.5), normal(std=0.02),
    truncated_normal(std=0.02), uniform(a=-1, b=1), xavier_uniform, kaiming_normal(mode=fan_out), orthogonal.  Use
    expand, or broadcasting, to combine the tensor with a batch.
    """

    name = "parameter"
    view = True
    reference = "torch.nn.Parameter"
    shorthand = "shape"
    shape_rule = "→ shape"
    param_rule = "the tensor itself"
    example = Example((), {"shape": [1, 1, 8]})
    usage = ("x: [8, 196, 768]", "- {name: positions, parameter: [1, 196, 768]}", "- {from: [x, positions], add: {}}")

    shape: Sizes = attr("sizes; [] is a scalar")
    init: _Init = attr("initializer, used without weights", default="normal(std=0.02)")
    dtype: DType | None = attr("element type; by default the program's", default=None)
    trainable: bool = attr("train the parameter; otherwise its value is fixed", default=True)

    def infer(self, ctx: Context) -> TensorType:
        dtype = self.dtype or ctx.dtype
        if self.trainable and dtype not in INEXACT:
            raise RuleError(f"a trainable parameter must be floating point, and this is {dtype}", code="E402")
        if self.init.kind in _BY_FANS and len(self.shape) < 2:
            raise RuleError(f"{self.init.kind} needs at least 2 dimensions, and the parameter has {len(self.shape)}")
        return TensorType(self.shape, dtype)

    def params(self, ctx: Context) -> Sequence[Param]:
        return (Param("", self.shape, self.init, self.dtype, trainable=self.trainable),)


@operation
class LinearWeight(_Creation):
    """The weight of a linear layer as a tensor, for lines that multiply by it in another order.

    It is the parameter of ``linear`` without a bias: the path is the same, and it is initialized, quantized and adapted
    like it.  So one spec may apply the layer or its weight.
    """

    name = "linear_weight"
    view = True
    reference = "torch.nn.Linear.weight"
    shape_rule = "→ (out, features)"
    param_rule = "weight out·features"
    example = Example((), {"out": 4, "features": 8})
    usage = (
        "latent: [1, 128, 512]",
        "- {name: kv_b_proj, linear_weight: {out: 2048, features: 512}}",
        "- {name: weight, transpose: [0, 1]}",
        "- {from: [latent, weight], matmul: {}}",
    )

    out: Size = attr("output features of the layer")
    features: Size = attr("features of its input")

    def infer(self, ctx: Context) -> TensorType:
        return TensorType((self.out, self.features), ctx.dtype)

    def params(self, ctx: Context) -> Sequence[Param]:
        return weight_and_bias((self.out, self.features), self.out, bias=False)


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


def _numbers_in(content: Any) -> Iterator[Any]:
    if isinstance(content, tuple):
        for item in content:
            yield from _numbers_in(item)
    else:
        yield content


#: A number, true or false, or nested lists of them.
_Content = Annotated[
    Any, BeforeValidator(_content), WithJsonSchema({"anyOf": [{"type": ["number", "boolean"]}, {"type": "array"}]})
]


class _Written(_Creation):
    shape: Sizes | None = attr("sizes; by default the value's; a single number fills any shape", default=None)

    def typed(self, value: Any, dtype: DType) -> TensorType:
        """Return the type of a tensor that holds ``value``; RuleError if the shape or the numbers do not fit."""
        shape = _shape_of(value)
        if dtype in COMPLEX and shape:
            if shape[-1] != 2:
                raise RuleError(f"{self.name}: complex numbers are written as pairs of their parts", code="E402")
            shape = shape[:-1]
        if self.shape is not None and shape not in ((), self.shape):
            raise RuleError(f"{self.name}: the value is {TensorType(shape)}, and its shape is {TensorType(self.shape)}")
        misfit = next((number for number in _numbers_in(value) if not _fits(number, dtype)), None)
        if misfit is not None:
            raise RuleError(f"{self.name}: {misfit} does not fit {dtype}", code="E402")
        return TensorType(shape if self.shape is None else self.shape, dtype)


def _fits(number: Any, dtype: DType) -> bool:
    """Return True if a tensor of this type can hold the number."""
    if dtype in INEXACT or isinstance(number, bool):
        return True
    if dtype == "bool" or isinstance(number, float):
        return False
    least, most = limits(dtype)
    return isinstance(number, Poly) or least <= number <= most


def _lines_type(value: Any) -> TensorType:
    if not isinstance(value, TensorType):
        raise ValueError("should be a list of lines")
    return value


#: Written as lines; the attribute is the type of their value.
_Computed = Annotated[TensorType, BeforeValidator(_lines_type), WithJsonSchema({"type": "array"})]


@operation
class BufferTensor(_Written):
    """A tensor that is stored with the weights and not learned.

    It has the path of the line, as a parameter has.  Checkpoints omit a buffer that is not ``persistent``.

    ``computed`` is a list of lines, without inputs or parameters, whose last value the buffer takes:
    ``{name: positions, buffer: {computed: [{arange: 512}, {unsqueeze: 0}]}}``.  It is computed where no checkpoint
    holds the buffer, and counts as no work of a forward pass.  A floating-point value is cast to the program's type.
    """

    name = "buffer"
    view = True
    reference = "torch.nn.Module.register_buffer"
    shorthand = "shape"
    lines_attribute = "computed"
    shape_rule = "→ shape"
    param_rule = "the buffer itself"
    example = Example((), {"value": [[1.0, 2.0], [3.0, 4.0]]})
    usage = (
        "image: [1, 3, 224, 224]",
        "- {name: mean, buffer: {value: [[[0.485]], [[0.456]], [[0.406]]]}}",
        "- {from: [image, mean], sub: {}}",
    )

    value: _Content = attr("initial value: a number, or nested lists of numbers", default=0.0)
    computed: _Computed | None = attr("lines that compute the initial value", default=None)
    dtype: DType | None = attr("element type; by default the program's, or the type of computed integers", default=None)
    persistent: bool = attr("keep the buffer in checkpoints", default=True)

    @model_validator(mode="after")
    def _one_value(self) -> Self:
        if self.computed is not None and "value" in self.model_fields_set:
            raise ValueError("the value is given or computed, not both")
        return self

    def infer(self, ctx: Context) -> TensorType:
        if self.computed is None:
            return self.typed(self.value, self.dtype or ctx.dtype)
        if self.shape is not None and not same_shape(self.shape, self.computed.shape):
            raise RuleError(f"buffer: the value is {self.computed}, and its shape is {TensorType(self.shape)}")
        return self.computed.with_dtype(self.dtype or (ctx.dtype if self.computed.is_float else self.computed.dtype))

    def params(self, ctx: Context) -> Sequence[Param]:
        x = self.infer(ctx)
        if self.computed is not None:
            return (Buffer("", x.shape, Init.of("computed"), x.dtype, persistent=self.persistent),)
        init = Init.of("constant", value=self.value)
        return (Buffer("", x.shape, init, self.dtype, persistent=self.persistent),)


@operation
class Constant(_Written):
    """A tensor with a value that the spec gives.

    Without ``dtype`` the element type is as in torch.tensor: bool for true and false, int64 for whole numbers, float32
    otherwise.  Complex numbers are pairs: ``constant: {value: [0.5, 1.0], dtype: complex64}`` is ½ + i.
    """

    name = "constant"
    kernel_suffices = "built from attributes: little work, mostly done once"
    reference = "torch.tensor, torch.full"
    shorthand = "value"
    shape_rule = "→ shape, or the value's"
    example = Example((), {"value": [1, 2, 3]})
    usage = (
        "image: [1, 3, 224, 224]",
        "- {name: mean, constant: [[[0.485]], [[0.456]], [[0.406]]]}",
        "- {from: [image, mean], sub: {}}",
    )

    value: _Content = attr("a number, or nested lists of numbers")
    dtype: DType | None = attr("element type; by default the value's", default=None)

    def infer(self, ctx: Context) -> TensorType:
        return self.typed(self.value, self.dtype or promote(*map(scalar_dtype, _numbers_in(self.value))))


@operation
class Arange(_Creation):
    """The numbers from ``start`` up to, but not including, ``stop``, in steps of ``step``."""

    name = "arange"
    takes_complex = False
    kernel_suffices = "built from attributes: little work, mostly done once"
    reference = "torch.arange"
    shorthand = "stop"
    shape_rule = "→ (⌈(stop − start)/step⌉)"
    example = Example((), {"stop": 6})
    usage = ("- {name: positions, arange: 512}", "- embedding: {num_embeddings: 512, embedding_dim: 768}")

    start: Number = attr("first number", default=0)
    stop: Number = attr("end, which is not included")
    step: Number = attr("difference between consecutive numbers", default=1)
    dtype: DType = attr("element type", default="int64")

    def infer(self, ctx: Context) -> TensorType:
        if self.dtype == "bool":
            raise RuleError("arange has no bool type", code="E402")
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
            raise RuleError(f"arange from {start} to {stop} in steps of {step} is empty")
        formula = "ceil_div(stop - start, step)" if step > 0 else "ceil_div(start - stop, -step)"
        if fractional:
            formula = "ceil((stop - start)/step)"
        return TensorType((ctx.size("length", formula, **bounds),), self.dtype)
