"""A split of a network over devices, and what follows from it by arithmetic: stages, memory, bytes sent, bubble.

Pipelines run one forward and one backward pass in turn (1F1B; interleaved with virtual stages), as Megatron-LM does
(Narayanan et al. 2021, arXiv:2104.04473).  ZeRO's stages: Rajbhandari et al. 2020, arXiv:1910.02054.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from netcalc.analysis.parallel.exchanges import Exchange, Exchanges
from netcalc.analysis.parallel.pieces import RankProgram, divisors
from netcalc.analysis.parallel.traffic import Calls, Group, Traffic, summed
from netcalc.diagnostics import Diagnostic, NetcalcError, Span
from netcalc.results import recorded


class Split(NamedTuple):
    """Numbers of devices by kind of parallelism."""

    tp: int = 1
    """Ranks that hold pieces of each layer."""
    pp: int = 1
    """Pipeline stages."""
    dp: int = 1
    """Replicas, each with its own micro-batches."""
    ep: int = 1
    """Replicas among which experts are divided."""
    cp: int = 1
    """Ranks among which positions are divided."""
    sp: bool = False
    """Sequence parallelism: tensor-parallel ranks divide positions between the split regions."""
    zero: int = 0
    """Stage of ZeRO: what replicas divide among them, from 1 states, from 2 gradients, 3 weights."""
    virtual_stages: int = 1
    """Parts of the layers of a pipeline stage that are not next to each other."""
    micro_batches: int = 1
    """Passes before an update."""

    @property
    def devices(self) -> int:
        """Number of devices."""
        return self.tp * self.pp * self.dp * self.cp

    @property
    def replicas(self) -> int:
        """Ranks that hold the same weights, apart from experts."""
        return self.dp * self.cp

    @property
    def bubble(self) -> float:
        """Idle time of a pipeline as a multiple of the time of its work."""
        return (self.pp - 1) / (self.virtual_stages * self.micro_batches)

    def in_flight(self, stage: int) -> tuple[int, ...]:
        """Return the micro-batches whose activations a stage holds at most, for each of its virtual stages.

        >>> Split(pp=4, micro_batches=8).in_flight(0), Split(pp=4, micro_batches=8).in_flight(3)
        ((4,), (1,))
        >>> Split(pp=2, virtual_stages=2, micro_batches=4).in_flight(0)
        (3, 2)
        """
        p, v, m = self.pp, self.virtual_stages, self.micro_batches
        ahead = min(p - stage, m) if v == 1 else min(2 * (p - stage - 1) + (v - 1) * p + 1, m * v)
        # virtual stages take turns, each with p micro-batches
        return tuple(sum((i // p) % v == chunk for i in range(ahead)) for chunk in range(v))


class Held(NamedTuple):
    """Bytes that training holds for parameters, with those of experts apart."""

    weights: int = 0
    gradients: int = 0
    states: int = 0

    def plus(self, other: Held, times: int = 1) -> Held:
        """Return the sum with so many times another."""
        return Held(*(a + times * b for a, b in zip(self, other, strict=True)))


_NOTHING = Held()


class _HeldByStage(NamedTuple):
    """Bytes for the parameters of a stage, and of the largest layer as a whole, which ZeRO-3 gathers."""

    held: Held
    gathered: int

    @property
    def total(self) -> int:
        return sum(self.held) + self.gathered


class Exchanged(NamedTuple):
    """Exchanges of an operation or a unit in a pass: of tensor-parallel ranks, and bytes for the other groups."""

    exchanges: Exchanges
    keys: int = 0
    """Bytes of keys and values, which context-parallel ranks pass around."""
    routed: int = 0
    """Bytes of the tokens that experts take."""


def exchanged_in_pass(one: Exchanged, split: Split, training: bool) -> Iterator[tuple[Group, Exchange, int]]:
    """Yield what is exchanged in a pass, forward or forward and backward, with the number of times."""
    for exchange, calls in one.exchanges.items():
        if exchange.when == "forward" or (training and exchange.when == "backward"):
            yield "tensor", exchange, calls
    if one.routed:
        yield "expert", Exchange("forward", "all-to-all", split.ep, one.routed), 4 if training else 2
    if one.keys:  # backward: keys and values again, and their gradients
        around = Exchange("forward", "point-to-point", split.cp, one.keys * split.cp)
        yield "context", around, 3 if training else 1


def sent_in(exchange: Exchange, times: int = 1) -> int:
    """Return the bytes that a rank sends in so many exchanges, by a ring or pairwise."""
    return -(-exchange.all_sent * times // exchange.ranks)


@dataclass(frozen=True, slots=True)
class UnitFigures:
    """Figures of a unit on a tensor-parallel rank; of one layer, if the unit has several."""

    path: str
    span: Span | None
    times: int
    """Layers; 0 outside of them."""
    common: Held = _NOTHING
    experts: Held = _NOTHING
    tied: Held = _NOTHING
    """Of parameters that another unit owns."""
    experts_of: int = 0
    """Number of experts of a layer."""
    kept: int = 0
    """Bytes that a micro-batch keeps for its backward pass."""
    ideal: int = 0
    """The same, if every operation were one kernel."""
    live: int = 0
    """The most bytes of activations that are live at a time."""
    caches: tuple[int, ...] = ()
    """Bytes of caches and states of each layer."""
    exchanges: Exchanges = field(default_factory=Counter)
    keys: int = 0
    """Bytes of keys and values, which context-parallel ranks pass around."""
    routed: int = 0
    """Bytes of the tokens that experts take."""
    output: int = 0
    """Bytes of what the next layer takes."""


#: Units of a virtual stage, with the number of layers of each and that of the first one.
Chunk: TypeAlias = Sequence[tuple[UnitFigures, int, int]]


class _Unit(Protocol):
    """A unit, of which the number of layers is known."""

    @property
    def times(self) -> int: ...


AnyUnit = TypeVar("AnyUnit", bound=_Unit)


def chunks_of(units: Sequence[AnyUnit], split: Split, stage: int) -> list[list[tuple[AnyUnit, int, int]]]:
    """Return the units of each virtual stage of a stage, with the number of layers and that of the first one."""
    layers, parts = sum(unit.times for unit in units), split.pp * split.virtual_stages
    return [list(_between(units, layers, chunk * split.pp + stage, parts)) for chunk in range(split.virtual_stages)]


def _between(units: Sequence[AnyUnit], layers: int, number: int, parts: int) -> Iterator[tuple[AnyUnit, int, int]]:
    """Yield what one of so many equal parts of the layers has."""
    each = layers // parts if layers else 0
    first, last = number * each, (number + 1) * each
    done = 0
    for unit in units:
        if not unit.times:
            # what precedes a layer goes with it, and what follows the last with that
            place = done if done < layers else layers - 1
            if parts == 1 or first <= place < last:
                yield unit, 0, 0
            continue
        start, end = max(first, done), min(last, done + unit.times)
        if start < end:
            yield unit, end - start, start - done
        done += unit.times


@recorded(
    *("stage", "layers", "weights", "gathered", "gradients", "states", "activations", "caches", "in_flight", "ideal"),
    "total",
)
class StageMemory(NamedTuple):
    """Memory of a device of a pipeline stage, in bytes."""

    stage: int
    layers: int
    """Layers of the stage."""
    weights: int
    gathered: int
    """Weights and gradients of the largest layer as a whole, which ZeRO-3 gathers while it runs."""
    gradients: int
    states: int
    """States of the optimizer, and further copies of the weights."""
    activations: int
    caches: int
    in_flight: tuple[int, ...]
    """Micro-batches whose activations are held, by virtual stage."""
    ideal: int = 0
    """Activations if every operation were one kernel; 0 in serving."""

    @property
    def total(self) -> int:
        """Bytes of everything."""
        return self.weights + self.gathered + self.gradients + self.states + self.activations + self.caches


@dataclass(frozen=True, slots=True)
class SplitFigures:
    """Figures of a network on a tensor-parallel rank, from which memory and traffic of many splits follow.

    ``training`` is False for serving.  The figures hold for one number of tensor-parallel and context-parallel ranks.
    """

    name: str
    tp: int
    cp: int
    sp: bool
    training: bool
    units: tuple[UnitFigures, ...]
    kept_once: tuple[int, int] = (0, 0)
    """Bytes that all layers of a stage keep together, and the same if every operation were one kernel."""
    whole: Callable[[], tuple[int, int]] = lambda: (0, 0)
    """Bytes that a whole rank keeps for the backward pass, also as one kernel each, or that are live when it serves.

    They are counted where there is one stage, and once.
    """
    rank: RankProgram | None = None
    """The program that the figures are of."""

    @property
    def layers(self) -> int:
        """Number of layers."""
        return sum(unit.times for unit in self.units)

    def check(self, split: Split) -> None:
        """Raise NetcalcError (E502) for a split that does not divide layers, experts or replicas."""
        problems = [problem for problem in self._problems(split) if problem is not None]
        if problems:
            raise NetcalcError(problems)

    def stages(self, split: Split) -> list[StageMemory]:
        """Return the memory of each pipeline stage.

        Raises:
            NetcalcError: E502 as :meth:`check` does.
        """
        self.check(split)
        return [self.stage(split, stage) for stage in range(split.pp)]

    def fits(self, split: Split, budget: int) -> bool:
        """Return True for a split that is possible and whose devices hold no more than so many bytes."""
        if any(problem is not None for problem in self._problems(split)):
            return False
        if split.pp == 1 and self._held(split, chunks_of(self.units, split, 0)).total > budget:
            return False
        return all(self.stage(split, stage).total <= budget for stage in range(split.pp))

    def held(self, split: Split) -> int:
        """Return the bytes of weights and states of all stages of a replica."""
        stages = (self._held(split, chunks_of(self.units, split, stage)).held for stage in range(split.pp))
        return sum(held.weights + held.states for held in stages)

    def fullest(self, split: Split) -> StageMemory:
        """Return the memory of the fullest device."""
        return max(self.stages(split), key=lambda stage: (stage.total, -stage.stage))

    def traffic(self, split: Split, stage: int = 0) -> list[Traffic]:
        """Return what a device of a stage exchanges in a step, of all micro-batches."""
        found: dict[Group, list[tuple[Exchange, Calls]]] = {}
        for group, exchange, calls in self._exchanged(split, stage):
            if exchange.ranks > 1 and exchange.size and calls.number:
                found.setdefault(group, []).append((exchange, calls))
        return [one for group, exchanges in found.items() for one in summed(group, exchanges, span_of(group, split))]

    # -- stages ---------------------------------------------------------------------------------------

    def _held(self, split: Split, chunks: Sequence[Chunk]) -> _HeldByStage:
        """Return what a device holds for the parameters of a stage."""
        common, experts, largest = Held(), Held(), Held()
        for unit, times, _ in (one for chunk in chunks for one in chunk):
            number = times or 1
            common = common.plus(unit.common, number)
            if split.pp > 1:
                common = common.plus(unit.tied, number)
            experts = experts.plus(unit.experts, number)
            largest = max(largest, unit.common.plus(unit.experts), key=lambda held: held.weights + held.gradients)
        held = _divided(common, split.zero, split.replicas)
        of_experts = _divided(_shared(experts, split.ep), split.zero, split.replicas // split.ep)
        is_gathered = split.zero == 3 and split.replicas > 1
        gathered = largest.weights + (largest.gradients if self.training else 0) if is_gathered else 0
        return _HeldByStage(held.plus(of_experts), gathered)

    def stage(self, split: Split, stage: int) -> StageMemory:
        """Return the memory of a pipeline stage of a split that divides the network."""
        chunks = chunks_of(self.units, split, stage)
        caches = live = kept = ideal = layers = 0
        in_flight = split.in_flight(stage) if self.training else (1,) * len(chunks)
        for chunk, passes in zip(chunks, in_flight, strict=True):
            for unit, times, first in chunk:
                number = times or 1
                layers += times
                caches += sum(unit.caches[first : first + number])
                live = max(live, unit.live)
                kept += passes * number * unit.kept
                ideal += passes * number * unit.ideal
            if any(times for _, times, _ in chunk):
                kept += passes * self.kept_once[0]
                ideal += passes * self.kept_once[1]
        if split.pp == 1:
            live, ideal = self.whole()
            kept, ideal = live * in_flight[0], ideal * in_flight[0]
        held, gathered = self._held(split, chunks)
        return StageMemory(
            stage,
            layers,
            held.weights,
            gathered,
            held.gradients,
            held.states,
            kept if self.training else live,
            caches,
            in_flight if self.training else (),
            ideal if self.training else 0,
        )

    # -- traffic --------------------------------------------------------------------------------------

    def _exchanged(self, split: Split, stage: int) -> Iterator[tuple[Group, Exchange, Calls]]:
        chunks = chunks_of(self.units, split, stage)
        m, whole = split.micro_batches, "forward and backward" if self.training else "forward"
        common, experts = Held(), Held()
        for chunk in chunks:
            for unit, times, _ in chunk:
                number = times or 1
                common = common.plus(unit.common, number)
                experts = experts.plus(unit.experts, number)
                exchanged = Exchanged(unit.exchanges, unit.keys, unit.routed)
                for group, exchange, calls in exchanged_in_pass(exchanged, split, self.training):
                    when = exchange.when if group == "tensor" else whole
                    yield group, exchange, Calls(unit.path or "outside of the layers", when, calls, number, m)
                for exchange, calls in unit.exchanges.items():
                    if exchange.when == "update" and self.training:
                        of = unit.path or "outside of the layers"
                        yield "tensor", exchange, Calls(of, "update", calls, number)
        if split.pp > 1:
            size = max((unit.output for unit in self.units if unit.times), default=0)
            sends = self._sends(split, stage, chunks)
            calls_of_stage = Calls(f"stage {stage}", whole, sends, passes=m)
            yield "pipeline", Exchange("forward", "point-to-point", 2, size), calls_of_stage
            if self.training and stage in (0, split.pp - 1):
                # the embedding and the output that is tied to it sum up their gradients
                tied = sum(unit.tied.gradients for unit in self.units)
                yield "pipeline", Exchange("update", "all-reduce", 2, tied), Calls("tied parameters", "update", 1)
        if self.training:
            yield from _of_replicas("parameters", common, split, split.replicas)
            if experts.weights:
                held = _shared(experts, split.ep)
                yield from _of_replicas("experts", held, split, split.replicas // split.ep)

    def _sends(self, split: Split, stage: int, chunks: Sequence[object]) -> int:
        """Return how often a stage sends activations on, and gradients back, for each micro-batch."""
        forward = len(chunks) - (stage == split.pp - 1)
        backward = len(chunks) - (stage == 0)
        return forward + (backward if self.training else 0)

    # -- refusals -------------------------------------------------------------------------------------

    def _problems(self, split: Split) -> Iterator[Diagnostic | None]:
        parts = split.pp * split.virtual_stages
        first = next((unit for unit in self.units if unit.times), None)
        span = None if first is None else first.span
        if parts > 1 and (not self.layers or self.layers % parts):
            given = f"--pp {split.pp}" + (
                f" --virtual-stages {split.virtual_stages}" if split.virtual_stages > 1 else ""
            )
            what = f"{self.layers} layers of {self.name} cannot be divided by {parts}"
            if not self.layers:
                what = f"{self.name} has no numbered layers"
            works = ", ".join(str(n) for n in divisors(self.layers) if n > 1) if self.layers else ""
            yield Diagnostic("E502", f"{given}: {what}", span, hint=f"{works} divide them" if works else None)
        if split.virtual_stages > 1 and (split.pp == 1 or split.micro_batches % split.pp):
            reason = "needs pipeline stages" if split.pp == 1 else f"takes micro-batches in groups of {split.pp}"
            hint = "--pp" if split.pp == 1 else f"--accumulate {-(-split.micro_batches // split.pp) * split.pp}"
            yield Diagnostic("E502", f"--virtual-stages {split.virtual_stages} {reason}", hint=hint)
        if split.ep > 1:
            yield self._of_experts(split)

    def _of_experts(self, split: Split) -> Diagnostic | None:
        unit = next((unit for unit in self.units if unit.experts_of), None)
        if unit is None:
            return Diagnostic("E502", f"--ep {split.ep}: {self.name} has no experts")
        if unit.experts_of % split.ep:
            works = ", ".join(str(n) for n in divisors(unit.experts_of) if n > 1)
            what = f"--ep {split.ep}: {unit.experts_of} experts cannot be divided by {split.ep}"
            return Diagnostic("E502", what, unit.span, hint=f"--ep {works}")
        if split.replicas % split.ep:
            what = f"--ep {split.ep}: experts are divided among replicas, and there are {split.replicas}"
            return Diagnostic("E502", what, hint=f"--dp {split.ep}")
        return None


def _shared(held: Held, ranks: int) -> Held:
    return Held(*(-(-size // ranks) for size in held))


def _divided(held: Held, zero: int, replicas: int) -> Held:
    """Return what one of the replicas holds under a stage of ZeRO."""
    divided = _shared(held, replicas)
    return Held(
        divided.weights if zero >= 3 else held.weights,
        divided.gradients if zero >= 2 else held.gradients,
        divided.states if zero >= 1 else held.states,
    )


def _of_replicas(of: str, held: Held, split: Split, ranks: int) -> Iterator[tuple[Group, Exchange, Calls]]:
    """Yield what replicas exchange for their gradients and weights."""
    m = split.micro_batches
    if split.zero == 0:
        yield "data", Exchange("update", "all-reduce", ranks, held.gradients), Calls(of, "update", 1)
        return
    # from stage 2 on the gradients of each micro-batch go to the replica that updates the parameter
    scattered = Calls(of, "backward", 1, passes=m) if split.zero >= 2 else Calls(of, "update", 1)
    yield "data", Exchange("update", "reduce-scatter", ranks, held.gradients), scattered
    gathered = Calls(of, "forward and backward", 2, passes=m) if split.zero == 3 else Calls(of, "update", 1)
    yield "data", Exchange("update", "all-gather", ranks, held.weights), gathered


def span_of(group: Group, split: Split) -> int:
    """Return the number of devices in a row among which the ranks of a group lie."""
    spans: dict[Group, int] = {
        "tensor": split.tp,
        "context": split.tp * split.cp,
        "expert": split.tp * max(split.cp, split.ep),
        "data": split.tp * split.cp * split.dp,
        "pipeline": 2 * split.tp * split.cp * split.dp,
    }
    return spans[group]
