"""Initial parameters: the initializers of torch.nn.init, and the rules of the ``--init`` option.

Each tensor has its own random generator, seeded by the seed and the tensor's path.  Its numbers therefore depend
neither on the order in which tensors are drawn nor on the rest of the network.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from netcalc.arrays import Array, array_of, numpy_dtype
from netcalc.dims import integer
from netcalc.dtypes import COMPLEX, DType, real_of
from netcalc.init_formulas import formula_elements
from netcalc.inits import MODES, InitRules, at_indices, fans, gain, lecun, limits
from netcalc.numerics.generators import generator
from netcalc.numerics.kernels import TABLES
from netcalc.numerics.normal_quantile import normal_quantile
from netcalc.opdef import Init, Operation, Param
from netcalc.weights.pieces import Part, pieces

__all__ = ["Initializers", "draw", "draw_into", "fans", "gain", "generator"]

#: Fills a block of a tensor with the next numbers.
Sample: TypeAlias = Callable[[Array], None]

# -- drawing ----------------------------------------------------------------------------------------


def draw(init: Init, shape: Sequence[int], dtype: str, rng: np.random.Generator) -> Array:
    """Return a tensor drawn by ``init``, which follows the function of the same name in torch.nn.init.

    Numbers are drawn in float64 for a float64 tensor and in float32 for every other type, then cast.  The parts of
    complex numbers have half of the variance each, as by ``torch.randn``.  The argument
    ``padding_idx`` names a row that is set to zero.

    Raises:
        ValueError: if the initializer does not apply to the shape (fans need two dimensions).
    """
    drawn = np.empty(tuple(shape), numpy_dtype(dtype))
    draw_into(init, drawn, dtype, rng)
    return drawn


def draw_into(init: Init, out: Array, dtype: str, rng: np.random.Generator) -> None:
    """Write a tensor of type ``dtype`` drawn by ``init`` to ``out``, piece by piece, with the same numbers as `draw`.

    ``out`` may have any strides, and a wider type than the tensor.

    Raises:
        ValueError: if the initializer does not apply to the shape.
    """
    init = at_indices(init)
    if dtype in COMPLEX and init.kind not in ("constant", "table"):
        _draw_complex(init, out, real_of(dtype), rng)
        return
    shape, args = out.shape, dict(init.args)
    working = np.float64 if dtype == "float64" else np.float32
    match init.kind:
        case "constant":
            with np.errstate(over="ignore"):  # a number beyond the type is infinite, as in PyTorch
                out[...] = array_of(args["value"], numpy_dtype(dtype))
        case "uniform":
            low, high = args.get("a", 0.0), args.get("b", 1.0)
            if "bound" in args:
                low, high = -args["bound"], args["bound"]
            _write(out, dtype, working, _uniform(rng, low, high))
        case "fan_in_uniform":
            fan = integer(args["fan_in"])
            bound = 1 / math.sqrt(fan) if fan else 0.0
            _write(out, dtype, working, _uniform(rng, -bound, bound))
        case "normal":
            _write(out, dtype, working, _normal(rng, args.get("mean", 0.0), args.get("std", 1.0)))
        case "truncated_normal" | "lecun_normal":
            cut = args if init.kind == "truncated_normal" else args | lecun(shape)
            _write(out, dtype, np.float64, _truncated_sample(rng, cut, working))
        case "log_of_uniform":
            _write(out, dtype, np.float64, _mapped(_uniform(rng, *limits(init)), np.log))
        case "step_size":
            low, high = map(math.log, limits(init))
            _write(out, dtype, np.float64, _mapped(_uniform(rng, low, high), _inverse_softplus_of_exp))
        case "log_range":
            out[...] = np.log(np.arange(1, (shape[-1] if shape else 1) + 1)).astype(numpy_dtype(dtype))
        case "formula":
            out[...] = np.array(formula_elements(init, shape)).reshape(shape).astype(numpy_dtype(dtype))
        case "orthogonal":
            out[...] = _orthogonal(rng, shape, args.get("gain", 1.0), working).astype(numpy_dtype(dtype), copy=False)
        case "kaiming_uniform" | "kaiming_normal":
            fan = fans(shape)[MODES.index(args.get("mode", "fan_in"))]
            scale = gain(args.get("nonlinearity", "leaky_relu"), args.get("a", 0.0))
            _write(out, dtype, working, _scaled_sample(rng, scale / math.sqrt(fan) if fan else 0.0, init.kind))
        case "xavier_uniform" | "xavier_normal":
            fan = sum(fans(shape))
            deviation = args.get("gain", 1.0) * math.sqrt(2 / fan) if fan else 0.0
            _write(out, dtype, working, _scaled_sample(rng, deviation, init.kind))
        case "table":
            raise ValueError("a table is computed, not drawn")
    if "padding_idx" in args:
        out[args["padding_idx"]] = 0


def _draw_complex(init: Init, out: Array, dtype: DType, rng: np.random.Generator) -> None:
    """Write complex numbers with parts of type ``dtype``, whose variance around the mean is that of real numbers."""
    mean = dict(init.args).get("mean", 0.0)
    centered = init if not mean else Init(init.kind, tuple((n, 0.0 if n == "mean" else v) for n, v in init.args))
    for part in (out.real, out.imag):
        draw_into(centered, part, dtype, rng)
    out *= out.real.dtype.type(math.sqrt(0.5))
    if mean:
        out += mean


def _write(out: Array, dtype: str, working: Any, sample: Sample) -> None:
    """Write samples to ``out`` in the order of its elements, in place where it has the type of the sample."""
    target = numpy_dtype(dtype)
    part = Part.whole(out, target)
    in_place = out.dtype == target == working
    for index in pieces(out.shape, np.dtype(working).itemsize, part.ranges):
        view = part.placed(index)
        if in_place and view.flags.c_contiguous:
            sample(view)
            continue
        block = np.empty(view.shape, working)
        sample(block)
        part.put(view, block)


def _uniform(rng: np.random.Generator, low: float, high: float) -> Sample:
    def sample(block: Array) -> None:
        rng.random(dtype=block.dtype, out=block)
        block *= high - low
        block += low

    return sample


def _normal(rng: np.random.Generator, mean: float, std: float) -> Sample:
    def sample(block: Array) -> None:
        rng.standard_normal(dtype=block.dtype, out=block)
        block *= std
        block += mean

    return sample


def _scaled_sample(rng: np.random.Generator, std: float, kind: str) -> Sample:
    if kind.endswith("normal"):
        return _normal(rng, 0.0, std)
    bound = math.sqrt(3) * std
    return _uniform(rng, -bound, bound)


def _mapped(sample: Sample, function: Callable[[Array], Array]) -> Sample:
    def mapped(block: Array) -> None:
        sample(block)
        block[...] = function(block)

    return mapped


def _inverse_softplus_of_exp(x: Array) -> Array:
    """Return the number whose softplus is the exponential function of ``x``, of small numbers exactly."""
    step = np.exp(x)
    result: Array = step + np.log(-np.expm1(-step))
    return result


def _truncated_sample(rng: np.random.Generator, args: dict[str, Any], working: Any) -> Sample:
    """Return a sample of a truncated normal distribution, drawn by inverting its function between the two limits.

    The limits are values, not multiples of the standard deviation, as in torch.
    """
    mean, std = args.get("mean", 0.0), args.get("std", 1.0)
    low, high = args.get("a", -2.0), args.get("b", 2.0)
    lower, upper = ((1 + math.erf((limit - mean) / std / math.sqrt(2))) / 2 for limit in (low, high))
    uniform = _uniform(rng, lower, upper)

    def sample(block: Array) -> None:
        uniform(block)
        block[...] = np.clip(normal_quantile(block) * std + mean, low, high).astype(working)

    return sample


def _orthogonal(rng: np.random.Generator, shape: tuple[int, ...], scale: float, working: Any) -> Array:
    """Return a tensor that is orthogonal as a matrix of axis 0 by all other axes: orthonormal rows or columns."""
    if len(shape) < 2:
        raise ValueError(f"orthogonal needs at least 2 dimensions, and the shape is {shape}")
    rows, columns = shape[0], math.prod(shape[1:])
    flat = rng.standard_normal((max(rows, columns), min(rows, columns)), dtype=working)
    q, r = np.linalg.qr(flat)
    q *= np.where(np.diagonal(r) < 0, -1, 1)  # the signs that QR chooses would make the distribution uneven
    oriented: Array = np.ascontiguousarray(q if rows >= columns else q.T).reshape(shape)
    oriented *= working(scale)
    return oriented


# -- the option -------------------------------------------------------------------------------------


class Initializers(InitRules):
    """The initialization rules of a program, which draw its parameters."""

    __slots__ = ()

    def is_drawn(self, path: str, param: Param) -> bool:
        """Return True if the initial value of the parameter at ``path`` is random."""
        if param.is_buffer or param.init.kind == "table":
            return False
        return self.chosen(path, param)[0].kind not in ("constant", "formula")

    def write(self, op: Operation, path: str, param: Param, dtype: str, seed: int, out: Array) -> None:
        """Write the initial value of the parameter at ``path``, of type ``dtype``, to ``out``.

        Raises:
            NetcalcError: E104 at its place if the initializer of a spec does not apply to the parameter's shape, E502
                for the initializer of an option.
        """
        if param.init.kind == "table":
            formula = TABLES.get(op.name)
            if formula is None:
                raise LookupError(f"{op.name} has no formula for {param.name!r}")
            out[...] = np.asarray(formula(op, param.name, out.shape)).astype(numpy_dtype(dtype), copy=False)
            return
        init, rule = self.chosen(path, param)
        try:
            draw_into(init, out, dtype, generator(seed, path))
        except ValueError as error:
            raise self.misfit(path, param, rule, error) from None
