"""A network planned and loaded once, to be run again and again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.engine.plan import PlanMemory
from netcalc.engine.preflight import prepare_plan
from netcalc.engine.profile import PASSES, Profile, profile
from netcalc.engine.runtime.session import Session
from netcalc.ir import Program
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.kernels import Array
from netcalc.numerics.parameters import Parameters, Weights
from netcalc.numerics.process_memory import Growth

__all__ = ["Compiled"]


class Compiled:
    """Called with inputs by name, as a mapping or as keywords, it gives the outputs by name.

    What is not given is drawn from the seed, or is the input's default, as in a run.  Arrays that are returned are the
    caller's own.  One call at a time: an object serves one thread.

    >>> import netcalc
    >>> session = netcalc.load("mlp").compile(threads=1)
    >>> session()["output"].shape
    (1, 10)

    Args:
        weights: a ``.safetensors`` or ``.npz`` file, or arrays by name; drawn by ``init`` when None.
        init: ``--init`` options, see :meth:`~netcalc.numerics.initializers.Initializers.of`.
        seed: of everything drawn.
        threads: as many as there are cores that this process may use, when None.
        processes: whether the threads are processes, copies of this one that share the memory of a pass and end with
            the object; they wait for each other for microseconds, where threads take tens.  On Linux by default.  As
            long as they live, what this process writes to its own memory is copied, page by page.

    Raises:
        NetcalcError: E404 symbolic sizes; E502 bad ``init`` or ``threads``, training mode or too many operations; E601
            weights that do not fit; E603 not enough memory; E604 no kernel; E605 unreadable files.
    """

    def __init__(
        self,
        program: Program,
        weights: Weights | None = None,
        *,
        init: str | Iterable[str] = "default",
        seed: int = 0,
        threads: int | None = None,
        processes: bool | None = None,
    ) -> None:
        self.program = program
        self.seed = seed
        self._growth = Growth.start()
        plan = prepare_plan(program, threads, processes)
        self._session = Session(plan, Parameters(program, weights, init=init, seed=seed))

    def __call__(self, inputs: Mapping[str, Any] | None = None, /, **named: Any) -> dict[str, Array]:
        """A forward pass.

        Raises:
            NetcalcError: E602 for inputs that do not fit, and for what only the numbers show.
        """
        outputs = self._session(run_inputs(self.program, {**(inputs or {}), **named}, self.seed))
        return dict(zip(self.program.output_names, outputs, strict=True))

    @property
    def threads(self) -> int:
        """How many threads work on a pass."""
        return self._session.plan.threads

    @property
    def memory(self) -> PlanMemory:
        """What it holds, in bytes."""
        return self._session.plan.memory

    def profile(self, inputs: Mapping[str, Any] | None = None, /, *, passes: int = PASSES, **named: Any) -> Profile:
        """Where the time of a pass goes: medians over so many, after one to warm up.

        Raises:
            NetcalcError: as a call does; E502 for no passes.
        """
        if passes < 1:
            raise NetcalcError(Diagnostic("E502", f"a profile takes at least 1 pass, and {passes} were asked for"))
        arrays = run_inputs(self.program, {**(inputs or {}), **named}, self.seed)
        self._session(arrays)
        return profile(self._session, arrays, self._growth, passes=passes)

    def __repr__(self) -> str:
        return f"<Compiled {self.program.name!r}: {len(self._session.plan.steps)} steps, {self.threads} threads>"
