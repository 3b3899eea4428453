"""A text of a spec in an editor: what is wrong with it, and the results of its lines, after every change."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.language.analysis import Analysis, Options, State, analysis_of, analyze
from netcalc.language.completion import Completion, complete, described
from netcalc.language.facts import Facts
from netcalc.language.formatting import formatted
from netcalc.language.hovering import Hover, hover
from netcalc.language.navigation import Location, Part, definitions, references, rename, renamed_range, tree
from netcalc.language.positions import Edit, Lines, Position, Range, applied
from netcalc.language.problems import Problem
from netcalc.language.reading import Reading
from netcalc.spec.open_files import OpenFiles

#: Keys with names of files.
_FILES = re.compile(r"\b(?:extends|import)\b")


class Document:
    """A text of a spec that may be incomplete or wrong, and what is known of it.

    Args:
        text: the text.
        path: the file that it is the text of, which need not exist or have this text.
        folder: where the files that it extends and imports are looked up; by default that of the file.
        options: convention, symbolic dims, settings.
        opened: texts of other files, which are read in place of those on disk.

    >>> document = Document("netcalc: 1\\ninputs: {x: [1, 8]}\\nlayers:\\n  - linear: 4\\n  - relo\\n")
    >>> [hint.text() for hint in document.analyze().hints]
    ['→ 1×4 · 36']
    >>> [(problem.message, problem.hint) for problem in document.analyze().problems]
    [("unknown operation or block 'relo'", "did you mean 'relu'?")]
    """

    def __init__(
        self,
        text: str,
        path: str | Path | None = None,
        *,
        folder: str | Path | None = None,
        options: Options | None = None,
        opened: OpenFiles | None = None,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.folder = None if folder is None else Path(folder)
        self._options = options or Options()
        self._opened = opened or OpenFiles()
        self._text = text
        self._reading = Reading()
        self._state: State | None = None
        self._analysis: Analysis | None = None
        self._facts: Facts | None = None

    @property
    def text(self) -> str:
        """The text."""
        return self._text

    @property
    def options(self) -> Options:
        """The choices by which it is analyzed."""
        return self._options

    def update(self, text: str) -> None:
        """Replace the text."""
        if text != self._text:
            self._text = text
            self.forget()

    def edit(self, edits: Iterable[Edit]) -> None:
        """Apply edits whose ranges refer to the present text and do not overlap."""
        self.update(applied(self._text, list(edits)))

    def configure(self, options: Options) -> None:
        """Replace the choices by which it is analyzed."""
        if options != self._options:
            self._options = options
            self.forget()

    def forget(self) -> None:
        """Analyze the text anew when something is asked next, as files that it extends may have changed."""
        self._state = self._analysis = self._facts = None

    def depends_on(self, path: str | Path) -> bool:
        """Return True if the text was analyzed with a file that it extends or imports, or may have been."""
        if self._state is None:
            return False  # it is analyzed anew
        loaded = self._state.loaded
        if loaded is None:
            return _FILES.search(self._text) is not None
        return Path(os.path.realpath(path)) in loaded.files

    def analyze(self) -> Analysis:
        """Return what is wrong with the text, the results of its lines, and the totals if there is no error."""
        if self._analysis is None:
            self._analysis = analysis_of(self.state)
        return self._analysis

    @property
    def state(self) -> State:
        """The data and results behind the analysis."""
        if self._state is None:
            self._state = analyze(self._text, self.path, self.folder, self._options, self._reading, opened=self._opened)
        return self._state

    @property
    def facts(self) -> Facts:
        """The names and lines of the text."""
        if self._facts is None:
            self._facts = Facts(self.state)
        return self._facts

    def hover(self, position: Position) -> Hover | None:
        """Return the text about the thing at a place, such as the working of a line; None if there is none."""
        return hover(self.facts, position)

    def complete(self, position: Position) -> tuple[Completion, ...]:
        """Return what may stand at a place; an editor keeps what fits the letters before it."""
        return complete(self.facts, position)

    def describe(self, name: str) -> str:
        """Return the page of an operation or block in Markdown, for a completion; an empty text for another name."""
        return described(self.facts, name)

    def definitions(self, position: Position) -> tuple[Location, ...]:
        """Return the places where the name at a place is defined, perhaps in another file."""
        return definitions(self.facts, position)

    def references(self, position: Position, *, with_definitions: bool = True) -> tuple[Location, ...]:
        """Return all places in the text of the name at a place."""
        return references(self.facts, position, with_definitions=with_definitions)

    def renamed_range(self, position: Position) -> Range | None:
        """Return the range of the name at a place, if the text defines it; None if there is none."""
        return renamed_range(self.facts, position)

    def rename(self, position: Position, name: str) -> tuple[Edit, ...]:
        """Return the edits that give the name at a place another name everywhere in the text.

        Raises:
            NetcalcError: if the text does not define the name, or the other one is taken or no name; and if the network
                would be another one.
        """
        edits = rename(self.facts, position, name)
        self._require_same(applied(self._text, list(edits)))
        return edits

    def _require_same(self, text: str) -> None:
        """Raise NetcalcError (E106) if a text has other problems or figures than this one."""
        other = Document(text, self.path, folder=self.folder, options=self._options, opened=self._opened).analyze()
        own = self.analyze()
        same = [problem.code for problem in own.problems] == [problem.code for problem in other.problems]
        shown = [[(hint.line, hint.text()) for hint in one.hints] for one in (own, other)]
        if not same or shown[0] != shown[1]:
            raise NetcalcError(Diagnostic("E106", "with this name the network would be another one"))

    def symbols(self) -> tuple[Part, ...]:
        """Return the tree of sections, declarations and lines."""
        return tree(self.facts, self.analyze().hints)

    def format(self) -> tuple[Edit, ...]:
        """Return the edits that write the text in the usual form, with its comments; none if it cannot be read."""
        text = formatted(self._text)
        return () if text is None or text == self._text else (Edit(Lines(self._text).whole, text),)

    def problems_in(self, range_: Range) -> tuple[Problem, ...]:
        """Return the problems that touch a range, with the changes that their hints propose."""
        return tuple(problem for problem in self.analyze().problems if _touch(problem.range, range_))


def _touch(one: Range, other: Range) -> bool:
    return one.start <= other.end and other.start <= one.end
