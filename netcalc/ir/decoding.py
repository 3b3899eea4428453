"""Steps of decoding, which are programs of the same spec at other sizes."""

from __future__ import annotations

from netcalc.ir.program import Program

__all__ = ["program_at_step"]


def program_at_step(program: Program, past: int, new: int) -> Program | None:
    """Return the program of a step with caches as outputs, and as inputs if there is a past.

    Args:
        program: the program of any step.
        past: number of positions that earlier steps have seen.
        new: number of positions of this step.

    Returns:
        The program, None if the spec declares no dims of these positions.

    Raises:
        NetcalcError: if the spec refuses these sizes.
    """
    caches = program.caches
    if caches.past is None or caches.new is None or program.with_caches is None:
        return None
    return program.with_caches({caches.past: past, caches.new: new})
