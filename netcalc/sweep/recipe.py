"""Recipes of sweeps: everything that a process needs to evaluate points of a plan, as bytes for other processes."""

from __future__ import annotations

import hashlib
import json
import pickle
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from netcalc.bounded_cache import BoundedCache
from netcalc.diagnostics import Diagnostic, NetcalcError, with_hint
from netcalc.request import Request
from netcalc.spec.library import Loaded
from netcalc.sweep.plan import Plan
from netcalc.version import __version__

if TYPE_CHECKING:
    from netcalc.sweep.evaluation import Evaluator

#: Evaluators that a thread of a worker keeps, for as many sweeps.
_MOST_EVALUATORS = 2


class Chunk(NamedTuple):
    """Points of a plan from ``start`` to before ``stop`` with their figures.

    Attributes:
        start: place of the first point.
        stop: place behind the last point.
        columns: values of the points by name.
        figures: figures of the points by name; None for a point that is refused.
        reasons: why a point is refused; None for the others.
    """

    start: int
    stop: int
    columns: Mapping[str, Sequence[Any]]
    figures: Mapping[str, Sequence[int | None]]
    reasons: Sequence[str | None]


class Evaluation(NamedTuple):
    """A chunk, and the seconds that its evaluation took."""

    chunk: Chunk
    seconds: float


@dataclass(frozen=True, eq=False)
class Recipe:
    """A spec with its settings, a plan and figures, as they travel to other processes.

    The bytes hold the spec itself with its parents and blocks, so that a worker reads no file but those of netcalc.

    Attributes:
        version: version of netcalc that made it, which is that of all workers.
        figures: names of the figures.
        content: request, figures and plan, pickled and compressed.
    """

    version: str
    figures: tuple[str, ...]
    content: bytes

    @classmethod
    def of(cls, request: Request, plan: Plan, figures: Sequence[str]) -> Recipe:
        """Return the recipe of a request whose settings the points of a plan replace."""
        # a request as it was asked for, without its programs; values of buffers make no figure
        asked = replace(request, constants={})
        content = pickle.dumps((asked, tuple(figures), plan), protocol=5)
        return cls(__version__, tuple(figures), zlib.compress(content))

    def evaluated(self, start: int, stop: int) -> Evaluation:
        """Return the points from ``start`` to before ``stop`` of the plan with their figures.

        Raises:
            NetcalcError: E502 in a process with another version of netcalc.
        """
        begin = perf_counter()
        if self.version != __version__:
            raise other_version(self.version, [__version__])
        try:
            plan, evaluator = _evaluator(self.content)
            columns = plan.columns(start, stop)
            found = evaluator.evaluate(columns)
        except NetcalcError as error:  # of plain data, as it goes to another process
            raise NetcalcError(problem._replace(bindings={}) for problem in with_hint(error).diagnostics) from None
        return Evaluation(Chunk(start, stop, columns, found.figures, found.reasons), perf_counter() - begin)


def other_version(version: str, others: Sequence[str]) -> NetcalcError:
    """Return the error of workers with other versions of netcalc."""
    message = f"--on: the sweep is one of netcalc {version}, but workers have netcalc {', '.join(others)}"
    return NetcalcError(Diagnostic("E502", message, hint=f"install netcalc {version} on all workers"))


def source_digests(source: Loaded) -> dict[str, str]:
    """Return the SHA-256 of every spec that a spec is made of, by label: its own, its parents and those of blocks.

    The digest is of the data, not of comments and of the way in which the text is written.
    """
    digests: dict[str, str] = {}
    for loaded in _sources(source):
        text = json.dumps(loaded.cursor.data, sort_keys=True, default=str)
        digests.setdefault(loaded.label, hashlib.sha256(text.encode()).hexdigest())
    return digests


def _sources(source: Loaded) -> Iterator[Loaded]:
    pending, seen = [source], set()
    while pending:
        loaded = pending.pop()
        if id(loaded) in seen:
            continue
        seen.add(id(loaded))
        yield loaded
        pending += [] if loaded.parent is None else [loaded.parent]
        pending += [block.home for block in loaded.blocks.values()]


class _Local(threading.local):
    """Plans and evaluators of a thread: evaluators are not shared, as they keep what they find."""

    def __init__(self) -> None:
        self.known: BoundedCache[tuple[Plan, Evaluator]] = BoundedCache(_MOST_EVALUATORS)


_local = _Local()


def _evaluator(content: bytes) -> tuple[Plan, Evaluator]:
    """Return plan and evaluator of a recipe, which a thread makes once."""
    from netcalc.sweep.evaluation import Evaluator

    known = _local.known.get(content)
    if known is None:
        request, figures, plan = pickle.loads(zlib.decompress(content))
        known = _local.known.put(content, (plan, Evaluator(request, figures, plan.names)))
    return known
