"""Padding."""

from __future__ import annotations

from functools import partial
from typing import Any

from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.lines.operands import single
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator("aten.pad.default", "aten.constant_pad_nd.default")
def padded(build: Builder, input: Value, pad: list[Any], mode: str = "constant", value: float | None = None) -> Value:
    """Pad the last axes; torch lists the last axis first."""
    pairs = {-1 - place: (pad[2 * place], pad[2 * place + 1]) for place in range(len(pad) // 2)}
    changed = {axis: sides for axis, sides in sorted(pairs.items()) if sides != (0, 0)}
    if not changed:
        return input
    last = list(changed) == list(range(-len(changed), 0))
    attributes = {
        "padding": [before if before == after else [before, after] for before, after in changed.values()],
        "axis": None if last else single(list(changed)),
        "mode": None if mode == "constant" else mode,
        "value": value or None,
    }
    return build.line("pad", [input], attributes)


@operator("aten.pad_sequence.default")
def pad_sequence(
    build: Builder, sequences: list[Value], batch_first: bool, padding_value: float, padding_side: str
) -> Value:
    """Sequences of several lengths as a batch, in which the shorter ones are padded."""
    longest = max(sequence.type.shape[0] for sequence in sequences)
    alike = []
    for sequence in sequences:
        sides = [0, longest - sequence.type.shape[0]][:: -1 if padding_side == "left" else 1]
        alike.append(padded(build, sequence, [0, 0] * (sequence.type.rank - 1) + sides, value=padding_value))
    return build.line("stack", alike, {"axis": 0 if batch_first else 1})


def _pad_by(mode: str, build: Builder, input: Value, padding: list[Any]) -> Value:
    return padded(build, input, padding, mode)


for _axes in (1, 2, 3):
    operator(f"aten.reflection_pad{_axes}d.default")(partial(_pad_by, "reflect"))
    operator(f"aten.replication_pad{_axes}d.default")(partial(_pad_by, "replicate"))
operator("aten._pad_circular.default")(partial(padded, mode="circular"))
