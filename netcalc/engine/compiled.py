"""Networks planned and loaded once, for repeated forward passes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from netcalc.arguments import checked_argument
from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.engine.feasibility import require_work
from netcalc.engine.plan import PlanMemory
from netcalc.engine.preflight import build_plan, require_runnable
from netcalc.engine.profile import PASSES, Profile, profile
from netcalc.engine.runtime.session import Session
from netcalc.ir import Program
from netcalc.limits import MAX_PASSES
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.parameters import Parameters, Weights
from netcalc.process_memory import MemoryBaseline
from netcalc.run_options import DrawOptions


class Compiled:
    """A planned program with its weights, called for a forward pass.

    A call takes inputs by name, as a mapping or as keywords, and returns outputs by name.  An input that is not given
    is drawn from the seed, or is its declared default, as in a run.  The returned arrays belong to the caller.

    Several threads may call an object: calls and profiles take turns.  Objects are independent of each other; passes of
    several objects run at the same time, with the smallest of their numbers of BLAS threads.

    >>> import netcalc
    >>> session = netcalc.load("mlp").compile(threads=1)
    >>> session()["output"].shape
    (1, 10)

    Args:
        weights: files, a folder or arrays by name; drawn when None.
        seed: the seed of all drawn numbers.
        threads: the number of workers; the number of cores that this process may use when None.
        processes: True to share the work among forked processes instead of threads.  Processes synchronize within
            microseconds, threads within tens of them, so that processes also speed up short steps.  They are copies of
            this process, made by the first call, share the memory of a pass, and end with the object; while they live,
            memory pages that this process writes are copied.  Only Linux has them; other systems use threads.
        max_work: the most work of a pass, see :func:`~netcalc.engine.feasibility.require_work`; the limits when None.
        parameters: as for :class:`~netcalc.numerics.parameters.Parameters`.

    Raises:
        NetcalcError: E404 symbolic sizes; E502 bad ``init`` or ``threads``, training mode or too many operations; E601
            weights that do not fit; E603 not enough memory, or too much work; E604 an operation without kernel; E605
            unreadable files.
    """

    def __init__(
        self,
        program: Program,
        weights: Weights | None = None,
        *,
        seed: int = 0,
        threads: int | None = None,
        processes: bool = False,
        max_work: float | None = None,
        **parameters: Unpack[DrawOptions],
    ) -> None:
        self.program = program
        self.seed = seed
        self._baseline = MemoryBaseline.now()
        require_runnable(program)
        require_work(program, max_work)
        plan = build_plan(program, threads, processes)
        self._session = Session(plan, Parameters(program, weights, seed=seed, **parameters))

    def __call__(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, Array]:
        """Run a forward pass.

        Raises:
            NetcalcError: E602 for inputs that do not fit, or for values out of range, such as an index.
        """
        outputs = self._session(self._arrays(inputs, named))
        return dict(zip(self.program.output_names, outputs, strict=True))

    def _arrays(self, inputs: Mapping[str, Any] | None, named: Mapping[str, Any]) -> list[Array]:
        arrays = {**(checked_argument("inputs", inputs) or {}), **named}
        return run_inputs(self.program, arrays, self.seed)

    @property
    def threads(self) -> int:
        """Number of workers, threads or processes, that share a pass."""
        return self._session.plan.threads

    @property
    def memory(self) -> PlanMemory:
        """Bytes that it holds during a pass."""
        return self._session.plan.memory

    def profile(self, inputs: Mapping[str, Any] | None = None, /, *, passes: int = PASSES, **named: Any) -> Profile:
        """Return the time of each layer, the median over ``passes`` passes after one to warm up.

        Raises:
            NetcalcError: as a call does; E502 for no pass, or more than :data:`~netcalc.limits.MAX_PASSES`.
        """
        passes = checked_argument("passes", passes)
        if passes > MAX_PASSES:
            raise NetcalcError(Diagnostic("E502", f"a profile has at most {MAX_PASSES:,} passes, not {passes:,}"))
        arrays = self._arrays(inputs, named)
        with self._session.turn:
            self._session(arrays)
            return profile(self._session, arrays, self._baseline, passes=passes)

    def __repr__(self) -> str:
        return f"<Compiled {self.program.name!r}: {len(self._session.plan.steps)} steps, {self.threads} threads>"
