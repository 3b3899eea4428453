"""Splits of a network over ranks, as its spec and its blocks declare them."""

from __future__ import annotations

from collections.abc import Mapping

from netcalc.analysis.parallel.patterns import Declared
from netcalc.analysis.parallel.pieces import Kind, RankProgram
from netcalc.analysis.parallel.rank import rank_program
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.ir import Body, CallNode, Program
from netcalc.spec.library import Loaded, find_block


def split_over(program: Program, source: Loaded, ranks: int, *, sequence: bool = False) -> RankProgram:
    """Return the program of one of so many ranks, as the spec of a program declares it under ``tensor_parallel``.

    Raises:
        NetcalcError: E502 for a spec that declares nothing, or parameters that cannot be split so.
    """
    own = source.document.tensor_parallel
    if not own and not _declares(program, source):
        hint = "a spec says under tensor_parallel how its parameters are split"
        raise NetcalcError(Diagnostic("E502", f"--tp {ranks}: {program.name} does not say how it is split", hint=hint))
    return rank_program(program, ranks, declarations(source), dict(own), sequence=sequence)


def declarations(source: Loaded) -> Declared:
    """Return what the blocks of a spec declare."""
    known: dict[tuple[str, int], tuple[Mapping[str, Kind], Loaded]] = {}

    def declared(name: str, home: Loaded | None) -> tuple[Mapping[str, Kind], Loaded]:
        home = home or source
        key = name, id(home)
        if key not in known:
            block = find_block(name, home, source)
            known[key] = ({}, home) if block is None else (block.decl.tensor_parallel, block.home)
        return known[key]

    return declared


def _declares(program: Program, source: Loaded) -> bool:
    """Return True if a block of a program declares how it is split."""
    declared = declarations(source)
    pending: list[tuple[Body, Loaded | None]] = [(program.main, None)]
    seen: set[int] = set()
    while pending:
        body, home = pending.pop()
        for node in body.nodes:
            if isinstance(node, CallNode) and id(node.body) not in seen:
                seen.add(id(node.body))
                patterns, inner = declared(node.body.block, home)
                if patterns:
                    return True
                pending.append((node.body, inner))
    return False
