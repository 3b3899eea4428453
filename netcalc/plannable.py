"""Plans of a network before it is run: the part of the Python API that says how much memory it takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from netcalc.api_arguments import checked
from netcalc.ir import Program

if TYPE_CHECKING:
    from netcalc.analysis.memory_report import MemoryReport
    from netcalc.engine.held import EngineName

__all__ = ["Plannable"]


class Plannable:
    """A program whose memory can be planned; a base of :class:`~netcalc.network.Network`."""

    program: Program

    @checked
    def memory(
        self,
        *,
        cache: str | Iterable[str] = (),
        cache_dtype: str | None = None,
        tokens_in: str | int | None = None,
        engine: EngineName | None = None,
    ) -> MemoryReport:
        """Return weights, caches and states after the step, and the peak of the activations, in bytes.

        Args:
            cache: conventions of the memory of caches: ``"ideal"``, ``"vllm"``, ``"llama.cpp"``; all by default.
            cache_dtype: element type of the caches, such as ``"fp8"`` or ``"q8_0"``; None for their own.
            tokens_in: a budget, ``"16GiB"`` or bytes, for the number of tokens that fit with the weights.
            engine: ``"fast"`` or ``"reference"`` for what :meth:`run` holds.

        Raises:
            NetcalcError: E502 for a bad argument; E404 for ``tokens_in`` or ``engine`` with symbolic sizes.

        >>> import netcalc
        >>> report = netcalc.load("gpt2", dtype="float16").memory(tokens_in="1GiB")
        >>> report.token_bytes, report.tokens_in.tokens["ideal"]
        (36864, 22375)
        """
        from netcalc.analysis.memory_report import memory_report
        from netcalc.ir.decoding import program_at_step
        from netcalc.printed import PrintedMemory

        declared, dims = self.program.caches, self.program.dims
        past, new = dims.get(str(declared.past)), dims.get(str(declared.new))
        step = program_at_step(self.program, past, new) if isinstance(past, int) and isinstance(new, int) else None
        held = None
        if engine is not None:
            from netcalc.engine.held import engine_memory

            held = engine_memory(step or self.program, engine)
        names = (cache,) if isinstance(cache, str) else cache
        return memory_report(
            self.program,
            step,
            cache=names,
            cache_dtype=cache_dtype,
            tokens_in=tokens_in,
            engine=held,
            result=PrintedMemory,
        )
