"""Verification of receptive fields by execution: NaNs in a part of the input must reach the predicted positions.

NaN is set in the input from a cut on, and then up to the cut, along one axis at a time.  A position of a layer must
then be NaN if and only if its field, within the borders of every tensor on the way, reaches beyond the cut.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np

from netcalc.analysis.folding import Numbers, runs
from netcalc.analysis.receptive_field import followed_input
from netcalc.analysis.unroll import unroll
from netcalc.analysis.walk import Instance
from netcalc.arrays import Array
from netcalc.dims import integer
from netcalc.dtypes import FLOATS
from netcalc.ir import Program
from netcalc.numerics.interpret import apply_at
from netcalc.numerics.kernels import Run
from netcalc.numerics.parameters import Parameters
from netcalc.opdef import Merged, Reach, Window
from netcalc.tensor_type import TensorType
from netcalc.verification.report import InstanceCheck


class _Covered(NamedTuple):
    """First and last input position that each position of an axis depends on; None for no dependence."""

    axis: int
    bounds: Sequence[tuple[int, int] | None]


_State: TypeAlias = _Covered | Merged | Literal["none", "all", "unknown"]


def field_checks(
    program: Program, arrays: Sequence[Array | None], parameters: Parameters, rng: np.random.Generator
) -> Iterator[InstanceCheck]:
    """Yield the checks of every operation whose field is known, for two cuts along every spatial axis of the input.

    They compare the positions of an output that NaNs of a part of the input reach, as predicted and as executed.
    """
    followed = followed_input(program)
    shape = [integer(size) for size in program.inputs[followed].type.shape]
    for axis in range(2, len(shape)):
        for cut in sorted({shape[axis] // 5, shape[axis] // 2}):
            for after in (True, False):
                yield from _Propagation(program, parameters, rng, axis, cut, after=after).checks(arrays, followed)


class _Propagation:
    """A forward pass on an input that is NaN from a cut on (``after``), or up to and including it."""

    def __init__(
        self, program: Program, parameters: Parameters, rng: np.random.Generator, axis: int, cut: int, *, after: bool
    ) -> None:
        self._program = program
        self._parameters = parameters
        self._rng = rng
        self._axis = axis
        self._cut = cut
        self._after = after
        self._found: list[InstanceCheck] = []

    def checks(self, arrays: Sequence[Array | None], followed: int) -> Sequence[InstanceCheck]:
        states: list[tuple[Any, _State] | None] = [None if x is None else (x, "none") for x in arrays]
        start = arrays[followed]
        assert start is not None
        x = start.copy()
        part = slice(self._cut, None) if self._after else slice(None, self._cut + 1)
        x[(slice(None),) * self._axis + (part,)] = np.nan
        states[followed] = (x, _Covered(self._axis, [(i, i) for i in range(x.shape[self._axis])]))
        with np.errstate(all="ignore"):
            unroll(self._program, states, self._evaluate)
        return self._found

    def _evaluate(self, instance: Instance, inputs: Sequence[tuple[Any, _State] | None]) -> list[tuple[Any, _State]]:
        node = instance.node
        params = {param.name: self._parameters.fetch(instance, param) for param in node.params}
        run = Run(training=self._program.training, rng=self._rng)
        arrays = apply_at(instance, run, tuple(None if pair is None else pair[0] for pair in inputs), params)
        present = [pair for pair in inputs if pair is not None]
        results: list[tuple[Any, _State]] = []
        for array, output in zip(arrays, node.output_types, strict=True):
            state = self._state(instance, present, output)
            self._check(instance, np.asarray(array), state)
            results.append((array, state))
        return results

    def _state(self, instance: Instance, inputs: Sequence[tuple[Any, _State]], output: TensorType) -> _State:
        states = [state for _, state in inputs]
        if all(state == "none" for state in states):
            return "none"
        types = [type_ for type_ in instance.node.input_types if type_ is not None]
        training = self._program.training
        reach = instance.node.op.reach(types, output, training) if output.dtype in FLOATS else None
        if reach is None:
            return "unknown"
        sizes = [integer(size) for size in output.shape]
        result: _State = "none"
        for state, through in zip(states, reach, strict=True):
            result = _joined_states(result, _state_after(state, through, sizes))
        return result

    def _check(self, instance: Instance, array: Array, state: _State) -> None:
        if isinstance(state, _Covered):
            others = tuple(axis for axis in range(array.ndim) if axis != state.axis)
            executed = [bool(value) for value in np.atleast_1d(np.isnan(array).any(axis=others))]
            predicted = [bounds is not None and self._reaches(*bounds) for bounds in state.bounds]
        elif state == "all":
            executed, predicted = [bool(np.isnan(array).any())], [True]
        else:
            return
        what = f"field along axis {self._axis}"
        self._found.append(InstanceCheck(instance, what, _ranges(predicted), _ranges(executed)))

    def _reaches(self, low: int, high: int) -> bool:
        return high >= self._cut if self._after else low <= self._cut


def _state_after(state: _State, reach: Reach, sizes: Sequence[int]) -> _State:
    """Return the dependencies of an output of these sizes that reads a value in this way."""
    if not isinstance(state, (_Covered, Merged)):
        return state
    through = reach[state.axis]
    if isinstance(through, str):
        return through
    if isinstance(state, Merged) or isinstance(through, Merged):
        is_unchanged = isinstance(through, Merged) or through == Window(through.axis)
        return Merged(through.axis) if is_unchanged else "unknown"
    bounds = [_hull(state.bounds, through, position) for position in range(sizes[through.axis])]
    return _Covered(through.axis, bounds)


def _hull(bounds: Sequence[tuple[int, int] | None], window: Window, position: int) -> tuple[int, int] | None:
    first = -(-(position * window.step + window.first) // window.divisor)
    last = (position * window.step + window.last) // window.divisor
    places = (place for place in range(first, last + 1, window.spacing) if 0 <= place < len(bounds))
    read = [bound for place in places if (bound := bounds[place]) is not None]
    return (min(low for low, _ in read), max(high for _, high in read)) if read else None


def _joined_states(state: _State, other: _State) -> _State:
    if state == "none" or other == "all" or (isinstance(state, Merged) and state == other):
        return other
    if other == "none" or state == "all":
        return state
    if not isinstance(state, _Covered) or not isinstance(other, _Covered) or state.axis != other.axis:
        return "unknown"
    return _Covered(state.axis, [_union_of_bounds(a, b) for a, b in zip(state.bounds, other.bounds, strict=True)])


def _union_of_bounds(bound: tuple[int, int] | None, other: tuple[int, int] | None) -> tuple[int, int] | None:
    if bound is None or other is None:
        return bound or other
    return min(bound[0], other[0]), max(bound[1], other[1])


def _ranges(reached: Sequence[Any]) -> str:
    """Return the positions that are reached: ``0–3, 7 of 9``."""
    found = runs(place for place, value in enumerate(reached) if value)
    return f"{', '.join(str(Numbers(*run)) for run in found) or 'none'} of {len(reached)}"
