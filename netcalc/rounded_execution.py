"""Execution of a network with rounded parameters: the part of the Python API that compares it with full precision."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from netcalc.api_arguments import checked
from netcalc.formats import opened_weights
from netcalc.ir import Program

if TYPE_CHECKING:
    from netcalc.engine.rounding import RoundingResult
    from netcalc.engine.run import PlanName
    from netcalc.weights.checkpoint_files import Weights

__all__ = ["RoundedExecution"]


class RoundedExecution:
    """A program whose parameters may be rounded; the base of :class:`~netcalc.executable.Executable`."""

    def __init__(self, program: Program) -> None:
        self.program = program

    @checked
    def rounding_errors(
        self,
        inputs: Mapping[str, Any] | None = None,
        *,
        weights: Weights | None = None,
        init: str | Iterable[str] = "default",
        seed: int = 0,
        plan: PlanName = "fast",
        threads: int | None = None,
        processes: bool = False,
        cast: bool = False,
        max_work: float | None = None,
        progress: Callable[[int, int, str], None] | None = None,
    ) -> RoundingResult:
        """Run a network of rounded or pruned parameters, and in full precision, and compare outputs and layers.

        Arguments as for :meth:`run`, which gives the outputs alone.

        Raises:
            NetcalcError: as :meth:`run` does; E502 also if no parameter is rounded or pruned.

        >>> import netcalc
        >>> found = netcalc.load("mlp").quantized("hidden.*=int8").rounding_errors()
        >>> 0.001 < found.errors[0].deviation.relative < 0.02
        True
        """
        from netcalc.engine.rounding import rounding_errors

        return rounding_errors(
            self.program,
            inputs,
            weights=opened_weights(weights),
            init=init,
            seed=seed,
            plan=plan,
            threads=threads,
            processes=processes,
            cast=cast,
            max_work=max_work,
            progress=progress,
        )
