"""A text of a spec in an editor: what is wrong with it, and the results of its lines, after every change."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from netcalc.language.analysis import Analysis, Options, State, analysis_of, analyze
from netcalc.language.positions import Edit, applied


class Document:
    """A text of a spec that may be incomplete or wrong, and what is known of it.

    Args:
        text: the text.
        path: the file that it is the text of, which need not exist or have this text.
        folder: where the files that it extends and imports are looked up; by default that of the file.
        options: convention, symbolic dims, settings.

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
    ) -> None:
        self.path = None if path is None else Path(path)
        self.folder = None if folder is None else Path(folder)
        self._options = options or Options()
        self._text = text
        self._state: State | None = None
        self._analysis: Analysis | None = None

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
        self._state = self._analysis = None

    def analyze(self) -> Analysis:
        """Return what is wrong with the text, the results of its lines, and the totals if there is no error."""
        if self._analysis is None:
            self._analysis = analysis_of(self.state)
        return self._analysis

    @property
    def state(self) -> State:
        """The data and results behind the analysis."""
        if self._state is None:
            self._state = analyze(self._text, self.path, self.folder, self._options)
        return self._state
