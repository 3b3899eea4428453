"""What netcalc says when something is wrong: a code, a sentence, a place, and one hint.

A :class:`Diagnostic` is plain data; ``render`` prints it for people and ``as_dict`` for machines.  Rules raise
:class:`RuleError` without a place; whoever walks the spec adds the place once.
"""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

#: Every code that netcalc emits, with what it stands for.  ``docs/errors.md`` is generated from it.
CODES: dict[str, str] = {
    "E001": "YAML syntax",
    "E002": "duplicate key",
    "E003": "YAML feature that a spec may not use (tags, too many aliases, too deep)",
    "E004": "file cannot be read",
    "E005": "spec not found",
    "E006": "extends or import goes round in a circle",
    "E101": "unknown key",
    "E102": "unknown operation or block",
    "E103": "unknown attribute or argument",
    "E104": "wrong type or value out of range",
    "E105": "missing key, attribute or argument",
    "E106": "duplicate name",
    "E107": "malformed line",
    "E201": "expression syntax",
    "E202": "unknown name in an expression",
    "E203": "expression cannot be evaluated",
    "E204": "definitions that go round in a circle",
    "E301": "reference to a value that does not exist",
    "E302": "reference to a value defined later",
    "E303": "wrong number of inputs, or an unknown port",
    "E304": "weights that cannot be tied",
    "E401": "shapes do not fit",
    "E402": "types of elements do not fit",
    "E403": "repeated block does not return what it takes",
    "E404": "size not decided",
    "E501": "bad --set",
    "E502": "bad option or argument",
    "E503": "no such path in the network",
    "E601": "weights do not fit the spec",
    "E602": "input does not fit the spec",
    "E603": "not enough memory",
    "E604": "no kernel",
    "E605": "file of tensors cannot be read or written",
    "E701": "convention cannot be applied",
}


class Span(NamedTuple):
    """A place in a source text: ``line`` and ``column`` count from 1, ``end`` is the column after the last."""

    file: str
    line: int
    column: int
    end: int
    text: str = ""  # the source line

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"

    def as_dict(self) -> dict[str, Any]:
        """The place as JSON, without the source line."""
        return {"file": self.file, "line": self.line, "column": self.column, "end": self.end}


class Related(NamedTuple):
    """A second place or fact that a diagnostic refers to, with what it has to do with it."""

    text: str
    span: Span | None = None


class Diagnostic(NamedTuple):
    """One thing wrong: code, sentence, place, what led there, the bindings in force, and a hint."""

    code: str
    message: str
    span: Span | None = None
    related: tuple[Related, ...] = ()
    chain: tuple[Related, ...] = ()  # blocks and repeats that led here, outermost first
    bindings: Mapping[str, str] = {}
    hint: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The record that ``--format json`` prints."""
        return {
            "code": self.code,
            "title": CODES[self.code],
            "message": self.message,
            "at": self.span.as_dict() if self.span else None,
            "related": [{"text": r.text, "at": r.span.as_dict() if r.span else None} for r in self.related],
            "chain": [{"text": r.text, "at": r.span.as_dict() if r.span else None} for r in self.chain],
            "bindings": dict(self.bindings),
            "hint": self.hint,
        }

    def __str__(self) -> str:
        place = f"{self.span}: " if self.span else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.code}: {self.message}{hint}"


class NetcalcError(Exception):
    """Bad input.  Carries every diagnostic that was found; the CLI prints them and exits with 2."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        given = [diagnostics] if isinstance(diagnostics, Diagnostic) else list(diagnostics)
        #: In the order found; what was found twice (a variable that two lines ask for) is kept once.
        self.diagnostics: tuple[Diagnostic, ...] = tuple(d for i, d in enumerate(given) if d not in given[:i])
        super().__init__("\n".join(map(str, self.diagnostics)))


class Fix(NamedTuple):
    """A remedy, kept only if it works: operation ``op`` with ``attrs`` on input ``port`` must give ``shape``."""

    hint: str
    op: str
    attrs: Mapping[str, Any]
    port: int
    shape: tuple[Any, ...]


class RuleError(Exception):
    """Raised by an operation's rule, without a place.

    ``code`` is E401 (shapes) unless said; ``fixes`` are remedies whose first working one becomes the hint.
    """

    def __init__(self, message: str, *, code: str = "E401", hint: str | None = None, fixes: Iterable[Fix] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint
        self.fixes = tuple(fixes)


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The candidate that ``name`` was most likely meant to be, or None if none is near."""
    import difflib

    candidates = list(candidates)
    longer = [c for c in candidates if len(name) > 2 and c.startswith(name)]  # an abbreviation: `lin`, `conv`
    found = longer or difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)
    return min(found, key=len) if found else None


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The hint for a misspelt name: the nearest candidate, or all of them when they are few."""
    candidates = list(candidates)
    near = nearest(name, candidates)
    if near:
        return f"did you mean {near!r}?"
    if 0 < len(candidates) <= 12:
        return "known here: " + ", ".join(candidates)
    return None
