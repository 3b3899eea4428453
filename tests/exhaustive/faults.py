"""Faults planted in every family of operations, one of each kind: rate at which ``verify --values`` finds them.

Those of gradients and of what is saved for them are looked for with ``--backward`` too, and so are those of
initializers, conventions and memory, which are planted in functions and shown by small networks.

A fault is a change of the source of a rule, a kernel or a lowering, or of both alike, in this process. A change that
no variation of the family's operations shows is none, and another is drawn; so is one that breaks every run.
"""

from __future__ import annotations

import argparse
import itertools
import random
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, NamedTuple, Protocol

import numpy as np

from netcalc import dtypes, ops
from netcalc.dims import value_at
from netcalc.engine.lower.registry import find_lowering
from netcalc.engine.run import forward
from netcalc.ir import OpNode, Program
from netcalc.numerics.generators import generator
from netcalc.numerics.inputs import run_inputs
from netcalc.numerics.interpret import run_operation
from netcalc.numerics.kernels import KERNELS, TABLES, UFUNCS, wide
from netcalc.numerics.parameters import Parameters
from netcalc.numerics.tape import Tape, added
from netcalc.numerics.vjps import VJPS
from netcalc.opdef import Context, as_tuple
from netcalc.ops.backward import declaration
from netcalc.verification import definitions
from netcalc.verification.verify import Check, VerifyReport, verify
from tests.exhaustive import network_faults
from tests.exhaustive.mutation import Site, forget, function_sites, method_sites, module_sites, replaced
from tests.exhaustive.variations import Variation, variations

_IN_FAMILIES = ("shape", "kernel", "alike", "promotion", "mask", "parameter", "cost", "planned", "gradient", "saved")
KINDS = (*_IN_FAMILIES, *network_faults.KINDS)
_BACKWARD = ("gradient", "saved")
_BY_VALUE = ("values", "gradients", "initial values", "conventions", "memory")
#: The least share of faults that is to be found, and of each kind of which more is promised.
LEAST = 0.85
LEAST_OF = dict.fromkeys(("gradient", "saved", *network_faults.KINDS), 0.95)
#: Changes that are drawn for a family and kind until one shows.
DRAWS = 12
#: One of so many families, and of so many functions, is in the sample.
SAMPLED, SAMPLED_TOPICS = 14, 40
#: Words of statements on masks.
MASKS = ("mask", "causal", "visible", "window", "valid", "lengths", "ignore", "padding_idx", "diagonal", "kept")
_NOT_SHAPE = ("cost", "expected_cost", "params", "reach", "active", "named", "reductions", "results", "by_axis")
_OTHER = {"float32": "float64", "float64": "float32", "float16": "float32", "bfloat16": "float32", "bool": "uint8"}


class Case(Protocol):
    """A program that a fault may show in."""

    def program(self) -> Program:
        """Return the program; its rules run."""


class Outcome(NamedTuple):
    """A planted fault, and whether it was found with and without the comparison of values."""

    family: str
    kind: str
    where: str
    change: str
    found: bool
    found_without: bool


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--family", action="append", choices=tuple(ops.FAMILIES), help="only these families")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only these kinds")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Plant the faults; return rates by kind and by family, and the faults that were missed."""
    outcomes: list[Outcome] = []
    kinds = options.kind or (_IN_FAMILIES if options.family else KINDS)
    for outcome in every(kinds, options.seed, options.family):
        outcomes.append(outcome)
        mark = "found " if outcome.found else "MISSED"
        print(f"{mark} {outcome.family} {outcome.kind}: {outcome.where} {outcome.change}", flush=True)
    result = summary(outcomes) | {"seed": options.seed}
    _print(result)
    return result, _shortfalls(outcomes)


def _shortfalls(outcomes: Sequence[Outcome]) -> list[str]:
    """Return the groups of faults of which too few were found."""
    groups = {"all kinds": ([*outcomes], LEAST)}
    groups |= {kind: ([o for o in outcomes if o.kind == kind], least) for kind, least in LEAST_OF.items()}
    return [
        f"{sum(o.found for o in found)} of {len(found)} faults of {name} were found, less than {least:.0%}"
        for name, (found, least) in groups.items()
        if sum(o.found for o in found) < least * len(found)
    ]


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Plant the faults of some families again; changes of the source draw other faults, and only the rate is fixed."""
    families = list(ops.FAMILIES)[::SAMPLED]
    outcomes = [*every(KINDS, result["seed"], families, SAMPLED_TOPICS)]
    return {f"at least {LEAST:.0%} are found": sum(o.found for o in outcomes) >= LEAST * len(outcomes)}


def every(kinds: Sequence[str], seed: int, families: Sequence[str] | None = None, step: int = 1) -> Iterator[Outcome]:
    """Yield the outcomes of the faults of these kinds; of those in functions, of every ``step``-th function."""
    for family in families or ops.FAMILIES:
        yield from planted(family, [kind for kind in kinds if kind in _IN_FAMILIES], seed)
    for kind in kinds:
        if kind in network_faults.KINDS:
            yield from planted_in_functions(kind, seed, step)


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the numbers of faults planted and found, by kind and by family."""

    def counts(chosen: Sequence[Outcome]) -> dict[str, int]:
        return {
            "planted": len(chosen),
            "found": sum(o.found for o in chosen),
            "without_values": sum(o.found_without for o in chosen),
        }

    return {
        "total": counts(outcomes),
        "kinds": {kind: counts([o for o in outcomes if o.kind == kind]) for kind in KINDS},
        "families": {
            f: counts([o for o in outcomes if o.family == f]) for f in dict.fromkeys(o.family for o in outcomes)
        },
        "missed": [f"{o.family} {o.kind}: {o.where} {o.change}" for o in outcomes if not o.found],
        "unseen": list(definitions.UNSEEN),
    }


def planted(family: str, kinds: Sequence[str], seed: int) -> Iterator[Outcome]:
    """Yield the outcome of one fault of each kind that the family has."""
    every = [case for name in ops.FAMILIES[family] for case in variations(name)]
    for kind in kinds:
        backward = kind in _BACKWARD
        cases = [case for case in every if _has_gradients(case)] if backward else every
        rng = random.Random(f"{seed} {family} {kind}")
        sites = list(_sites(family, kind, cases, rng))
        rng.shuffle(sites)
        observe = _observed_backward if backward else _observed
        yield from itertools.islice(_outcomes(family, kind, sites, cases, observe), 1)


def planted_in_functions(kind: str, seed: int, step: int = 1) -> Iterator[Outcome]:
    """Yield the outcomes of the faults in functions of a kind that figures of networks follow from."""
    found = [topic for topic in network_faults.topics(kind) if topic.sites]
    for topic in found[::step]:
        sites = [*topic.sites]
        random.Random(f"{seed} {topic.name}").shuffle(sites)
        outcomes = _outcomes(kind, kind, sites, topic.cases, partial(network_faults.observed, kind))
        yield from itertools.islice(outcomes, network_faults.EACH[kind])


def _outcomes(
    family: str, kind: str, sites: Sequence[Site], cases: Sequence[Case], observe: Callable[[Any], list[Any]]
) -> Iterator[Outcome]:
    """Yield the outcomes of the first changes that show."""
    for site in sites[:DRAWS]:
        whole = kind in network_faults.KINDS
        found = _judged(site, cases, observe, backward=whole or kind in _BACKWARD, refusals=not whole)
        if found is not None:
            yield Outcome(family, kind, site.where, site.change(), *found)


def _sites(family: str, kind: str, cases: Sequence[Variation], rng: random.Random) -> Iterator[Site]:
    declared = [ops.every()[name] for name in ops.FAMILIES[family]]
    kernels = import_module(f"netcalc.numerics.kernels.{family}")
    registries = (KERNELS, TABLES, UFUNCS)
    if kind == "kernel":
        yield from module_sites(kernels, registries)
    elif kind == "mask":
        yield from module_sites(kernels, registries, MASKS)
    elif kind in ("cost", "parameter", "shape"):
        names = {"cost": ("cost",), "parameter": ("params",)}.get(kind)
        for one in declared:
            yield from method_sites(one, lambda n: n in names if names else n not in _NOT_SHAPE and n[:2] != "__")
    elif kind == "gradient":
        if find_spec(name := f"netcalc.numerics.vjps.{family}") is not None:
            yield from module_sites(import_module(name), (VJPS,))
    elif kind == "saved":
        for backward in {type(declaration(case.op)): None for case in cases}:
            yield from method_sites(backward, lambda n: n == "saves")
    elif kind == "alike":
        yield from _alike(cases)
    elif kind == "promotion":
        yield from _promotions(family, cases)
    else:
        lowerings = {lower.__module__ for one in declared if (lower := find_lowering(one)) is not None}
        names_ = {n for m in lowerings for n in _imported(m)} | lowerings
        for name in sorted(names_):
            yield from function_sites(sys.modules[name])


def _imported(module: str) -> Iterator[str]:
    """Yield the modules with arithmetic that a lowering uses."""
    package = module.rpartition(".")[0]
    for value in vars(sys.modules[module]).values():
        source = str(getattr(value, "__module__", ""))
        if source.startswith(package) and "lower." in source and callable(value) and hasattr(value, "__code__"):
            yield source


def _alike(cases: Sequence[Variation]) -> Iterator[Site]:
    """Yield faults of rules, kernels and plans alike: all take another value of an attribute than the definition."""
    for case in cases:
        for other in cases:
            if other.op != case.op and other[1:] == case[1:] and type(other.op) is type(case.op):
                yield _alike_site(case, other)


def _alike_site(case: Variation, other: Variation) -> Site:
    return Site(case.op.name, lambda: f"{case.op!r} taken as {other.op!r}", lambda: _taken_as(case, other))


@contextmanager
def _taken_as(case: Variation, other: Variation) -> Iterator[Callable[[Variation], Variation]]:
    """Replace the operation of a case, except in the comparison with definitions."""
    values, table = definitions.compare_values, definitions.compare_table
    with ExitStack() as stack:
        stack.enter_context(replaced(values, lambda op, *a, **o: values(case.op if op == other.op else op, *a, **o)))
        stack.enter_context(replaced(table, lambda op, *a, **o: table(case.op if op == other.op else op, *a, **o)))
        yield lambda given: other if given == case else given


def _promotions(family: str, cases: Sequence[Variation]) -> Iterator[Site]:
    """Yield faults of element types that rules and kernels share."""
    if any(name in vars(import_module(f"netcalc.ops.{family}")) for name in ("promote", "result_type")):
        yield from function_sites(dtypes, ("promote", "result_type", "scalar_dtype", "_promote_two", "_kind"))
    for name in ops.FAMILIES[family]:
        results = {type_.dtype for case in cases if case.op.name == name for type_ in _output_types(case)}
        for dtype in sorted(results):
            yield _type_site(name, dtype, _OTHER.get(dtype, "int8"))


def _type_site(name: str, dtype: str, other: str) -> Site:
    return Site(name, lambda: f"results of {dtype} are {other}", lambda: _of_type(name, dtype, other))


def _output_types(case: Variation) -> Sequence[Any]:
    return as_tuple(case.op.infer(Context(training=case.training), *case.types))


@contextmanager
def _of_type(name: str, dtype: Any, other: Any) -> Iterator[None]:
    """Change results of one type into another, in the rule and in the kernel."""
    declared, kernel = ops.every()[name], KERNELS.get(name)
    assert kernel is not None
    right = declared.infer

    def infer(self: Any, *given: Any) -> Any:
        types = tuple(t.with_dtype(other) if t.dtype == dtype else t for t in as_tuple(right(self, *given)))
        return types if len(types) > 1 else types[0]

    def changed(*given: Any, **params: Any) -> Any:
        result = kernel(*given, **params)
        parts = result if isinstance(result, tuple) else (result,)
        return tuple(np.asanyarray(p).astype(other) if np.asanyarray(p).dtype.name == dtype else p for p in parts)

    with replaced(kernel, changed):
        own = "infer" in vars(declared)
        declared.infer = infer  # type: ignore[method-assign]
        try:
            yield
        finally:
            if own:
                declared.infer = right  # type: ignore[method-assign]
            else:
                del declared.infer


def _judged(
    site: Site, cases: Sequence[Case], observe: Callable[[Any], list[Any]], *, backward: bool, refusals: bool
) -> tuple[bool, bool] | None:
    """Return whether a fault is found with and without values; None if it shows nowhere, or breaks every run.

    With ``refusals`` a fault shows too where it makes a rule refuse a program.
    """
    found = found_without = ran = False
    try:
        with site.planted() as changed:
            taken = changed or (lambda given: given)
            for case in cases:
                report = _verified(taken(case), backward=backward)
                if report is None:
                    continue
                ran = ran or all(check.what not in ("run", "planned run") for check in report.checks)
                found = found or not report.ok
                found_without = found_without or any(c.group not in _BY_VALUE for c in report.failures)
                if ran and (found_without or (found and not refusals)):
                    break
            if found:
                return (found, found_without) if ran else None
            observed = [observe(taken(case)) for case in cases]
    except (SyntaxError, NameError, TypeError, ValueError, KeyError, AttributeError, IndexError):
        return None  # the changed source does not load
    pairs = [(one, observe(case)) for one, case in zip(observed, cases, strict=True)]
    if refusals:
        return None if all(_same(*pair) for pair in pairs) else (False, False)
    # a network that is refused has no figures that could be wrong
    return None if all(_same(one, other) or _is_refused(one) for one, other in pairs) else (False, False)


def _is_refused(seen: list[Any]) -> bool:
    return len(seen) == 1 and isinstance(seen[0], str)


@cache
def _has_gradients(case: Variation) -> bool:
    """Return True for a case whose backward pass is verified, values included."""
    if declaration(case.op) is None:
        return False
    report = _verified(case, backward=True)
    return report is not None and report.ok and bool(report.gradients)


def _verified(case: Case, *, backward: bool) -> VerifyReport | None:
    """Return the report on a case; None if it is refused, or its rules fail."""
    with _alarm(20):
        try:
            forget()
            program = case.program()
        except Exception:  # a broken rule may raise anything, and gives no network to verify
            return None
        try:
            return verify(program, values=True, backward=backward)
        except Exception as error:  # a fault that breaks the verification does not pass unseen
            return VerifyReport("", (Check("", "", "run", "a report", f"{type(error).__name__}: {error}"),), 0)


def _observed(case: Variation) -> list[Any]:
    """Return all that a user can see of a case: types, parameters, work and results."""
    with _alarm(20):
        try:
            forget()
            program = case.program()
            (node,) = program.main.nodes
            assert isinstance(node, OpNode)
            work: Counter[str] = Counter()
            for term in case.op.cost(Context(training=case.training), node.input_types, node.output_types):
                work[term.kind] += value_at(term.count, {})
            plans = ("reference", "fast")
            results = [forward(program, plan=plan, threads=1).outputs for plan in plans]  # type: ignore[arg-type]
        except Exception as error:  # as above
            return [f"{type(error).__name__}"]
    shapes = [(param.name, param.shape, param.init) for param in node.params]
    return [node.output_types, shapes, +work, *(array for outputs in results for array in outputs.values())]


def _observed_backward(case: Variation) -> list[Any]:
    """Return all that a user can see of the backward pass of a case: what is saved, and gradients."""
    with _alarm(20):
        try:
            forget()
            program = case.program()
            inputs = frozenset(spec.name for spec in program.inputs)
            rng = generator(0, "/run")
            tape = Tape(program, Parameters(program, seed=0).fetch, lambda path: True, inputs, rng, run_operation)
            outputs = tape.run(run_inputs(program, None, 0))
            saved = [array for record in tape.records for array in record.saved.values()]
            predicted = [(one.name, one.type) for record in tape.records for one in record.declared]
            seeds = [
                rng.normal(size=one.array.shape).astype(one.array.dtype) if one.wanted else None for one in outputs
            ]
            gradients = dict(tape.backward(added(outputs, seeds)))
        except Exception as error:  # as above
            return [type(error).__name__]
    return [predicted, *saved, *map(gradients.get, sorted(gradients, key=str))]


def _same(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(map(_equal, one, other))


def _equal(one: Any, other: Any) -> bool:
    if not isinstance(one, np.ndarray) or not isinstance(other, np.ndarray):
        return bool(type(one) is type(other) and one == other)
    if (one.shape, one.dtype) != (other.shape, other.dtype):
        return False
    close = 2e-3 if one.dtype.itemsize == 2 else 1e-5
    finite = np.isfinite(wide(other))
    largest = float(np.abs(wide(other)[finite]).max(initial=0))
    return np.allclose(wide(one), wide(other), rtol=close, atol=close * largest, equal_nan=True)


@contextmanager
def _alarm(seconds: int) -> Iterator[None]:
    def ring(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def _print(result: dict[str, Any]) -> None:
    for group in ("kinds", "families"):
        for name, counts in result[group].items():
            print(f"{name:16}" + "".join(f"{key} {count:4}  " for key, count in counts.items()))
    print("total           " + "".join(f"{key} {count:4}  " for key, count in result["total"].items()))
    for fault in result["unseen"]:
        print(f"cannot be seen: {fault}")
