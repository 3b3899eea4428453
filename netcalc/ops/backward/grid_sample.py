"""Backward pass of :mod:`netcalc.ops.grid_sample`."""

from __future__ import annotations

from collections.abc import Sequence

from netcalc.opdef import Kind, Term
from netcalc.ops.backward import Backward, BackwardCall, Saved, backward
from netcalc.ops.grid_sample import TAPS, GridSample

#: Work along each axis that brings the gradient of a position to the grid, besides the scale.
_SLOPES: dict[str, dict[Kind, int]] = {"zeros": {}, "border": {"compare": 2}, "reflection": {"compare": 4, "add": 1}}


@backward("grid_sample")
class GridSampleBackward(Backward):
    """The gradient spread over the neighbors of each point, and its products with derivatives of the weights.

    As PyTorch, the forward pass keeps image and grid whichever gradients are wanted.
    """

    rule = (
        "∂L/∂input[j] = Σ g[i]·w[i, j] over the points i",
        "∂L/∂grid[i] = Σ g[i]·input[j]·∂w[i, j]/∂grid[i] over neighbors j and channels; 0 with nearest",
    )

    def derivatives(self, op: GridSample) -> tuple[str, ...]:
        outside = ("∂L/∂grid = 0 along an axis where the position is on the outermost element or beyond it",)
        return self.rule + (outside if op.padding_mode == "border" else ())

    def saves(self, op: GridSample, call: BackwardCall) -> Sequence[Saved]:
        return call.saved_input("input"), call.saved_input("grid", 1)

    def cost(self, op: GridSample, call: BackwardCall) -> Sequence[Term]:
        x, y = call.input(), call.outputs[0]
        axes, points, neighbors = x.rank - 2, op.points(y), op.neighbors(x)
        elements = {**points, "channels": x.shape[1], "neighbors": neighbors}
        smooth = call.wants(1) and op.mode != "nearest"
        work = op.placing(y) if smooth or call.wants(0) else []
        if call.wants(0):
            if neighbors > 1:
                work.append(Term.of("mul", "weights", **points, neighbors=neighbors, axes_less_one=axes - 1))
                work.append(Term.of("mul", "gradient of input", **elements))
            work.append(Term.of("add", "gradient of input", **elements))
        if smooth:
            work += _gradient_of_grid(op, call)
        return work


def _gradient_of_grid(op: GridSample, call: BackwardCall) -> list[Term]:
    x, y = call.input(), call.outputs[0]
    axes, points, neighbors = x.rank - 2, op.points(y), op.neighbors(x)
    cubic = op.mode == "bicubic"
    by_axis = {**points, "axes": axes}
    work = [
        Term.of("mul", "gradient of weights", **points, channels=x.shape[1], neighbors=neighbors),
        Term.of("add", "gradient of weights", **points, channels_less_one=x.shape[1] - 1, neighbors=neighbors),
        Term.of("mul", "gradient of position", **by_axis, neighbors=neighbors, each=axes if cubic else axes - 1),
        Term.of("add", "gradient of position", **by_axis, neighbors=neighbors),
        Term.of("mul", "gradient of grid", **by_axis),
    ]
    if cubic:  # far′ twice: 2 muls and 2 adds, near′ twice: 2 muls and 1 add, and 3 adds for their arguments
        work.append(Term.of("mul", "derivatives of weights", **by_axis, each=2 * TAPS[op.mode]))
        work.append(Term.of("add", "derivatives of weights", **by_axis, each=9))
        return work
    for kind, times in _SLOPES[op.padding_mode].items():
        work.append(Term.of(kind, "gradient of padding", **by_axis, each=times))
    return work
