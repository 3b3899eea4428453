"""Inputs of a run: check those that were given and draw the others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from netcalc.arrays import Array, numpy_dtype
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean, written
from netcalc.dims import Poly, integer
from netcalc.dtypes import FLOATS, INTEGERS, holds, real_of
from netcalc.ir import InputSpec, Program
from netcalc.numerics.initializers import generator
from netcalc.tensor_type import TensorType

_FLOAT, _COMPLEX = 2, 3


def require_sizes(program: Program) -> None:
    """Check that the program has no symbolic sizes, since arrays need numbers.

    Raises:
        NetcalcError: E404, with the names of all symbolic sizes.
    """
    names = {n for spec in program.inputs for size in spec.type.shape if isinstance(size, Poly) for n in size.names()}
    names |= {name for name, value in program.dims.items() if isinstance(value, Poly)}
    if names:
        listed = ", ".join(sorted(names))
        hint = " ".join(f"--set {name}=…" for name in sorted(names))
        raise NetcalcError(
            Diagnostic("E404", f"a run needs numbers for the sizes that are symbolic: {listed}", hint=hint)
        )


def run_inputs(program: Program, given: Mapping[str, Any] | None = None, seed: int = 0) -> list[Array]:
    """Return the program's input arrays in order: those given, and the others drawn at random.

    Integers are uniform on their declared range [low, high).  Floating-point numbers are uniform on their range, or
    standard normal without one; so are the parts of complex numbers, with a variance of ½.  Booleans are True with
    probability 1/2.  An input with a default is filled with it.  A drawn input depends only on the seed and its own
    name.

    Raises:
        NetcalcError: E602, with every given array that does not fit and every input that cannot be drawn.
    """
    given = given or {}
    names = [spec.name for spec in program.inputs]
    problems = [unknown_input(program, name) for name in given if name not in names]
    arrays: list[Array] = []
    for spec in program.inputs:
        try:
            arrays.append(accepted(spec, given[spec.name]) if spec.name in given else _draw(spec, seed))
        except NetcalcError as error:
            problems += error.diagnostics
    if problems:
        raise NetcalcError(problems)
    return arrays


def unknown_input(program: Program, name: str) -> Diagnostic:
    """Return the error (E602) for an input that the program lacks."""
    hint = did_you_mean(name, [spec.name for spec in program.inputs])
    return Diagnostic("E602", f"the spec has no input {name!r}", hint=hint)


def accepted(spec: InputSpec, value: Any) -> Array:
    """Return the given array in the declared type; types of the same kind are widened, never narrowed.

    Raises:
        NetcalcError: E602 if its shape, its type or its numbers do not fit.
    """
    try:
        array = np.asarray(value)
    except ValueError:
        raise misfit(spec, "is no array: its parts have different lengths") from None
    require_fit(spec, array.shape, array.dtype, has_width=hasattr(value, "dtype"))
    inside = array if spec.also is None else array[array != spec.also]
    if spec.type.dtype in INTEGERS and inside.size:
        minimum, maximum = int(inside.min()), int(inside.max())
        low, high = spec.low, spec.high
        if (low is not None and minimum < low) or (high is not None and maximum >= high):
            raise misfit(spec, f"holds {minimum} to {maximum}, and its range is [{_end(low)}, {_end(high)})")
        if not (holds(spec.type.dtype, minimum) and holds(spec.type.dtype, maximum)):  # a list of Python integers
            raise misfit(spec, f"holds {minimum} to {maximum}, which {spec.type.dtype} does not")
    return array.astype(numpy_dtype(spec.type.dtype), copy=False)


def require_fit(spec: InputSpec, shape: tuple[int, ...], dtype: np.dtype[Any], *, has_width: bool = True) -> None:
    """Raise NetcalcError (E602) if an array of this shape and type is not the input, nor can be widened to it.

    Python lists and numbers have a kind, but no width.
    """
    declared = numpy_dtype(spec.type.dtype)
    actual, kind = _kind_of_dtype(dtype), _kind_of_dtype(declared)
    fits = actual == kind and np.can_cast(dtype, declared) if has_width else actual <= kind
    if dtype != declared and not fits:
        hint = f"convert it with .astype({spec.type.dtype!r})" if actual <= _COMPLEX else None
        raise misfit(spec, f"holds {dtype.name}, and the spec has {spec.type.dtype}", hint)
    if shape != sizes_of(spec.type):
        text = "×".join(map(str, shape)) or "scalar"
        raise misfit(spec, f"is {text}, and the spec has {spec.type}", "--set changes the sizes of the spec")


def _draw(spec: InputSpec, seed: int) -> Array:
    shape, dtype = sizes_of(spec.type), numpy_dtype(spec.type.dtype)
    if spec.default is not None:
        return np.full(shape, spec.default, dtype)
    rng = generator(seed, f"/{spec.name}")
    if spec.type.dtype == "bool":
        return rng.random(shape) < 0.5
    if spec.type.is_complex:
        part = spec._replace(type=TensorType((*shape, 2), real_of(spec.type.dtype)))
        parts = _draw(part, seed)
        # as by torch.randn: each part has half of the variance
        return (parts if spec.low is not None else parts * parts.dtype.type(math.sqrt(0.5))).view(dtype)[..., 0]
    if spec.type.dtype in FLOATS:
        working = np.float64 if spec.type.dtype == "float64" else np.float32
        if spec.low is None and spec.high is None:
            drawn: Array = rng.standard_normal(shape, dtype=working)
        else:
            low = 0.0 if spec.low is None else spec.low
            high = low + 1.0 if spec.high is None else spec.high
            drawn = rng.random(shape, dtype=working) * working(high - low) + working(low)
        return drawn.astype(dtype, copy=False)
    if spec.high is None:
        declared = f"{{shape: {written(sizes_of(spec.type))}, dtype: {spec.type.dtype}, range: [0, 10]}}"
        hint = f"declare one, as in `{spec.name}: {declared}`, or give values with --input {spec.name}=FILE"
        raise misfit(spec, "holds integers, and has no range to draw them from", hint)
    return rng.integers(int(spec.low or 0), int(spec.high), shape, dtype=np.int64).astype(dtype)


def sizes_of(type_: TensorType) -> tuple[int, ...]:
    """Return the sizes of a type without symbols."""
    return tuple(integer(size) for size in type_.shape)


def _kind_of_dtype(dtype: np.dtype[Any]) -> int:
    """Return 0 for booleans, 1 for integers, 2 for floating-point types, 3 for complex ones, and 4 for all others.

    The kind of bfloat16 is 'V' in NumPy, like the kind of structures.
    """
    if dtype.name.startswith(("bfloat16", "float")):
        return _FLOAT
    return {"b": 0, "i": 1, "u": 1, "c": _COMPLEX}.get(dtype.kind, 4)


def _end(value: float | None) -> str:
    return "…" if value is None else f"{value:g}"


def misfit(spec: InputSpec, what: str, hint: str | None = None) -> NetcalcError:
    """Return the error (E602) of an array that is not the input; ``what`` says why."""
    return NetcalcError(Diagnostic("E602", f"the input {spec.name!r} {what}", hint=hint))
