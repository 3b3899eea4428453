"""Random numbers.

The rules of variants with a generator are the same: a run of netcalc draws by its own seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import log1p
from typing import Any

from netcalc.dims import Dim
from netcalc.dtypes import FLOATS, DType
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import cast, unless_default
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator
from netcalc.formats.torch.operators._operands import dtype_of
from netcalc.formats.torch.operators.creation import filled

#: The largest integers that ``random_`` draws for a floating-point type: all up to it are numbers of the type.
_MANTISSAS: dict[DType, int] = {"float64": 53, "float32": 24, "float16": 11, "bfloat16": 8}
_BITS: dict[DType, int] = {"int64": 63, "int32": 31, "int16": 15, "int8": 7, "uint8": 8}


def _drawn(build: Builder, operation: str, shape: Sequence[Dim], dtype: DType, **attributes: Any) -> Value:
    """Return a tensor of random numbers; one without elements is a constant."""
    if any(size == 0 for size in shape):
        return filled(build, shape, 0, dtype)
    default = "int64" if operation == "randint" else "float32"
    return build.line(operation, [], {"shape": list(shape), **attributes, "dtype": unless_default(dtype, default)})


def _normal(build: Builder, shape: Sequence[Dim], dtype: DType, mean: float = 0.0, std: float = 1.0) -> Value:
    numbers = {"mean": unless_default(float(mean), 0.0), "std": unless_default(float(std), 1.0)}
    return _drawn(build, "normal", shape, dtype, **numbers)


def _standard(operation: str, build: Builder, size: Any, dtype: Any, **_: Any) -> Value:
    return _drawn(build, operation, size, dtype_of(dtype) or "float32")


def _standard_like(operation: str, build: Builder, input: Value, dtype: Any, **_: Any) -> Value:
    return _drawn(build, operation, input.type.shape, dtype_of(dtype) or input.type.dtype)


for _operation, _operator in (("normal", "randn"), ("uniform", "rand")):
    operator(f"aten.{_operator}.default", f"aten.{_operator}.generator")(partial(_standard, _operation))
    operator(f"aten.{_operator}_like.default", f"aten.{_operator}_like.generator")(partial(_standard_like, _operation))


@operator("aten.normal.float_float")
def normal(build: Builder, mean: float, std: float, size: Any, dtype: Any, **_: Any) -> Value:
    return _normal(build, size, dtype_of(dtype) or "float32", mean, std)


@operator("aten.normal_.default", "aten.normal_functional.default")
def normal_like(build: Builder, input: Value, mean: float, std: float, **_: Any) -> Value:
    return _normal(build, input.type.shape, input.type.dtype, mean, std)


@operator("aten.normal.Tensor_float", "aten.normal.float_Tensor", "aten.normal.Tensor_Tensor")
def normal_of_tensors(build: Builder, mean: Any, std: Any, **_: Any) -> Value:
    """Standard normal numbers times the deviations, plus the means, of which one at least is a tensor."""
    if not isinstance(std, Value):
        noise = _normal(build, mean.type.shape, mean.type.dtype, 0.0, std)
    elif not isinstance(mean, Value):
        noise = build.line("mul", [_normal(build, std.type.shape, std.type.dtype), std])
        return build.line("add", [noise], {"value": float(mean)}) if mean else noise
    else:
        shape = build.line("add", [mean, std]).type.shape  # of both, which broadcast; the line is not used
        noise = build.line("mul", [_normal(build, shape, mean.type.dtype), std])
    return cast(build, build.line("add", [noise, mean]), mean.type.dtype)


def _uniform(build: Builder, shape: Sequence[Dim], dtype: DType, low: float = 0.0, high: float = 1.0) -> Value:
    ends = {"low": unless_default(float(low), 0.0), "high": unless_default(float(high), 1.0)}
    return _drawn(build, "uniform", shape, dtype, **ends)


@operator("aten.uniform_.default", "aten.uniform.default")
def uniform(build: Builder, input: Value, to: float, **arguments: Any) -> Value:
    return uniform_like(build, input, arguments["from"], to)


def uniform_like(build: Builder, input: Value, low: float, high: float) -> Value:
    """Return random numbers between two, for each element of the input, in its type."""
    return _uniform(build, input.type.shape, input.type.dtype, low, high)


# -- functions of these ---------------------------------------------------------------------------------


def _exponential(build: Builder, like: Value, rate: float) -> Value:
    return _drawn(build, "exponential", like.type.shape, like.type.dtype, rate=unless_default(float(rate), 1.0))


@operator("aten.exponential_.default", "aten.exponential.default")
def exponential(build: Builder, input: Value, lambd: float, **_: Any) -> Value:
    return _exponential(build, input, lambd)


@operator("aten.geometric_.default", "aten.geometric.default")
def geometric(build: Builder, input: Value, p: float, **_: Any) -> Value:
    """The numbers of trials up to a success: exponential numbers rounded up."""
    if input.type.is_float and p < 1:
        return build.line("ceil", [_exponential(build, input, -log1p(-p))])
    if p < 1:
        wide = Value(input.type.with_dtype("float64"))
        return cast(build, build.line("ceil", [_exponential(build, wide, -log1p(-p))]), input.type.dtype)
    return filled(build, input.type.shape, 1, input.type.dtype)


@operator("aten.cauchy_.default", "aten.cauchy.default")
def cauchy(build: Builder, input: Value, median: float, sigma: float, **_: Any) -> Value:
    """The tangents of random angles."""
    angles = _uniform(build, input.type.shape, "float64", -0.5, 0.5)
    tangents = build.line("tan", [build.line("mul", [angles], {"value": 3.141592653589793})])
    scaled = build.line("mul", [tangents], {"value": float(sigma)}) if sigma != 1 else tangents
    moved = build.line("add", [scaled], {"value": float(median)}) if median else scaled
    return cast(build, moved, input.type.dtype)


@operator("aten.log_normal_.default", "aten.log_normal.default")
def log_normal(build: Builder, input: Value, mean: float, std: float, **_: Any) -> Value:
    return build.line("exp", [_normal(build, input.type.shape, input.type.dtype, mean, std)])


# -- integers ---------------------------------------------------------------------------------------------


@operator(
    *("aten.randint.default", "aten.randint.generator", "aten.randint.low", "aten.randint.low_generator"),
)
def randint(build: Builder, high: Any, size: Any, dtype: Any, low: Any = 0, **_: Any) -> Value:
    type_ = None if isinstance(dtype, int) else dtype_of(dtype)  # the default of the schema is a number, for int64
    return _integers(build, size, type_ or "int64", low, high)


@operator(
    *("aten.randint_like.default", "aten.randint_like.generator"),
    *("aten.randint_like.low_dtype", "aten.randint_like.low_generator_dtype"),
)
def randint_like(build: Builder, input: Value, high: Any, dtype: Any, low: Any = 0, **_: Any) -> Value:
    return _integers(build, input.type.shape, dtype_of(dtype) or input.type.dtype, low, high)


@operator("aten.random_.default", "aten.random_.to", "aten.random_.from")
def random(build: Builder, input: Value, to: Any = None, **arguments: Any) -> Value:
    """Integers of the type of the input, up to the largest of which all smaller ones have this type."""
    dtype, low = input.type.dtype, arguments.get("from", 0)
    if dtype == "bool":
        return cast(build, _integers(build, input.type.shape, "int64", low, 2 if to is None else to), "bool")
    largest = (1 << _MANTISSAS[dtype]) + 1 if dtype in FLOATS else 1 << _BITS[dtype]
    return _integers(build, input.type.shape, dtype, low, largest if to is None else to)


def _integers(build: Builder, shape: Sequence[Dim], dtype: DType, low: Any, high: Any) -> Value:
    return _drawn(build, "randint", shape, dtype, high=high, low=unless_default(low, 0))


@operator("aten.randperm.default", "aten.randperm.generator")
def randperm(build: Builder, n: Any, dtype: Any, **_: Any) -> Value:
    type_ = None if isinstance(dtype, int) else dtype_of(dtype)
    if n == 0:
        return filled(build, (0,), 0, type_ or "int64")
    return build.line("randperm", [], {"n": n, "dtype": unless_default(type_ or "int64", "int64")})


# -- of tensors -------------------------------------------------------------------------------------------


@operator("aten.bernoulli.default")
def bernoulli(build: Builder, input: Value, **_: Any) -> Value:
    return build.line("bernoulli", [input])


@operator("aten.bernoulli.p", "aten.bernoulli_.float")
def bernoulli_of_number(build: Builder, input: Value, p: float, **_: Any) -> Value:
    return _bernoulli(build, filled(build, input.type.shape, p, "float32"), input)


@operator("aten.bernoulli.Tensor", "aten.bernoulli_.Tensor")
def bernoulli_of_tensor(build: Builder, input: Value, p: Value, **_: Any) -> Value:
    shape = input.type.shape
    probabilities = p if p.type.shape == shape else build.line("expand", [p], {"shape": list(shape)})
    return _bernoulli(build, probabilities, input)


def _bernoulli(build: Builder, probabilities: Value, like: Value) -> Value:
    return cast(build, build.line("bernoulli", [probabilities]), like.type.dtype)


@operator("aten.poisson.default")
def poisson(build: Builder, input: Value, **_: Any) -> Value:
    return build.line("poisson", [input])


@operator("aten._standard_gamma.default")
def gamma(build: Builder, input: Value, **_: Any) -> Value:
    return build.line("gamma", [input])


@operator("aten._sample_dirichlet.default")
def dirichlet(build: Builder, input: Value, **_: Any) -> Value:
    """Gamma numbers as parts of their sum."""
    drawn = build.line("gamma", [input])
    return build.line("div", [drawn, build.line("sum", [drawn], {"axis": -1, "keepdim": True})])


@operator("aten.binomial.default")
def binomial(build: Builder, count: Value, prob: Value, **_: Any) -> Value:
    shape = count.type.shape
    chances = prob if prob.type.shape == shape else build.line("expand", [prob], {"shape": list(shape)})
    return build.line("binomial", [count, cast(build, chances, count.type.dtype)])


@operator("aten.multinomial.default")
def multinomial(build: Builder, input: Value, num_samples: Any, replacement: bool, **_: Any) -> Value:
    attributes = {"samples": unless_default(num_samples, 1), "replacement": True if replacement else None}
    return build.line("multinomial", [input], attributes)
