"""Memory of a network under combinations of choices, among which a reported number of bytes is looked for.

Bytes of weights under each scheme and of caches at each size come from totals of one program; activations and steps of
training are counted at each size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from math import lcm, prod
from typing import NamedTuple

from netcalc.analysis.activations.peaks import activations
from netcalc.analysis.caches.beside import beside_caches
from netcalc.analysis.caches.conventions import CacheConvention, conventions, element_type
from netcalc.analysis.caches.layers import LayerCache, applied_to, kept_by, reserved
from netcalc.analysis.conventions import Convention
from netcalc.analysis.cost import Analysis
from netcalc.analysis.own_figures import own_figures
from netcalc.analysis.precision.totals import StoredTotals
from netcalc.analysis.stored_weights import stored_weights
from netcalc.analysis.training_memory import StepFigures, Training, step_figures
from netcalc.diagnostics import NetcalcError
from netcalc.dims import integer
from netcalc.dtypes import DType
from netcalc.ir import Program
from netcalc.options import Mixed, Phase, PrecisionName
from netcalc.planning.defaults import common_schemes
from netcalc.planning.phases import request_in_phase
from netcalc.planning.reported_counts import FACTOR, Counted
from netcalc.planning.reported_sizes import (
    BATCHES,
    LENGTHS,
    changed_request,
    free_batch,
    free_dims,
    image_sizes,
    lengths,
)
from netcalc.planning.training import TrainedProgram, TrainingStep, trained_program
from netcalc.request import Request

#: Element types that are searched.
_DTYPES: tuple[DType, ...] = ("float32", "bfloat16")
#: Schemes beside the common ones, and element types of caches.
_SCHEMES = ("f16", "q5_0", "q4_0", "mxfp4_moe")
_CACHE_TYPES = ("fp8", "q8_0")
#: Further numbers of positions, for caches.
_LONG = (4096 * 4, 4096 * 8, 4096 * 16, 4096 * 32, 4096 * 48, 4096 * 64)
#: Size up to which memory is taken to be proportional, until it is counted again.
_SMALL = 16
#: Size from which on a curve goes through halves of it, which a network has that has no larger ones.
_DIVIDED = 8
#: Rank of the sizes of tools, behind netcalc's own.
_LAST = 9
_OPTIMIZERS = ("adam", "momentum", "sgd", "adafactor", "adam8bit", "muon")
_PRECISIONS: tuple[tuple[PrecisionName | None, Mixed | None], ...] = (
    (None, None),
    ("bf16-true", None),
    ("bf16-mixed", "autocast"),
    ("bf16-mixed", "deepspeed"),
    ("bf16-mixed", "megatron"),
)


class _Words(NamedTuple):
    """Choices behind a figure, and the options of the command that prints it."""

    choices: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    settings: tuple[tuple[str, int], ...] = ()

    def and_(self, choice: str, *options: str, **settings: int) -> _Words:
        """Return the words with a further choice."""
        return _Words((*self.choices, choice), (*self.options, *options), (*self.settings, *settings.items()))

    def counted(self, value: int, *arithmetic: str, printed: int | None = None) -> Counted:
        """Return a value with these choices; ``printed`` is the figure of the command, if it is another."""
        return Counted(
            FACTOR * value,
            len(self.choices),
            (len(arithmetic), len(self.options), len(self.settings)),
            self.choices,
            self.settings,
            "netcalc",
            "memory",
            value if printed is None else printed,
            arithmetic,
            options=self.options,
        )


class _Stored(NamedTuple):
    """Bytes of parameters in a form, and of buffers."""

    words: _Words
    weights: int
    buffers: int

    @property
    def both(self) -> int:
        """Bytes of both."""
        return self.weights + self.buffers


def memory_candidates(request: Request, conventions: Mapping[str, Convention], most: int) -> Iterator[Counted]:
    """Yield memory in bytes with at most so many choices."""
    for candidate in (*_candidates(request), *_of_figures(request, conventions)):
        if candidate.changes <= most:
            yield candidate


def _candidates(request: Request) -> Iterator[Counted]:
    own = request.program.dtype
    for dtype in (own, *(other for other in _DTYPES if other != own and request.dtype is None)):
        words = _Words() if dtype == own else _Words().and_(f"element type {dtype}", "--dtype", dtype)
        typed = (request if dtype == own else request.with_dtype(dtype)).with_caches()
        forms = [*_forms(typed, words, dtype == own)]
        yield from _of_weights(forms)
        yield from _of_caches(typed, forms)
        yield from _of_passes(typed, forms, dtype == own)
    yield from _of_training(request)


def _of_figures(request: Request, conventions: Mapping[str, Convention]) -> Iterator[Counted]:
    """Yield the sizes in bytes that tools define, at the batch of the model and at others."""
    batch = free_batch(request)
    sizes = [{}, *({"batch": n} for n in BATCHES if n != batch)] if batch is not None else [{}]
    conventions = {name: c for name, c in conventions.items() if any(f.unit == "bytes" for f in c.figures.values())}
    for at in sizes if conventions else ():
        sized = changed_request(request, at)
        for convention in conventions.values() if sized is not None else ():
            assert sized is not None
            try:
                figures = own_figures(Analysis(sized.program, convention))
            except NetcalcError:  # rules that read what the network does not have
                continue
            for figure in figures:
                if figure.unit == "bytes":
                    words = _Words().and_(f"{figure.title} of {convention.name}")
                    words = words.and_(_sizes_text(at), **at) if at else words
                    counted = words.counted(integer(figure.value))
                    yield counted._replace(convention=convention.name, verb="summary", rank=(_LAST, 0, len(at)))


def _forms(request: Request, words: _Words, every: bool) -> Iterator[_Stored]:
    """Yield the weights in their own form, and if ``every`` is True in common schemes."""
    program = request.program
    groups = stored_weights(program)
    buffers = sum(integer(group.bytes) for group in groups if group.role == "buffers")
    own = sum(integer(group.bytes) for group in groups) - buffers
    yield _Stored(words, own, buffers)
    if not every or program.assigned or program.added:
        return
    try:
        totals = StoredTotals(program)
    except NetcalcError:  # too many parameters to go through
        return
    known = {own + buffers}
    for scheme in dict.fromkeys((*common_schemes(program.caches.new is not None), *_SCHEMES)):
        try:
            size = totals.bytes(scheme)
        except NetcalcError:  # none of its parameters can be stored so
            continue
        if size not in known:
            known.add(size)
            yield _Stored(words.and_(f"stored as {scheme}", "--quantize", scheme), size - buffers, buffers)


def _of_weights(forms: list[_Stored]) -> Iterator[Counted]:
    for form in forms:
        yield form.words.and_("weights alone").counted(form.weights, "the weights")
        if form.buffers:
            yield form.words.and_("weights and buffers").counted(form.both, "weights and buffers")


# -- caches -----------------------------------------------------------------------------------------


def _of_caches(request: Request, forms: list[_Stored]) -> Iterator[Counted]:
    """Yield caches alone, those of a token, and weights with caches."""
    program = request.program
    rules = applied_to(program, conventions().values())
    kept = kept_by(program, None, rules)
    if not kept:
        return
    (first, *_), words = forms, forms[0].words
    token = sum(integer(cache.cell_bytes) for cache in kept if cache.positions is not None)
    if token:
        yield words.and_("caches of a token").counted(token, "all caches, by token")
    for cached, caches, typed in _cache_types(program, rules, words):
        for value, named in _cache_sizes(request, caches, rules, typed):
            yield named.and_("caches alone").counted(value, "caches and states")
            yield named.and_("weights and caches").counted(first.both + value, "weights, buffers and caches")
            for form in forms[1:] if not cached else ():
                both = _Words(
                    (*form.words.choices, *named.choices[len(words.choices) :]),
                    (*form.words.options, *named.options[len(words.options) :]),
                    named.settings,
                ).and_("weights and caches")
                yield both.counted(form.both + value, "weights, buffers and caches")


def _cache_types(
    program: Program, rules: tuple[CacheConvention, ...], words: _Words
) -> Iterator[tuple[bool, tuple[LayerCache, ...], _Words]]:
    yield False, kept_by(program, None, rules), words
    for name in _CACHE_TYPES:
        yield True, kept_by(program, element_type(name), rules), words.and_(f"caches in {name}", "--cache-dtype", name)


def _cache_sizes(
    request: Request, caches: tuple[LayerCache, ...], rules: tuple[CacheConvention, ...], words: _Words
) -> Iterator[tuple[int, _Words]]:
    """Yield the bytes of caches at batches and numbers of positions, under each convention that makes a difference."""
    program = request.program
    new, past = program.caches.new, program.caches.past
    batch = dict(program.dims).get("batch")
    free = new is not None and new not in request.settings and past not in request.settings
    own = integer(program.dims[new]) if new is not None else None
    before = integer(program.dims[past]) if past is not None else 0
    sizes = [None, *(n for n in (*LENGTHS, *_LONG) if n != own)] if free else [None]
    batches: list[int | None] = [None]
    if isinstance(batch, int) and "batch" not in request.settings:
        batches += [n for n in BATCHES if n != batch]
    for size in sizes:
        at = None if size is None else before + size
        ideal = None
        for rule in rules:
            value = integer(reserved(caches, rule, at))
            if rule.name == "ideal":
                ideal = value
            elif value == ideal:
                continue
            named = words if size is None else words.and_(f"{new}={size}", **{str(new): size})
            named = named if rule.name == "ideal" else named.and_(f"caches of {rule.name}", "--cache", rule.name)
            for n in batches:
                if n is None:
                    yield value, named
                elif isinstance(batch, int):
                    yield value * n // batch, named.and_(f"batch={n}", batch=n)


# -- activations and training -----------------------------------------------------------------------


def _of_passes(request: Request, forms: list[_Stored], sizes_too: bool) -> Iterator[Counted]:
    """Yield the memory of a pass, at the sizes of the model and if ``sizes_too`` is True at others."""
    words = forms[0].words
    phases: tuple[Phase | None, ...] = (None, "prefill", "decode") if request.decodes else (None,)
    for phase in phases:
        in_phase, _ = request_in_phase(request, phase, None)
        told = words if phase is None else words.and_(f"phase {phase}", "--phase", phase)
        yield from _of_pass(in_phase.program, told, forms)
        eager = activations(in_phase.program, "eager").peak
        yield told.and_("eager activations alone").counted(eager, "activations and caches of eager execution")
        yield told.and_("eager execution").counted(eager + forms[0].both, "eager execution, in all")
    if not sizes_too:
        return
    small = {name: n for name, n in free_dims(request).items() if 0 < n <= _SMALL}
    for name, size in small.items():
        yield from _of_passes_along(request, forms, name, size)
    for sizes in _every_size(request):
        if not sizes.keys() & small.keys():
            yield from _of_pass_at(request, sizes, forms)


def _of_passes_along(request: Request, forms: list[_Stored], name: str, size: int) -> Iterator[Counted]:
    """Yield the memory of a pass at other batches or numbers of images, from those at a number and at twice as many."""
    own, twice = ([*_of_pass_at(request, {name: n}, forms)] for n in (size, 2 * size))
    if len(own) != len(twice):
        return
    for n in BATCHES:
        for place, (one, two) in enumerate(zip(own, twice, strict=True) if n != size else ()):
            sizes = {name: n}
            words = tuple(_sizes_text(sizes) if word == _sizes_text({name: size}) else word for word in one.choices)
            scaled = one.scaled + (n - size) * (two.scaled - one.scaled) // size
            again = partial(_pass_again, request, sizes, forms, place)
            yield one._replace(
                scaled=scaled, base=scaled // FACTOR, choices=words, settings=tuple(sizes.items()), again=again
            )


def _of_pass_at(request: Request, sizes: Mapping[str, int], forms: list[_Stored]) -> Iterator[Counted]:
    sized = changed_request(request, sizes)
    if sized is not None:
        yield from _of_pass(sized.with_caches().program, forms[0].words.and_(_sizes_text(sizes), **sizes), forms)


def _pass_again(request: Request, sizes: Mapping[str, int], forms: list[_Stored], place: int) -> int | None:
    found = [*_of_pass_at(request, sizes, forms)]
    return found[place].scaled if place < len(found) else None


def _of_pass(program: Program, words: _Words, forms: list[_Stored]) -> Iterator[Counted]:
    """Yield the activations of a program, and the memory of all of it."""
    peak = beside_caches(program).peak
    rules = applied_to(program, conventions().values())
    kept = kept_by(program, None, rules)
    yield words.and_("activations alone").counted(peak, "activations")
    ideal = None
    for rule in rules if kept else rules[:1]:
        caches = integer(reserved(kept, rule))
        if rule.name == "ideal":
            ideal = caches
        elif caches == ideal:
            continue
        named = words if rule.name == "ideal" else words.and_(f"caches of {rule.name}", "--cache", rule.name)
        yield named.counted(forms[0].both + caches + peak)
        for form in forms[1:]:
            extra = form.words.choices[len(forms[0].words.choices) :]
            options = form.words.options[len(forms[0].words.options) :]
            yield named.and_(extra[0], *options).counted(form.both + caches + peak)


def _of_training(request: Request) -> Iterator[Counted]:
    """Yield a step of training with each optimizer and precision: all of it, and what does not depend on sizes."""
    past = request.program.caches.past
    if past is not None and request.program.dims[past] != 0:  # a step of decoding is not trained
        return
    for precision, mixed in _PRECISIONS if request.dtype is None else _PRECISIONS[:1]:
        words = _Words()
        if precision is not None:
            options = ("--precision", precision, *(("--mixed", mixed) if mixed else ()))
            words = words.and_(precision + (f" as {mixed} keeps weights" if mixed else ""), *options)
        optimizers = _OPTIMIZERS if precision is None else _OPTIMIZERS[:1]
        measured = _measured(request, Training(None, precision, mixed), optimizers)
        for optimizer in optimizers if measured is not None else ():
            assert measured is not None
            yield from _of_step(measured, optimizer, words)
    yield from _of_training_at(request)


class _Measured(NamedTuple):
    """A step of training as it is measured, for several optimizers."""

    trained: TrainedProgram
    figures: StepFigures

    def step(self, optimizer: str) -> TrainingStep:
        """Return the step with an optimizer."""
        return TrainingStep(*self.trained, self.figures.counted(optimizer))


def _measured(request: Request, training: Training, optimizers: Sequence[str]) -> _Measured | None:
    """Return a step of training as it is measured; None for a network or a precision that cannot be trained so."""
    try:
        trained = trained_program(request, training)
        return _Measured(trained, step_figures(trained.program, trained.training, optimizers, trained.loss))
    except NetcalcError:
        return None


def _of_step(measured: _Measured, optimizer: str, words: _Words) -> Iterator[Counted]:
    step, training = measured.step(optimizer), ("--training", optimizer)
    memory = step.memory
    yield words.and_(f"training with {optimizer}", *training).counted(step.total)
    held = step.weights + step.buffers + memory.gradients + memory.held
    static = f"weights, gradients and states of {optimizer}"
    yield words.and_(static, *training).counted(held, "weights, buffers, gradients and states")
    if optimizer == _OPTIMIZERS[0]:
        states = words.and_(f"states of {optimizer}", *training)
        yield states.counted(memory.held, "copies of weights, and states")
        kept = words.and_("kept for the backward pass", *training)
        yield kept.counted(memory.kept, "what is kept for the backward pass")


# -- training at other sizes --------------------------------------------------------------------------


def _of_training_at(request: Request) -> Iterator[Counted]:
    """Yield steps of training at other sizes, which are counted again where they are derived."""
    own = _measured_at(request, {})
    if own is None:
        return
    for sizes in image_sizes(request):
        measured = _measured_at(request, sizes)
        if measured is not None:
            yield _counted_at(request, sizes, measured.step(_OPTIMIZERS[0]).total, derived=False)
    free, along = free_dims(request), dict[tuple[str, ...], list[int]]()
    for sizes in _every_length(request):
        along.setdefault(tuple(sizes), []).append(next(iter(sizes.values())))
    for names, numbers in along.items():
        equal = len({free[name] for name in names}) == 1
        curve = _Curve(request, names, own, free[names[0]]) if equal else None
        for number in numbers:
            sizes = dict.fromkeys(names, number)
            total = None if curve is None else curve.at(number)
            if total is not None:
                yield _counted_at(request, sizes, total, derived=True)


def _counted_at(request: Request, sizes: Mapping[str, int], total: int, *, derived: bool) -> Counted:
    words = _Words().and_(_sizes_text(sizes), **sizes)
    named = words.and_(f"training with {_OPTIMIZERS[0]}", "--training", _OPTIMIZERS[0])
    return named.counted(total)._replace(again=partial(_total_at, request, sizes) if derived else None)


def _total_at(request: Request, sizes: Mapping[str, int]) -> int | None:
    measured = _measured_at(request, sizes)
    return None if measured is None else FACTOR * measured.step(_OPTIMIZERS[0]).total


def _measured_at(request: Request, sizes: Mapping[str, int]) -> _Measured | None:
    return _measured(request.with_settings(sizes), Training(), _OPTIMIZERS[:1])


class _Curve:
    """Memory of a step of training along a size, by the parabolas through three sizes of the bytes at each moment."""

    def __init__(self, request: Request, names: tuple[str, ...], own: _Measured, size: int) -> None:
        others = (size // 2, size // 4) if size >= _DIVIDED else (2 * size, 4 * size)
        points = [(size, own), *((n, _measured_at(request, dict.fromkeys(names, n))) for n in others)]
        self._own = own
        self._points = [(n, one.figures) for n, one in points if one is not None]
        keys = {frozenset(figures.numbers) for _, figures in self._points}
        self._fits = len(self._points) == len(points) and len(keys) == 1 and size > 0

    def at(self, size: int) -> int | None:
        """Return the bytes of the step at a size; None where the moments differ."""
        if not self._fits:
            return None
        weights, common = _weights_at(size, [n for n, _ in self._points])
        numbers = {
            key: tuple(
                sum(weight * values[key][place] for weight, values in zip(weights, all_, strict=True)) // common
                for place in range(len(first))
            )
            for all_ in [[figures.numbers for _, figures in self._points]]
            for key, first in all_[0].items()
        }
        figures = self._own.figures._replace(numbers=numbers)
        return self._own._replace(figures=figures).step(_OPTIMIZERS[0]).total


def _weights_at(size: int, points: Sequence[int]) -> tuple[list[int], int]:
    """Return the weights of the values at some points in the polynomial through them, over a common divisor."""
    factors = []
    for n in points:
        over = [Fraction(size - other, n - other) for other in points if other != n]
        factors.append(prod(over, start=Fraction(1)))
    common = lcm(*(factor.denominator for factor in factors))
    return [int(factor * common) for factor in factors], common


def _every_length(request: Request) -> Iterator[dict[str, int]]:
    """Yield other batches and lengths, of one pass over all positions."""
    batch = free_batch(request)
    if batch is not None:
        yield from ({"batch": n} for n in BATCHES if n != batch)
    yield from (sizes for sizes in lengths(request) if request.program.caches.past not in sizes)


def _every_size(request: Request) -> Iterator[dict[str, int]]:
    """Yield other sizes of images and sequences, and other batches."""
    yield from _every_length(request)
    yield from image_sizes(request)


def _sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
