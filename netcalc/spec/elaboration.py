"""State shared by the elaboration of all lines of a spec."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Protocol, TypeAlias

from netcalc.bounded_cache import BoundedCache
from netcalc.diagnostics import Diagnostic
from netcalc.dims import Claims, claims_of, keeps_formulas
from netcalc.ir import Body, InitRule, Node, Value
from netcalc.limits import MAX_BLOCK_DEPTH, MAX_LINES, MAX_TENSORS
from netcalc.opdef import Context
from netcalc.spec.body_cache import BODIES, SKETCHED, BodyKey, CachedBody, Record, has_symbols, hashable
from netcalc.spec.cursor import Cursor, kept
from netcalc.spec.evaluate import evaluate_expression, words_in
from netcalc.spec.expansion import Expansion
from netcalc.spec.library import Block, Loaded, find_block
from netcalc.spec.line_syntax import Line
from netcalc.spec.patches import PatchLog, Pending, patches_of
from netcalc.spec.reporter import LineBudget, Reporter
from netcalc.spec.same_body import DistinctBodies, Structure, are_sketches_apart
from netcalc.spec.scope import PartialBody, Scope
from netcalc.spec.settings import Settings

#: Bodies of one key that are kept for different claims.
_MOST_ALIKE = 8
_NONE = Claims()


class Watch(Protocol):
    """Witness of an elaboration: sees its lines with their results as they are made, also of a spec with errors."""

    def begin(self, elaboration: Elaboration) -> None:
        """Start anew: the lines that follow are those of this elaboration."""

    def line(self, cursor: Cursor, scope: Scope, value: Value | None, nodes: list[Node]) -> Any:
        """See a line with its value, whose type is None after an error, and the nodes that it added to its body.

        The note of it that is returned is for :meth:`again`; None if it is of no interest.
        """

    def again(self, note: Any) -> None:
        """See a line of a body that is reused."""


class Elaboration:
    """Settings, diagnostics and finished bodies of one elaboration, and the function that elaborates nested lines.

    Lines that hold lines (branches, sequences, blocks, repeats) call :meth:`lines`; the function behind it is passed
    in, since it depends on the modules that call it.
    """

    def __init__(self, loaded: Loaded, settings: Settings, ctx: Context, elaborate_lines: Elaborate) -> None:
        self.loaded = loaded
        self.settings = settings
        self.ctx = ctx
        self.reporter = Reporter()
        self.budget = LineBudget(self.reporter)
        self.expansion = Expansion(self.reporter)
        self.bodies: dict[BodyKey, Body] = {}
        self._distinct_bodies = DistinctBodies()
        self._claims: dict[BodyKey, Claims] = {}  # of bodies of this program with symbolic sizes
        self._kept: dict[BodyKey, CachedBody] = {}  # stored bodies, by the keys of bodies of this program
        self._records: list[Record] = []  # of the bodies being elaborated, outermost first
        self.patches = patches_of(loaded.cursor)
        self.patch_log = PatchLog()
        self.main = PartialBody(loaded.document.name or "main", loaded)
        self.called: set[tuple[str, str]] = set()  # blocks that are called, name and file, if the spec has blocks
        self.frozen = False  # True while the parameters that are made are not trained
        self.initializers: dict[InitRule, None] = {}  # by pattern; they precede the spec's own
        self._store: BoundedCache[CachedBody] = loaded.kept if loaded.blocks else BODIES
        self._sketches, self._keeps_claims = True, False
        self.may_count = False  # True for a sketch with symbolic numbers of iterations
        self.watch: Watch | None = None
        self._witnessed: set[int] = set()  # kept bodies whose lines the witness has seen
        self._elaborate_lines = elaborate_lines

    def lines(self, cursor: Cursor, scope: Scope, current: Value | None) -> Value | None:
        """Elaborate a list of lines, each applied to the value of the one before; return the last value."""
        return self._elaborate_lines(self, cursor, scope, current)

    def root_scope(
        self,
        body: PartialBody,
        arguments: dict[str, Any] | None = None,
        patches: tuple[Pending, ...] = (),
        home: Loaded | None = None,
    ) -> Scope:
        """Return the outermost scope of a body, or of the lines of a block from another file (``home``) in it.

        Only the spec's own blocks and patches see its dims and vars.
        """
        settings = self.settings if patches else self.settings_of(home or body.home)
        return Scope(body, settings, variables=arguments or {}, patches=patches, default_dtype=self.ctx.dtype)

    def settings_of(self, home: Loaded) -> Mapping[str, Any]:
        """Return the dims and vars that the blocks of a spec see: none unless it is the spec being elaborated."""
        return self.settings if home is self.loaded else {}

    def block(self, name: str, home: Loaded) -> Block | None:
        """Return the block that a name stands for in the lines of a file; None if there is none."""
        found = find_block(name, home, self.loaded)
        if self._records and self.loaded.blocks:
            of = None if home is self.loaded else home
            self._records[-1].found[name, of] = None if found is None else found.cursor
        return found

    def see(self, cursor: Cursor, scope: Scope, value: Value | None, before: int) -> None:
        """Let the witness see a line, and the nodes that its body has beside the first ``before``."""
        if self.watch is not None:
            note = self.watch.line(cursor, scope, value, scope.body.nodes[before:])
            if note is not None and self._records:
                self._records[-1].notes.append(note)

    # -- bodies of blocks -------------------------------------------------------------------------

    def body(self, key: BodyKey) -> Body | None:
        """Return the body of a block, of this elaboration or kept from another one; None if there is none."""
        body = self.bodies.get(key)
        for name in () if body is not None else self._names(key):
            entry = self._store.get(name)
            if entry is None:
                break
            is_near = len(self.reporter.chain) + entry.depth > MAX_BLOCK_DEPTH
            if not is_near and entry.claims.hold() and self._adopt(entry):
                body = entry.body
                break
        if body is not None:
            self._claims.get(key, _NONE).note()
            entry = self._kept.get(key)
            if self._records:
                self._records[-1].note(entry)
            if entry is not None and self.watch is not None:
                self._see_again(entry)
        return body

    def _see_again(self, stored: CachedBody) -> None:
        """Let the witness see the lines of a body that is reused, in the order of their elaboration."""
        if id(stored) in self._witnessed or self.watch is None:
            return
        self._witnessed.add(id(stored))
        for note in stored.notes or ():
            if isinstance(note, CachedBody):
                self._see_again(note)
            else:
                self.watch.again(note)

    def elaborated(self, key: BodyKey, elaborate: Callable[[], Body]) -> Body:
        """Return the body that a function elaborates; it is stored for reuse if the key determines it."""
        reporter, outer = self.reporter, self.reporter.deepest
        lines, tensors = self.budget.used, self.expansion.tensors
        made = Record(lines, tensors, len(reporter.diagnostics))
        start = reporter.deepest = len(reporter.chain)
        self._records.append(made)
        try:
            body, claims = claims_of(elaborate)
        finally:
            self._records.pop()
            depth, reporter.deepest = reporter.deepest - start, max(outer, reporter.deepest)
        if any(claims):
            self._claims[key] = claims
        structure = Structure(body)
        self.bodies[key] = body = self._distinct_bodies.distinct(body, structure)
        name = next(
            (name for name in self._names(key) if self._store.get(name) is None or not self._keeps_claims), None
        )
        if name is not None and made.lasting and made.errors == len(reporter.diagnostics):
            stored = CachedBody(
                key,
                body,
                structure,
                self.budget.used - made.lines,
                self.expansion.tensors - made.tensors,
                tuple(made.inner.values()),
                tuple(made.anonymous),
                frozenset(made.called),
                depth,
                made.found,
                None if self.watch is None else tuple(made.notes),
                claims,
            )
            self._kept[key] = self._store.put(name, stored, 1 + len(body.nodes))
            self._witnessed.add(id(self._kept[key]))
        if self._records:
            self._records[-1].note(self._kept.get(key), self.budget.used - lines, self.expansion.tensors - tensors)
        return body

    @property
    def is_in_block(self) -> bool:
        """True while the body of a block is elaborated."""
        return bool(self._records)

    @property
    def may_sketch(self) -> bool:
        """True if bodies of blocks may come from sketches: not where dims and vars are seen, nor close to a limit."""
        near = self.budget.used > MAX_LINES // 2 or len(self.reporter.chain) > MAX_BLOCK_DEPTH // 2
        return self._sketches and not near and not self.loaded.blocks and self._surroundings == ()

    def apart(self, home: Loaded) -> Callable[[], Elaboration]:
        """Return a function that makes elaborations of shipped blocks in the same mode, which store no bodies."""
        ctx, elaborate_lines = self.ctx, self._elaborate_lines  # and nothing else of this elaboration

        def make() -> Elaboration:
            own = Elaboration(replace(home, blocks={}), Settings(home, {}, ()), ctx, elaborate_lines)
            own._surroundings, own._sketches = None, False
            return own

        return make

    def for_sketch(self) -> None:
        """Prepare for a sketch: store no bodies, use no sketches, allow symbolic numbers of iterations."""
        self._surroundings, self._sketches, self.may_count = None, False, True

    def for_form(self, store: BoundedCache[CachedBody]) -> None:
        """Prepare for a form: use and store bodies with symbolic sizes, whose claims hold at the default sizes."""
        self.for_sketch()
        if not self.loaded.blocks:
            self._store, self._surroundings, self._keeps_claims = store, keeps_formulas(), True

    def take(self, key: BodyKey, body: Body) -> Body:
        """Return the body of a block from a sketch, or an equal one of this elaboration; it is kept."""
        structure = Structure(body)
        self.bodies[key] = body = self._distinct_bodies.distinct(body, structure)
        stored = CachedBody(key, body, structure, 0, 0, (), (), frozenset(), MAX_BLOCK_DEPTH // 2, {}, ())
        self._kept[key] = stored = self._store.put(self._name(key), stored, SKETCHED)
        if self._records:
            self._records[-1].note(stored)
        return body

    def distinct(self, body: Body) -> Body:
        """Return the first body that is the same as this one, which has no block of its own."""
        structure = Structure(body)
        body = self._distinct_bodies.distinct(body, structure)
        if self._records:
            self._records[-1].anonymous.append((structure, body))
        return body

    def note_called(self, block: Block) -> None:
        """Note that a block is called, for warnings about blocks of the spec that are not."""
        if not self.loaded.blocks:
            return
        self.called.add((block.name, block.home.label))
        if self._records:
            self._records[-1].called.add((block.name, block.home.label))

    def warn(self, warning: Diagnostic) -> None:
        """Add a warning, once; the body being elaborated is not stored, so that the next elaboration warns too."""
        if warning not in self.settings.warnings:
            self.settings.warnings.append(warning)
        self.bind_to_spec()

    def bind_to_spec(self) -> None:
        """Mark the body being elaborated as dependent on more than its key, so that it is not stored."""
        if self._records:
            self._records[-1].lasting = False

    def _names(self, key: BodyKey) -> list[Any]:
        """Return the keys of a body among those that are kept: several where bodies differ in their claims."""
        name = self._name(key)
        if name is None:
            return []
        return [(name, number) for number in range(_MOST_ALIKE)] if self._keeps_claims else [name]

    def _name(self, key: BodyKey) -> Any:
        """Return the key of a body among those that are kept; None if it is not kept."""
        if key.patches or self._surroundings is None:
            return None
        return (*key, self.ctx.training, self.ctx.dtype, self._surroundings, are_sketches_apart())

    def _adopt(self, stored: CachedBody) -> bool:
        """Reuse a stored body and the bodies inside it; return False if it has to be elaborated.

        It has to be elaborated if this elaboration already has another body of the same key, if it would exceed a
        limit, if a name in it stands for another block now, or if there is a witness now.
        """
        adopted = self.bodies.get(stored.key)
        if adopted is not None:
            return adopted is stored.body
        if self.loaded.blocks and (self.watch is not None) > (stored.notes is not None):
            return False
        for (name, home), cursor in stored.found.items():
            found = find_block(name, home or self.loaded, self.loaded)
            if (None if found is None else found.cursor) is not cursor:
                return False
        if not all(map(self._adopt, stored.inner)):
            return False
        if self.budget.used + stored.lines > MAX_LINES or self.expansion.tensors + stored.tensors > MAX_TENSORS:
            return False
        distinct = self._distinct_bodies.distinct
        for structure, body in (*stored.anonymous, (stored.structure, stored.body)):
            if distinct(body, structure) is not body:
                return False
        self.budget.used += stored.lines
        self.expansion.tensors += stored.tensors
        self.called |= stored.called
        self.bodies[stored.key], self._kept[stored.key] = stored.body, stored
        if any(stored.claims):
            self._claims[stored.key] = stored.claims
        if self._records:
            self._records[-1].lines += stored.lines
            self._records[-1].tensors += stored.tensors
        return True

    @cached_property
    def _surroundings(self) -> Any:
        """The values of the names of the spec that its blocks may see; None if bodies are not kept."""
        settings, loaded = self.settings, self.loaded
        if any(has_symbols(settings[name]) for name in settings):
            return None
        if not loaded.blocks:
            return ()
        blocks = [block.cursor for block in loaded.blocks.values()]
        words = (kept(block.derived, words_in, partial(words_in, block.data)) for block in blocks)
        names = kept(loaded.derived, "names", lambda: frozenset().union(*words))
        if not names.isdisjoint(settings.former):
            return None
        return tuple((name, hashable(settings[name])) for name in settings if name in names)

    def freezing(self, line: Line, scope: Scope) -> AbstractContextManager[None]:
        """Freeze the parameters made inside if the line or an enclosing one has a true ``freeze``."""
        freeze = line.modifier("freeze")
        return nullcontext() if freeze is None else self._freezing(freeze, scope)

    @contextmanager
    def _freezing(self, freeze: Cursor, scope: Scope) -> Iterator[None]:
        outer = self.frozen
        self.frozen = outer or bool(evaluate_expression(freeze, scope))
        try:
            yield
        finally:
            self.frozen = outer


#: Function that elaborates a list of lines from a value in a scope and returns the last value.
Elaborate: TypeAlias = Callable[[Elaboration, Cursor, Scope, Value | None], Value | None]
