"""Figures of a checkpoint's tensors, and of those that a program does not use."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from netcalc.weights.checkpoint_files import Index, Joined
from netcalc.weights.gguf.tensors import GgufStored, GgufWeights
from netcalc.weights.packing.unpacked import StandingTensors
from netcalc.weights.report import Extra, Inventory, Mismatch, StoredTypes, pattern_of
from netcalc.weights.stored import Header
from netcalc.weights.tensor_files import Tensors

#: Keys of the metadata of an index that are compared.
_PARAMETERS, _SIZE = "total_parameters", "total_size"


def inventory(tensors: Tensors, used: Collection[str], ignored: Collection[str]) -> Inventory:
    """Return the figures of a checkpoint.

    Args:
        tensors: the tensors that the checkpoint stands for.
        used: names of those that the program looks up.
        ignored: names of others that are declared to be of no use.
    """
    stored = tensors.stored if isinstance(tensors, (StandingTensors, GgufWeights)) else tensors
    roles = tensors.roles if isinstance(tensors, StandingTensors) else {}
    kinds = Counter(header[:3] for header in stored.headers.values())
    totals: dict[str, list[int]] = {}
    for (shape, dtype, size), count in kinds.items():
        header = Header(shape, dtype, size)
        sums = totals.setdefault(dtype, [0, 0, 0])
        for position, amount in enumerate((1, header.elements, header.bytes or 0)):
            sums[position] += count * amount
    types = sorted((StoredTypes(dtype, *sums) for dtype, sums in totals.items()), key=lambda kind: -kind.bytes)
    packed = tensors.packed if isinstance(tensors, StandingTensors) else ()
    elements = sum(kind.elements for kind in types)
    params = elements + sum(kind.params - kind.elements for kind in packed)
    extra: dict[str, list[tuple[int, int]]] = {}
    for name, header in stored.headers.items():
        role = roles.get(name)
        logical = (role and role.logical) or name
        if logical not in used and name not in used:
            counted = header.elements if role is None else role.params or 0
            extra.setdefault(logical, []).append((counted, header.bytes or 0))
    return Inventory(
        len(stored.files) if isinstance(stored, Joined) else stored.files if isinstance(stored, GgufStored) else 1,
        params,
        elements,
        sum(kind.bytes for kind in types),
        tuple(types),
        packed,
        tuple(_extras(extra, used, ignored)),
    )


def _extras(
    extra: Mapping[str, list[tuple[int, int]]], used: Collection[str], ignored: Collection[str]
) -> Iterable[Extra]:
    """Return tensors by the shortest prefix that no used one has, those with the most bytes first."""
    if not extra:
        return []
    prefixes = {name[:position] for name in used for position, letter in enumerate(name) if letter == "."}
    extras: dict[tuple[str, bool], tuple[set[str], list[int]]] = {}
    for name, figures in extra.items():
        parts = name.split(".")
        depth = next((n for n in range(1, len(parts)) if ".".join(parts[:n]) not in prefixes), len(parts))
        prefix = ".".join(parts[:depth])
        groups, sums = extras.setdefault((pattern_of(prefix), name in ignored), (set(), [0, 0, 0]))
        groups.add(prefix)
        for params, size in figures:
            for position, amount in enumerate((1, params, size)):
                sums[position] += amount
    rows = (Extra(prefix, len(groups), is_ignored, *sums) for (prefix, is_ignored), (groups, sums) in extras.items())
    return sorted(rows, key=lambda row: -row.bytes)


def index_mismatches(index: Index, figures: Inventory, params: int) -> Iterable[Mismatch]:
    """Yield the totals in an index that agree with neither the tensors nor the program, of ``params`` parameters."""
    declared = index.metadata.get(_SIZE)
    if declared is not None and _number(declared) != figures.bytes:
        yield _mismatch(_SIZE, declared, f"the tensors have {figures.bytes:,} bytes")
    declared = index.metadata.get(_PARAMETERS)
    if declared is not None and _number(declared) not in (params, figures.params):
        yield _mismatch(_PARAMETERS, declared, f"the spec has {params:,}, and the tensors stand for {figures.params:,}")


def _mismatch(key: str, declared: Any, fact: str) -> Mismatch:
    said = f"{_number(declared):,}" if _number(declared) is not None else repr(declared)[:40]
    return Mismatch("index", f"metadata.{key}", f"is {said}, but {fact}")


def _number(value: Any) -> int | None:
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 40:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
