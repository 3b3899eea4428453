"""References of :mod:`netcalc.ops.pad`, after torch.nn.functional.pad: padded axes as lists of source positions."""

from __future__ import annotations

from typing import Any

import numpy as np

from netcalc.verification.references import Array, Attributes, Expected, Shape, reference


@reference("pad")
def pad(op: Attributes, x: Array) -> Expected:
    axes = range(x.ndim - len(op.padding), x.ndim) if op.axis is None else [axis % x.ndim for axis in op.axis]
    pads = dict(zip(axes, op.padding, strict=True))
    sources = [_sources(op.mode, size, *pads.get(axis, (0, 0))) for axis, size in enumerate(x.shape)]
    filling = np.array(op.value).astype(x.dtype)[()]

    def at(index: Shape) -> Any:
        place = tuple(along[i] for along, i in zip(sources, index, strict=True))
        return filling if None in place else x[place]

    return Expected(tuple(map(len, sources)), x.dtype.name, at)


def _sources(mode: str, size: int, before: int, after: int) -> list[int | None]:
    """Return the position that each element of a padded axis is taken from; None for the value of the padding."""
    if mode == "circular":  # what is cropped does not come back at the other end
        inside = list(range(max(-before, 0), size - max(-after, 0)))
        return [*inside[len(inside) - max(before, 0) :], *inside, *inside[: max(after, 0)]]
    places = range(-before, size + after)
    match mode:
        case "reflect":
            return [size - 1 - abs(size - 1 - abs(place)) for place in places]
        case "replicate":
            return [min(max(place, 0), size - 1) for place in places]
        case _:
            return [place if 0 <= place < size else None for place in places]
