"""Memory of a network under combinations of choices, among which a reported number of bytes is looked for.

Bytes of weights under each scheme and of caches at each size come from totals of one program; activations and steps of
training are counted at each size.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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
from netcalc.analysis.training_memory import Training
from netcalc.diagnostics import NetcalcError
from netcalc.dims import integer
from netcalc.dtypes import DType
from netcalc.ir import Program
from netcalc.options import Mixed, Phase, PrecisionName
from netcalc.planning.defaults import common_schemes
from netcalc.planning.phases import request_in_phase
from netcalc.planning.reported_counts import FACTOR, Counted
from netcalc.planning.reported_sizes import BATCHES, LENGTHS, changed_request, free_batch, other_sizes
from netcalc.planning.training import TrainingStep, training_step
from netcalc.request import Request

#: Element types that are searched.
_DTYPES: tuple[DType, ...] = ("float32", "bfloat16")
#: Schemes beside the common ones, and element types of caches.
_SCHEMES = ("f16", "q5_0", "q4_0", "mxfp4_moe")
_CACHE_TYPES = ("fp8", "q8_0")
#: Further numbers of positions, for caches.
_LONG = (4096 * 4, 4096 * 8, 4096 * 16, 4096 * 32, 4096 * 48, 4096 * 64)
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
    for sizes in _every_size(request) if sizes_too else ():
        sized = changed_request(request, sizes)
        if sized is not None:
            yield from _of_pass(sized.with_caches().program, words.and_(_sizes_text(sizes), **sizes), forms)


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
        for optimizer in _OPTIMIZERS if precision is None else _OPTIMIZERS[:1]:
            step = _step(request, Training(optimizer, precision, mixed))
            yield from () if step is None else _of_step(step, optimizer, words)
    for sizes in _every_size(request):
        sized = changed_request(request, sizes)
        step = None if sized is None else _step(sized, Training(_OPTIMIZERS[0]))
        if step is not None:
            words = _Words().and_(_sizes_text(sizes), **sizes)
            named = words.and_(f"training with {_OPTIMIZERS[0]}", "--training", _OPTIMIZERS[0])
            yield named.counted(step.total)


def _step(request: Request, training: Training) -> TrainingStep | None:
    """Return the step of training of a request; None for a network or a precision that cannot be trained so."""
    try:
        return training_step(request, training)
    except NetcalcError:
        return None


def _of_step(step: TrainingStep, optimizer: str, words: _Words) -> Iterator[Counted]:
    memory, training = step.memory, ("--training", optimizer)
    yield words.and_(f"training with {optimizer}", *training).counted(step.total)
    held = step.weights + step.buffers + memory.gradients + memory.held
    static = f"weights, gradients and states of {optimizer}"
    yield words.and_(static, *training).counted(held, "weights, buffers, gradients and states")
    if optimizer == _OPTIMIZERS[0]:
        states = words.and_(f"states of {optimizer}", *training)
        yield states.counted(memory.held, "copies of weights, and states")
        kept = words.and_("kept for the backward pass", *training)
        yield kept.counted(memory.kept, "what is kept for the backward pass")


def _every_size(request: Request) -> Iterator[dict[str, int]]:
    """Yield other sizes of images and sequences, and other batches."""
    batch = dict(request.program.dims).get("batch")
    if isinstance(batch, int) and "batch" not in request.settings:
        yield from ({"batch": n} for n in BATCHES if n != batch)
    yield from other_sizes(request)


def _sizes_text(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name}={size}" for name, size in sizes.items())
