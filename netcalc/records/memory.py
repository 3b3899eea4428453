"""Record of ``memory``: weights, caches and states, activations, and what fits."""

from __future__ import annotations

from collections.abc import Iterable

from typing_extensions import TypedDict

from netcalc.analysis.activations.records import Activations, LiveTensor, Point
from netcalc.analysis.caches.layers import Kept
from netcalc.analysis.memory_report import EngineMemory, MemoryReport, TokensIn
from netcalc.records import schema_id
from netcalc.records.values import Count, Shape, TensorRecord, count, shape, tensor
from netcalc.version import __version__

__all__ = ["MemoryRecord", "memory_record"]


class StoredRecord(TypedDict):
    """Parameters or buffers of one form."""

    role: str
    """weights, adapters or buffers."""
    scheme: str
    """Element type, or name of the scheme of precision and sparsity."""
    elements: Count
    bytes: Count


class KeptRecord(TypedDict):
    """A cache or a state: an input of a step that the step before it makes."""

    name: str
    """Name of the input."""
    next: str
    """Name of the output that is this input in the next step."""
    layer: int | None
    kind: str
    """key, value, latent, cross or state."""
    dtype: str
    """Type of the elements."""
    cell: Shape
    """Shape of the part of one position and one sequence, or of the state of one."""
    cell_bytes: Count
    sequences: Count
    positions: Count | None
    """Positions that have been seen after the step; null for a state."""
    window: Count | None
    """Positions that a query sees; null for all of them."""
    cells: dict[str, Count]
    """Cells of each sequence, by convention."""
    bytes: dict[str, Count]
    """Bytes of all sequences, by convention."""


class ConventionRecord(TypedDict):
    """A convention of the memory of caches."""

    name: str
    about: str
    source: str
    caches: Count
    """Bytes of all caches and states."""
    total: Count | None
    """Bytes of weights, buffers, caches, states and ideal activations; null if a size is symbolic."""


class LiveRecord(TypedDict):
    """A tensor that holds memory at the peak."""

    path: str
    """Path of the operation that made it, or name of an input."""
    work: str
    """Name of a work buffer of a kernel, or empty."""
    shape: list[int]
    dtype: str
    bytes: int


class ActivationsRecord(TypedDict):
    """Activations of an execution."""

    peak: int
    """The most bytes at a time."""
    at: str
    """Path of the operation at which the peak is reached."""
    live: list[LiveRecord]


class EngineRecord(TypedDict):
    """Memory that NumPy's engine holds."""

    name: str
    weights: int
    activations: int
    peak: int


class TokensInRecord(TypedDict):
    """Tokens of each sequence whose caches fit into a budget beside the weights."""

    budget: int
    tokens: dict[str, int | None]
    """By convention; null for any number, -1 if the weights and states do not fit."""


class MemoryLayerRecord(TypedDict):
    """A layer with the most bytes that are live while it runs, under ideal execution."""

    path: str
    """Path of the first instance."""
    op: str
    repeat: int
    """Number of equal instances in a row."""
    bytes: int


class MemoryRecord(TypedDict):
    """Memory of a network or of a step of decoding, in bytes."""

    schema: str
    netcalc: str
    """Version of netcalc."""
    spec: str
    """Name of the spec."""
    inputs: dict[str, TensorRecord]
    outputs: dict[str, TensorRecord]
    past: Count | None
    """Positions before the step; null for a network that does not decode step by step."""
    new: Count | None
    """Positions of the step."""
    weights: Count
    buffers: Count
    stored: list[StoredRecord]
    token_bytes: Count
    """Bytes that a position of one sequence adds to all caches, as long as no window is full."""
    conventions: list[ConventionRecord]
    kept: list[KeptRecord]
    ideal: ActivationsRecord | None
    """Activations of an ideal execution, beside the caches; null if a size is symbolic."""
    eager: ActivationsRecord | None
    """Activations and caches of an eager framework."""
    engine: EngineRecord | None
    """With the option --engine."""
    tokens_in: TokensInRecord | None
    """With the option --tokens-in."""
    layers: list[MemoryLayerRecord]


def memory_record(report: MemoryReport, layers: Iterable[Point] | None = None) -> MemoryRecord:
    """Return the record of a report; ``layers`` are those to include, by default all of the program."""
    if layers is None:
        layers = () if report.ideal is None else report.ideal.layers
    return {
        "schema": schema_id("memory"),
        "netcalc": __version__,
        "spec": report.spec,
        "inputs": {name: tensor(type_) for name, type_ in report.inputs.items()},
        "outputs": {name: tensor(type_) for name, type_ in report.outputs.items()},
        "past": None if report.past is None else count(report.past),
        "new": None if report.new is None else count(report.new),
        "weights": count(report.weights),
        "buffers": count(report.buffers),
        "stored": [
            {"role": one.role, "scheme": one.scheme, "elements": count(one.elements), "bytes": count(one.bytes)}
            for one in report.stored
        ],
        "token_bytes": count(report.token_bytes),
        "conventions": [_convention(report, number) for number in range(len(report.conventions))],
        "kept": [_kept(report, one) for one in report.kept],
        "ideal": _activations(report.ideal),
        "eager": _activations(report.eager),
        "engine": _engine(report.engine),
        "tokens_in": _tokens_in(report.tokens_in),
        "layers": [{"path": one.path, "op": one.op, "repeat": one.times, "bytes": one.bytes} for one in layers],
    }


def _convention(report: MemoryReport, number: int) -> ConventionRecord:
    one = report.conventions[number]
    total = report.total(one.name)
    return {
        "name": one.name,
        "about": one.about,
        "source": one.source,
        "caches": count(report.caches(one.name)),
        "total": None if total is None else count(total),
    }


def _kept(report: MemoryReport, kept: Kept) -> KeptRecord:
    return {
        "name": kept.name,
        "next": kept.next,
        "layer": kept.layer,
        "kind": kept.kind,
        "dtype": kept.element.name,
        "cell": shape(kept.cell),
        "cell_bytes": count(kept.cell_bytes),
        "sequences": count(kept.sequences),
        "positions": None if kept.positions is None else count(kept.positions),
        "window": None if kept.window is None else count(kept.window),
        "cells": {one.name: count(kept.cells(one)) for one in report.conventions},
        "bytes": {one.name: count(kept.bytes(one)) for one in report.conventions},
    }


def _activations(activations: Activations | None) -> ActivationsRecord | None:
    if activations is None:
        return None
    return {"peak": activations.peak, "at": activations.at, "live": [_live(one) for one in activations.live]}


def _live(tensor: LiveTensor) -> LiveRecord:
    return {
        "path": tensor.path,
        "work": tensor.work,
        "shape": list(tensor.shape),
        "dtype": tensor.dtype,
        "bytes": tensor.bytes,
    }


def _engine(engine: EngineMemory | None) -> EngineRecord | None:
    if engine is None:
        return None
    return {"name": engine.name, "weights": engine.weights, "activations": engine.activations, "peak": engine.peak}


def _tokens_in(found: TokensIn | None) -> TokensInRecord | None:
    return None if found is None else {"budget": found.budget, "tokens": dict(found.tokens)}
