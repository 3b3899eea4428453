"""Layers of a network and what lies before, between and behind them: the units that pipeline stages are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from netcalc.ir import Body, CallNode, InputSpec, Node, Program, Value


class Unit(NamedTuple):
    """Nodes in a row: ``times`` equal layers, or if it is 0 what lies outside of the layers."""

    nodes: tuple[Node, ...]
    times: int

    @property
    def call(self) -> CallNode:
        """The call of a layer."""
        (node,) = self.nodes
        assert isinstance(node, CallNode)
        return node


def units_of(program: Program) -> list[Unit]:
    """Return the units of a program in order; the layers are the iterations of numbered repeats of its main body."""
    units: list[Unit] = []
    outside: list[Node] = []
    for node in program.main.nodes:
        if isinstance(node, CallNode) and node.start is not None:
            if outside:
                units.append(Unit(tuple(outside), 0))
                outside = []
            units.append(Unit((node,), node.times))
        else:
            outside.append(node)
    if outside:
        units.append(Unit(tuple(outside), 0))
    return units


def program_of(program: Program, unit: Unit, times: int | None = None) -> Program:
    """Return a program of the nodes of a unit alone, with the values that come from and go to other units.

    ``times`` is the number of layers in it; one by default.
    """
    nodes: Sequence[Node] = unit.nodes
    if unit.times:
        nodes = (replace(unit.call, times=1 if times is None else times),)
    made = {value for node in nodes for value in node.outputs}
    wanted = list(dict.fromkeys(value for node in nodes for value in node.inputs if value is not None))
    inputs = [value for value in wanted if value not in made]
    used = set(_used_outside(program, nodes))
    outputs = [value for node in nodes for value in node.outputs if value in used]
    names = {value: spec for value, spec in zip(program.main.inputs, program.inputs, strict=True) if value is not None}
    out_names = dict(zip(program.main.outputs, program.output_names, strict=True))
    specs = tuple(names.get(value) or InputSpec(f"{value.name}", value.known_type) for value in inputs)
    body = Body("", tuple(inputs), tuple(nodes), tuple(outputs))
    return replace(
        program,
        main=body,
        inputs=specs,
        output_names=tuple(out_names.get(value, value.name) for value in outputs),
        constants={},
    )


def _used_outside(program: Program, nodes: Sequence[Node]) -> Iterator[Value]:
    inside = set(map(id, nodes))
    names = {node.name for node in nodes}
    for node in program.main.nodes:
        if id(node) not in inside and not (
            isinstance(node, CallNode) and len(nodes) == 1 and node.name in names and node.start is None
        ):
            yield from (value for value in node.inputs if value is not None)
    yield from program.main.outputs
