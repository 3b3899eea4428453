"""Initial parameters: the initialisers of torch.nn.init, and the rules of the ``--init`` option.

Each tensor has its own random generator, seeded by the seed and the tensor's path.  Its numbers therefore depend
neither on the order in which tensors are drawn nor on the rest of the network.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from netcalc.dims import integer
from netcalc.inits import MODES, InitRules, fans, gain
from netcalc.numerics.kernels import TABLES, Array
from netcalc.numerics.numpy_dtypes import numpy_dtype
from netcalc.opdef import Init, Operation, Param

__all__ = ["Initializers", "draw", "fans", "gain", "generator"]

# -- drawing ----------------------------------------------------------------------------------------


def generator(seed: int, path: str) -> np.random.Generator:
    """Return the random generator of the tensor at ``path``."""
    digest = hashlib.blake2b(path.encode(), digest_size=16).digest()
    key = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


def draw(init: Init, shape: Sequence[int], dtype: str, rng: np.random.Generator) -> Array:
    """Return a tensor drawn by ``init``, which follows the function of the same name in torch.nn.init.

    Numbers are drawn in float64 for a float64 tensor and in float32 for every other type, then cast.  The argument
    ``padding_idx`` names a row that is set to zero.

    Raises:
        ValueError: if the initialiser does not apply to the shape (fans need two dimensions).
    """
    shape, args = tuple(shape), dict(init.args)
    working = np.float64 if dtype == "float64" else np.float32
    match init.kind:
        case "constant":
            drawn = np.full(shape, args["value"], numpy_dtype(dtype))
        case "uniform":
            low, high = args.get("a", 0.0), args.get("b", 1.0)
            if "bound" in args:
                low, high = -args["bound"], args["bound"]
            drawn = _uniform(rng, shape, low, high, working)
        case "fan_in_uniform":
            fan = integer(args["fan_in"])
            bound = 1 / math.sqrt(fan) if fan else 0.0
            drawn = _uniform(rng, shape, -bound, bound, working)
        case "normal":
            drawn = _normal(rng, shape, args.get("mean", 0.0), args.get("std", 1.0), working)
        case "truncated_normal":
            drawn = _truncated(rng, shape, args, working)
        case "orthogonal":
            drawn = _orthogonal(rng, shape, args.get("gain", 1.0), working)
        case "kaiming_uniform" | "kaiming_normal":
            fan = fans(shape)[MODES.index(args.get("mode", "fan_in"))]
            scale = gain(args.get("nonlinearity", "leaky_relu"), args.get("a", 0.0))
            drawn = _scaled(rng, shape, scale / math.sqrt(fan) if fan else 0.0, init.kind, working)
        case "xavier_uniform" | "xavier_normal":
            fan = sum(fans(shape))
            deviation = args.get("gain", 1.0) * math.sqrt(2 / fan) if fan else 0.0
            drawn = _scaled(rng, shape, deviation, init.kind, working)
        case "table":
            raise ValueError("a table is computed, not drawn")
    if "padding_idx" in args:
        drawn[args["padding_idx"]] = 0
    return drawn.astype(numpy_dtype(dtype), copy=False)


def _uniform(rng: np.random.Generator, shape: tuple[int, ...], low: float, high: float, working: Any) -> Array:
    drawn: Array = rng.random(shape, dtype=working)
    drawn *= high - low
    drawn += low
    return drawn


def _normal(rng: np.random.Generator, shape: tuple[int, ...], mean: float, std: float, working: Any) -> Array:
    drawn: Array = rng.standard_normal(shape, dtype=working)
    drawn *= std
    drawn += mean
    return drawn


def _scaled(rng: np.random.Generator, shape: tuple[int, ...], std: float, kind: str, working: Any) -> Array:
    if kind.endswith("normal"):
        return _normal(rng, shape, 0.0, std, working)
    bound = math.sqrt(3) * std
    return _uniform(rng, shape, -bound, bound, working)


def _truncated(rng: np.random.Generator, shape: tuple[int, ...], args: dict[str, Any], working: Any) -> Array:
    """Return a truncated normal sample, drawn by inverting the distribution function between the two limits.

    The limits are values, not multiples of the standard deviation, as in torch.
    """
    from scipy.special import ndtr, ndtri

    mean, std = args.get("mean", 0.0), args.get("std", 1.0)
    low, high = args.get("a", -2.0), args.get("b", 2.0)
    lower, upper = ndtr((low - mean) / std), ndtr((high - mean) / std)
    drawn = ndtri(_uniform(rng, shape, lower, upper, np.float64)) * std + mean
    clipped: Array = np.clip(drawn, low, high).astype(working)
    return clipped


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
    """The initialisation rules of a program, which draw its parameters."""

    __slots__ = ()

    def is_drawn(self, path: str, param: Param) -> bool:
        """Return True if the initial value of the parameter at ``path`` is random."""
        if param.is_buffer or param.init.kind == "table":
            return False
        return self.chosen(path, param)[0].kind != "constant"

    def initial(self, op: Operation, path: str, param: Param, dtype: str, seed: int) -> Array:
        """Return the initial value of the parameter at ``path``.

        Raises:
            NetcalcError: E104 at its place if the initialiser of a spec does not apply to the parameter's shape, E502
                for that of an option.
        """
        shape = tuple(integer(size) for size in param.shape)
        if param.init.kind == "table":
            formula = TABLES.get(op.name)
            if formula is None:
                raise LookupError(f"{op.name} has no formula for {param.name!r}")
            return np.array(formula(op, param.name, shape), numpy_dtype(dtype))
        init, rule = self.chosen(path, param)
        try:
            return draw(init, shape, dtype, generator(seed, path))
        except ValueError as error:
            raise self.misfit(path, param, rule, error) from None
