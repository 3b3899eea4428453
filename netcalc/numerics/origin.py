"""Origin of the numbers of a run: the inputs and parameters that were drawn, and those that were given."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple, Self

from netcalc.analysis.walk import parameters
from netcalc.ir import Program
from netcalc.weights.checkpoint_files import Weights, weights_names


class Origin(NamedTuple):
    """Origin of the numbers of a run, and the mode of its operations.

    Attributes:
        inputs: names of the inputs that were drawn.
        parameters: True if the parameters were drawn.
        weights: names of the files that the parameters were read from.
        training: True in training mode.
    """

    inputs: tuple[str, ...] = ()
    parameters: bool = False
    weights: tuple[str, ...] = ()
    training: bool = False

    @classmethod
    def of(cls, program: Program, inputs: Container[str], weights: Weights | None) -> Self:
        """Return the origin of the numbers of a run with these inputs and weights."""
        drawn = tuple(spec.name for spec in program.inputs if spec.name not in inputs and spec.default is None)
        names = () if weights is None else weights_names(weights)
        return cls(drawn, not names and next(parameters(program), None) is not None, names, program.training)
