"""State shared by the elaboration of all lines of a spec."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeAlias

from netcalc.ir import Body, Value
from netcalc.opdef import Context
from netcalc.spec.cursor import Cursor
from netcalc.spec.evaluate import evaluate_expression
from netcalc.spec.expansion import Expansion
from netcalc.spec.library import Loaded
from netcalc.spec.line_syntax import Line
from netcalc.spec.patches import PatchLog, Pending, patches_of
from netcalc.spec.reporter import LineBudget, Reporter
from netcalc.spec.same_body import DistinctBodies
from netcalc.spec.scope import PartialBody, Scope
from netcalc.spec.settings import Settings

__all__ = ["Elaborate", "Elaboration"]


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
        self.bodies: dict[Any, Body] = {}  # by block, arguments, input types and freezing
        self.distinct_bodies = DistinctBodies()
        self.patches = patches_of(loaded.cursor)
        self.patch_log = PatchLog()
        self.main = PartialBody(loaded.document.name or "main", loaded)
        self.called: set[str] = set()  # names of the spec's own blocks that are called
        self.frozen = False  # True while the parameters that are made are not trained
        self.initialisers: dict[tuple[str, str, None], None] = {}  # by pattern; they precede those of the spec
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
        return Scope(body, settings, variables=arguments or {}, patches=patches)

    def settings_of(self, home: Loaded) -> Mapping[str, Any]:
        """Return the dims and vars that the blocks of a spec see: none unless it is the spec at hand."""
        return self.settings if home is self.loaded else {}

    @contextmanager
    def freezing(self, line: Line, scope: Scope) -> Iterator[None]:
        """Freeze the parameters made inside if the line or an enclosing one has a true ``freeze``."""
        freeze, outer = line.modifier("freeze"), self.frozen
        self.frozen = outer or (freeze is not None and bool(evaluate_expression(freeze, scope)))
        try:
            yield
        finally:
            self.frozen = outer


#: Function that elaborates a list of lines from a value in a scope and returns the last value.
Elaborate: TypeAlias = Callable[[Elaboration, Cursor, Scope, Value | None], Value | None]
