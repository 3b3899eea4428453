"""Initial values of parameters, held against the laws that PyTorch's formulas state for them.

Which initializer a parameter has is read anew from options and spec.  Its declared mean and deviation must be those of
its law, and so must numbers that are drawn: none beyond the limits, mean, deviation and distribution within what chance
explains, rows or columns of orthogonal matrices orthonormal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from netcalc.analysis.walk import Instance
from netcalc.arrays import Array, numpy_dtype
from netcalc.dims import integer
from netcalc.dtypes import COMPLEX
from netcalc.ir import OpNode, Program, dtype_of, join
from netcalc.numerics.initializers import Initializers
from netcalc.opdef import Param
from netcalc.verification.compared import Compared
from netcalc.verification.figure_references.initializers import Law, default_law, law_of_text, matches, padding_row
from netcalc.verification.references import Attributes
from netcalc.verification.report import InstanceCheck
from netcalc.verification.values import finfo

#: Elements that are compared with a law, tensors drawn for them, and the difference that chance explains, by 1/√n.
_ELEMENTS, _DRAWS, _CHANCE = 16_384, 300, 2.6
#: Standard deviations of a mean, and of a deviation, that chance explains.
_SIGMAS = 6.0
#: Rounding of steps of a formula in double precision, by its largest value.
_ROUNDING = 1e-14
#: Largest difference of declared moments from those of the law, in standard deviations.
_DECLARED = 2e-5

#: A pattern of paths or of names of parameters, the initializer as written, and a pattern of operations.
_Entry = tuple[str | None, str, str]


class InitialValues(Compared):
    """Comparison of every distinct parameter that is drawn."""

    def __init__(self, program: Program, seed: int, init: str | Iterable[str] = "default") -> None:
        super().__init__()
        self._program = program
        self._seed = seed
        self._initializers = Initializers.of(program, init)
        options = (init,) if isinstance(init, str) else tuple(init)
        self._entries = [_entry(option) for option in reversed(options)]
        self._entries = [entry for entry in self._entries if entry[0] is not None or entry[1] != "default"]
        self._entries += [(rule[0], rule[1].strip(), rule[3]) for rule in program.init]
        self._done: set[tuple[Any, ...]] = set()

    def checks(
        self, instance: Instance, inputs: Sequence[Array | None], params: Mapping[str, Array]
    ) -> Iterator[InstanceCheck]:
        """Yield the checks of the parameters of an operation, each distinct one once."""
        node = instance.node
        if node.computed is not None:
            return
        for param in node.params:
            path = join(instance.path, param.name)
            if instance.owners[param.name] != path or path in self._program.constants or param.init.kind == "table":
                continue  # the line that owns it states it; tables are compared with their definition
            entry = None if param.is_buffer else self._stated(path, node, param)
            key = node.op, param, entry and entry[1], path if self._varies(param, entry) else ""
            if key in self._done:
                continue
            self._done.add(key)
            dtype = dtype_of(param, node, self._program.dtype)
            if dtype in COMPLEX:
                self.leave_out(f"initial values of {node.op.name}", "complex numbers")
                continue
            law = self._law(instance, param, entry, inputs, params)
            if law is None:
                self.leave_out(f"initial values of {node.op.name}", f"no law of {param.name or 'its tensor'}")
                continue
            stated = _described(*law.moments)
            fetched = None if param.storage is not None else np.asarray(params[param.name])
            found = self._differing(path, node, param, dtype, law, fetched, entry)
            yield InstanceCheck(
                instance, f"initial {param.name or 'value'}", stated, stated if found is None else found
            )

    # -- internals ----------------------------------------------------------------------------------

    def _stated(self, path: str, node: OpNode, param: Param) -> _Entry | None:
        """Return the entry of options or spec that initializes a parameter; None for the operation's default."""
        for entry in self._entries:
            pattern, _, operation = entry
            if pattern is None:
                covers = len(param.shape) > 1
            elif operation:
                covers = matches(operation, node.op.name) and matches(pattern, param.name)
            else:
                covers = matches(pattern, path)
            if covers:
                return None if entry[1] == "default" else entry
        return None

    def _law(
        self,
        instance: Instance,
        param: Param,
        entry: _Entry | None,
        inputs: Sequence[Array | None],
        params: Mapping[str, Array],
    ) -> Law | None:
        shapes = {name: array.shape for name, array in params.items()}
        if entry is not None:
            return law_of_text(entry[1], shapes[param.name], join(instance.path, param.name))
        op = Attributes(instance.node.op, training=self._program.training, dtype=self._program.dtype)
        given = [None if x is None else x.shape for x in inputs]
        return default_law(op, param.name, shapes, given, join(instance.path, param.name))

    @staticmethod
    def _varies(param: Param, entry: _Entry | None) -> bool:
        """Return True if the initial value depends on the path."""
        if entry is not None:
            return "indices" in entry[1]
        return any("indices" in value for _, value in param.init.args if isinstance(value, str))

    def _differing(
        self, path: str, node: OpNode, param: Param, dtype: str, law: Law, fetched: Array | None, entry: _Entry | None
    ) -> str | None:
        """Return the moments, declared or drawn, that are not those of the law, or what else differs; None if none."""
        mean, std = law.moments
        if not param.is_buffer:
            declared = self._initializers.spread(path, param)
            if declared is None:
                return "no declared moments"
            own_mean, own_std = declared.mean, math.sqrt(declared.variance)
            if max(abs(own_mean - mean), abs(own_std - std)) > _DECLARED * std + 1e-9 * abs(mean):
                return f"declared {_described(own_mean, own_std)}"
        row = padding_row(Attributes(node.op, training=False, dtype=dtype), entry and entry[1])
        drawn = []
        for draw in range(_DRAWS):
            if draw == 0 and fetched is not None:
                out = fetched
            else:
                out = np.empty(tuple(map(integer, param.shape)), numpy_dtype(dtype))
                self._initializers.write(node.op, path, param, dtype, self._seed + draw, out)
            fixed = None if law.values is None else np.resize(law.values, out.shape)
            if row is not None:
                if out[row].any():
                    return f"row {row} is not zero"
                out = np.delete(out, row, 0)
                fixed = None if fixed is None else np.delete(fixed, row, 0)
            if fixed is not None:
                return _differing_values(np.asarray(out, np.float64), fixed, _eps(out))
            if law.gain is not None and not _is_orthogonal(out, law.gain):
                return "neither rows nor columns are orthonormal"
            drawn.append(np.asarray(out, np.float64).ravel()[:: max(1, out.size // _ELEMENTS)])
            if sum(part.size for part in drawn) >= _ELEMENTS:
                break
        return _differing_sample(np.concatenate(drawn), law, _eps(out))


def _entry(option: str) -> _Entry:
    """Return an option, ``PATTERN=INIT`` or ``INIT``, as an entry."""
    found = re.fullmatch(r"(?:([^(]*)=)?([^(=]*(?:\(.*\))?)\s*", option, re.DOTALL)
    assert found is not None
    return (None if found[1] is None else found[1].strip()), found[2].strip(), ""


def _eps(array: Array) -> float:
    """Return the distance from 1 to the next number of the type; 0 of whole numbers."""
    return float(finfo(array.dtype).eps) if array.dtype.kind not in "iub" else 0.0


def _differing_values(values: Array, fixed: Array, eps: float) -> str | None:
    """Return in which way values are not the fixed ones; None if rounding explains the difference."""
    # that of the cosine of a right angle is near zero, as of any step of a formula
    near = _ROUNDING * np.abs(fixed).max(initial=0.0) if np.isfinite(fixed).all() else 0.0
    close = np.isclose(values, fixed, rtol=4 * eps, atol=near).ravel()
    if close.all():
        return None
    place = int(np.argmin(close))
    others = f"{values.ravel()[place]:.6g}, not {fixed.ravel()[place]:.6g}, at position {place:,}"
    return f"{_described(values.mean(), values.std())}: {others}"


def _differing_sample(sample: Array, law: Law, eps: float) -> str | None:
    """Return in which way a sample is not of a law; None if chance and rounding explain the difference."""
    mean, std = law.moments
    if not np.isfinite(sample).all():
        return "numbers that are not finite"
    beyond = 4 * eps * max(abs(law.low), abs(law.high)) if math.isfinite(law.low) else 0.0
    outside = sample[(sample < law.low - beyond) | (sample > law.high + beyond)]
    if outside.size:
        return f"{outside[0]:.6g}, beyond {law.low:.6g} or {law.high:.6g}"
    count = sample.size
    own_mean, own_std = float(sample.mean()), float(sample.std())
    tails = float(np.mean((sample - own_mean) ** 4)) / own_std**4 if own_std else 1.0
    of_std = math.sqrt(max(tails - 1, 0.1) / (4 * count)) + 1 / count
    off = abs(own_mean - mean) > (_SIGMAS / math.sqrt(count) + 2 * eps) * std + eps * abs(mean)
    if law.gain is not None:
        return _described(own_mean, own_std) if abs(own_mean - mean) > _SIGMAS * std else None
    if off or abs(own_std / std - 1) > _SIGMAS * of_std + 2 * eps:
        return _described(own_mean, own_std)
    assert law.below is not None
    ordered = np.sort(sample)
    steps = np.arange(count + 1) / count
    below = law.below(ordered)
    distance = max(float(np.max(steps[1:] - below)), float(np.max(below - steps[:-1])))
    if distance > _CHANCE / math.sqrt(count) + 2 * eps:
        return f"another distribution, off by {distance:.3g}"
    return None


def _is_orthogonal(array: Array, gain: float) -> bool:
    matrix = np.asarray(array, np.float64).reshape(array.shape[0], -1)
    square = matrix @ matrix.T if matrix.shape[0] <= matrix.shape[1] else matrix.T @ matrix
    rounding = 64 * float(finfo(array.dtype).eps) * math.sqrt(max(matrix.shape))
    return bool(np.allclose(square, gain * gain * np.eye(len(square)), atol=rounding * gain * gain))


def _described(mean: float, std: float) -> str:
    return f"mean {mean:.5g}, deviation {std:.5g}"
