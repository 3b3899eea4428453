"""Figures of a network on a tensor-parallel rank, unit by unit: parameters once, and each layer once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from netcalc.analysis.caches.beside import beside_caches
from netcalc.analysis.caches.conventions import CacheConvention
from netcalc.analysis.caches.layers import LayerCache
from netcalc.analysis.optimizers import Optimizer, is_table, optimizer_of_memory
from netcalc.analysis.parallel.exchanges import exchanges
from netcalc.analysis.parallel.pieces import RankProgram
from netcalc.analysis.parallel.split import Held, SplitFigures, UnitFigures
from netcalc.analysis.parallel.units import Unit, program_of, units_of
from netcalc.analysis.precisions import Precision, precision_named
from netcalc.analysis.training_memory import Training, kept_memory
from netcalc.dims import integer, product
from netcalc.dtypes import FLOATS, ITEMSIZE
from netcalc.ir import CallNode, Node, OpNode, Program, dtype_of, stored_bytes


@dataclass(frozen=True, slots=True)
class Serving:
    """A step of serving: the caches after it, and the convention by which their memory is counted."""

    caches: tuple[LayerCache, ...]
    convention: CacheConvention


def split_figures(
    rank: RankProgram, work: Training | Serving, *, cp: int = 1, sp: bool = False, ideal: bool = False
) -> SplitFigures:
    """Return the figures of a rank from which memory and traffic of splits follow.

    Args:
        rank: the program of a rank; in training mode, with its loss behind its layers, for a step of training.
        work: the way to train, or what is served.
        cp: context-parallel ranks, each with its part of the positions, which are the program's.
        sp: the rank has its part of the positions between the split regions.
        ideal: count what is kept if every operation were one kernel too, which takes as long again.

    Raises:
        UndecidedError: E404 if a size is symbolic.
    """
    units = units_of(rank.program)
    counting = _Counting(rank, work, ideal)
    made = [counting.unit(unit) for unit in units]
    once = max((counting.once(unit) for unit in units if unit.times), default=(0, 0))
    figures = tuple(_with_caches(made, work)) if isinstance(work, Serving) else tuple(made)
    trains, whole = isinstance(work, Training), lru_cache(counting.whole)
    return SplitFigures(rank.program.name, rank.ranks, cp, sp, trains, figures, once, whole, rank)


class _Counting:
    """Figures of units; layers with one body are counted once."""

    def __init__(self, rank: RankProgram, work: Training | Serving, ideal: bool) -> None:
        self._rank = rank
        self._work = work
        self._with_ideal = ideal
        self._known: dict[int, UnitFigures] = {}
        self._kept: dict[int, tuple[tuple[int, int], tuple[int, int]]] = {}
        self._precision: Precision | None = None
        if isinstance(work, Training):
            self._precision = precision_named(work.precision, work.mixed, work.attention)
        name = work.optimizer if isinstance(work, Training) else None
        self._optimizer = None if name is None else optimizer_of_memory(name)

    def unit(self, unit: Unit) -> UnitFigures:
        """Return the figures of a unit."""
        node = unit.nodes[0]
        path = node.instance(0) if isinstance(node, CallNode) else node.name
        if unit.times and id(unit.call.body) in self._known:
            return replace(self._known[id(unit.call.body)], path=path, span=node.span, times=unit.times)
        inner = unit.call.body.nodes if unit.times else unit.nodes
        held = _Parameters(self._rank.program, self._precision, self._optimizer).of(inner)
        keys, routed, experts = exchanged_sizes(inner)
        kept, ideal = (0, 0) if self._precision is None else self._kept_by(unit)[0]
        figures = UnitFigures(
            path,
            node.span,
            unit.times,
            *held,
            experts_of=experts,
            kept=kept,
            ideal=ideal,
            live=0 if self._precision is not None else beside_caches(program_of(self._rank.program, unit)).peak,
            exchanges=exchanges(self._rank, inner),
            keys=keys,
            routed=routed,
            output=_output_bytes(unit),
        )
        if unit.times:
            self._known[id(unit.call.body)] = figures
        return figures

    def once(self, unit: Unit) -> tuple[int, int]:
        """Return what the first of several layers keeps beyond the others: what all of them share."""
        return self._kept_by(unit)[1] if self._precision is not None else (0, 0)

    def whole(self) -> tuple[int, int]:
        """Return the bytes that a whole rank keeps, also as one kernel each, or that are live when it serves."""
        if not isinstance(self._work, Training):
            return beside_caches(self._rank.program).peak, 0
        return self._kept_in_program(self._rank.program)

    def _kept_by(self, unit: Unit) -> tuple[tuple[int, int], tuple[int, int]]:
        """Return the bytes that a layer keeps for its backward pass, and those that all layers keep together."""
        key = id(unit.call.body) if unit.times else id(unit.nodes)
        if key not in self._kept:
            first = self._kept_in(unit, 1)
            more = first
            if unit.times and unit.call.body.repeatable:
                second = self._kept_in(unit, 2)
                more = second[0] - first[0], second[1] - first[1]
            self._kept[key] = more, (max(first[0] - more[0], 0), max(first[1] - more[1], 0))
        return self._kept[key]

    def _kept_in(self, unit: Unit, times: int) -> tuple[int, int]:
        assert isinstance(self._work, Training)
        program = program_of(self._rank.program, unit, times)
        if not any(type_.is_float for type_ in program.main.output_types):
            return 0, 0
        if not any(_has_parameters(node) for node in unit.nodes):
            return 0, 0
        return self._kept_in_program(program)

    def _kept_in_program(self, program: Program) -> tuple[int, int]:
        assert isinstance(self._work, Training)
        kept = kept_memory(program, self._work)
        ideal = kept_memory(program, self._work, "ideal") if self._with_ideal else 0
        # gathered again in the backward pass, and kept as the rank's own positions
        again = 0 if self._work.recompute == "full" else _gathered(self._rank, program.main.nodes)
        return kept - again, ideal - again if self._with_ideal else 0


def _gathered(rank: RankProgram, nodes: Sequence[Node]) -> int:
    """Return the bytes by which tensors that are gathered over positions exceed the rank's own."""
    total = 0
    for node in nodes:
        if isinstance(node, CallNode):
            total += node.times * _gathered(rank, node.body.nodes)
            continue
        move = rank.move(node)
        if move is not None and move.kind == "gather" and move.sequence:
            type_ = node.outputs[0].known_type
            whole = integer(product(type_.shape)) * ITEMSIZE[type_.dtype]
            total += whole - whole // rank.ranks
    return total


class _Parameters:
    """Bytes of parameters with their gradients and states, each body once: of experts, of others, and of tied ones."""

    def __init__(self, program: Program, precision: Precision | None, optimizer: Optimizer | None) -> None:
        self._program = program
        self._precision = precision
        self._optimizer = optimizer
        self._bodies: dict[int, tuple[Held, Held, Held]] = {}

    def of(self, nodes: Sequence[Node]) -> tuple[Held, Held, Held]:
        """Return the bytes of other parameters than experts, of experts, and of parameters that are tied."""
        total = [Held(), Held(), Held()]
        for node in nodes:
            if isinstance(node, CallNode):
                if node.shares is not None:
                    continue
                if id(node.body) not in self._bodies:
                    self._bodies[id(node.body)] = self.of(node.body.nodes)
                total = [a.plus(b, node.times) for a, b in zip(total, self._bodies[id(node.body)], strict=True)]
                continue
            for param in node.params:
                kind = 2 if param.name in node.ties else 1 if node.op.name == "experts" else 0
                total[kind] = total[kind].plus(self._held(node, param))
        return total[0], total[1], total[2]

    def _held(self, node: OpNode, param: Any) -> Held:
        weights = integer(stored_bytes(param, node, self._program.dtype))
        dtype = dtype_of(param, node, self._program.dtype)
        if self._precision is None or not param.trainable or node.frozen or dtype not in FLOATS:
            return Held(weights)
        elements = integer(param.elements)
        gradients = elements * ITEMSIZE[self._precision.gradients or dtype]
        states = elements * ITEMSIZE[self._precision.master] if self._precision.master else 0
        if self._optimizer is not None:
            own = self._precision.states or dtype
            for state in self._optimizer.kept(param.shape, is_table(node)):
                states += integer(product(state.shape(param.shape))) * ITEMSIZE[state.dtype or own]
        return Held(weights, gradients, states)


def _has_parameters(node: Node) -> bool:
    if isinstance(node, OpNode):
        return any(param.trainable for param in node.params) and not node.frozen
    return any(_has_parameters(inner) for inner in node.body.nodes)


def exchanged_sizes(nodes: Sequence[Node]) -> tuple[int, int, int]:
    """Return the bytes of keys and values, those of the tokens that experts take, and the number of experts."""
    keys = routed = experts = 0
    for node in nodes:
        if isinstance(node, CallNode):
            inner = exchanged_sizes(node.body.nodes)
            keys, routed = keys + node.times * inner[0], routed + node.times * inner[1]
            experts = max(experts, inner[2])
        elif node.op.name == "scaled_dot_product_attention":
            types = [type_ for type_ in node.input_types[1:3] if type_ is not None]
            keys += sum(integer(product(type_.shape)) * ITEMSIZE[type_.dtype] for type_ in types)
        elif node.op.name == "experts":
            tokens, weights = node.input_types[0], node.input_types[1]
            assert tokens is not None and weights is not None
            size = integer(product(tokens.shape)) * ITEMSIZE[tokens.dtype]
            routed += size * integer(weights.shape[-1])
            op: Any = node.op
            experts = max(experts, integer(op.experts))
    return keys, routed, experts


def _output_bytes(unit: Unit) -> int:
    """Return the bytes of what a unit hands to the next one, its first result."""
    type_ = unit.nodes[-1].outputs[0].known_type
    return integer(product(type_.shape)) * ITEMSIZE[type_.dtype]


def _with_caches(units: Sequence[UnitFigures], serving: Serving) -> Iterator[UnitFigures]:
    """Yield units with the bytes of the caches of their layers; caches of no numbered layer go with the first unit."""
    layers = sum(unit.times for unit in units)
    by_layer = [0] * layers
    others = 0
    numbers = [cache.layer for cache in serving.caches if cache.layer is not None]
    offset = layers - 1 - max(numbers) if numbers else 0  # an encoder's layers come first
    for cache in serving.caches:
        size = integer(cache.bytes(serving.convention))
        if cache.layer is None or not 0 <= cache.layer + offset < layers:
            others += size
        else:
            by_layer[cache.layer + offset] += size
    done = 0
    for number, unit in enumerate(units):
        own = tuple(by_layer[done : done + unit.times]) or (0,)
        if number == 0:
            own = (own[0] + others, *own[1:])
        done += unit.times
        yield replace(unit, caches=own)
