"""Diagnostics: a code, a message, a place and a hint for each error or warning about the input.

A :class:`Diagnostic` is plain data; ``render`` formats it as text and ``records`` as JSON.  The
rules of operations raise :class:`RuleError` without a place; elaboration adds the place.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple, Self

from netcalc.characters import full_width, lookalike
from netcalc.limits import MAX_ERRORS, MAX_MESSAGE, MAX_SHOWN_ERRORS

#: Every code that netcalc emits, with its title; ``E`` for errors, ``W`` for warnings.  ``docs/errors.md`` is generated
#: from it.
CODES: dict[str, str] = {
    "E001": "syntax error in YAML or JSON",
    "E002": "duplicate key",
    "E003": "YAML feature or size that is not allowed (tags, too many values, too deep)",
    "E004": "file cannot be read",
    "E005": "spec not found",
    "E006": "circular extends or import",
    "E007": "model that cannot be imported",
    "E008": "model on the Hub that cannot be read",
    "E009": "module that cannot be imported",
    "E010": "network that cannot be exported",
    "E101": "unknown key",
    "E102": "unknown operation or block",
    "E103": "unknown attribute or argument",
    "E104": "wrong type or value out of range",
    "E105": "missing key, attribute or argument",
    "E106": "duplicate name",
    "E107": "malformed line",
    "E108": "requirement of a spec or block does not hold",
    "E109": "checkpoint entry that matches no parameter",
    "E110": "block that does not fit where it replaces another",
    "E201": "expression syntax error",
    "E202": "unknown name in an expression",
    "E203": "expression cannot be evaluated",
    "E204": "circular definition",
    "E301": "unknown value",
    "E302": "value defined by a later line",
    "E303": "wrong number of inputs, or unknown port",
    "E304": "weights cannot be tied",
    "E401": "shape mismatch",
    "E402": "element type mismatch",
    "E403": "outputs of a repeated block do not match its inputs",
    "E404": "size must be known, but is symbolic",
    "E405": "size violates an assumption of a symbolic result",
    "E501": "invalid --set or --symbolic",
    "E502": "invalid option or argument",
    "E503": "unknown path in the network",
    "E601": "weights do not match the spec",
    "E602": "input does not match the spec",
    "E603": "run needs too much memory or work",
    "E604": "operation has no kernel",
    "E605": "tensor file cannot be read or written",
    "E701": "convention cannot be applied",
    "W101": "name that nothing uses",
    "W102": "former name",
    "W103": "name of a file and of a shipped spec",
}

#: Every exit code of a command, with its meaning.
EXIT_CODES: dict[int, str] = {
    0: "success; also if the reader of a pipe closes it early",
    1: "a check failed: `netcalc verify` found a difference",
    2: "invalid input: a spec, a setting, an option or a file; also output that cannot be written",
    70: "a bug in netcalc; `netcalc --debug …` or `NETCALC_DEBUG=1` shows the traceback",
    129: "ended by SIGHUP, the loss of the terminal",
    130: "interrupted",
    143: "ended by SIGTERM",
}


class Span(NamedTuple):
    """A place in a spec: a range of one line of a file, or a path in a document given as data.

    ``line`` and ``column`` count from 1 and ``end`` is the column after the last; all are 0 where ``path`` is used.
    """

    file: str
    line: int = 0
    column: int = 0
    end: int = 0
    text: str = ""  # the line of the file
    path: str = ""  # e.g. ``layers[3].conv2d.out``
    more: tuple[str, ...] = ()  # the lines after it that a text of several lines has

    def __str__(self) -> str:
        if self.line:
            return f"{self.file}:{self.line}:{self.column}"
        return f"{self.file}: {self.path}" if self.path else self.file


class Related(NamedTuple):
    """A further fact that a diagnostic refers to, with its place if it has one."""

    text: str
    span: Span | None = None


class Diagnostic(NamedTuple):
    """Error in the input, or warning about it: code, message, place, and what helps to find and fix it."""

    code: str
    message: str
    span: Span | None = None
    related: tuple[Related, ...] = ()
    chain: tuple[Related, ...] = ()  # block calls and iterations around the place, outermost first
    bindings: Mapping[str, Any] = {}  # block arguments and loop variables in force
    hint: str | None = None

    @property
    def is_warning(self) -> bool:
        """True for a warning, which ends nothing."""
        return self.code.startswith("W")

    def __str__(self) -> str:
        place = f"{self.span}: " if self.span else ""
        hint = f" ({self.hint})" if self.hint else ""
        return f"{place}{self.code}: {self.message}{hint}"


class Unlisted(Diagnostic):
    """Error that ends a list of errors which is not complete."""

    __slots__ = ()

    @classmethod
    def after(cls, last: Diagnostic) -> "Unlisted":
        """Return the error that follows the last one of a list, at its place."""
        return cls("E003", f"over {MAX_ERRORS:,} errors; the rest is not reported", last.span)


class NetcalcError(Exception):
    """Invalid input.  Carries its diagnostics; the command line prints them and exits with code 2."""

    def __init__(self, diagnostics: Diagnostic | Iterable[Diagnostic]) -> None:
        reported = [diagnostics] if isinstance(diagnostics, Diagnostic) else list(diagnostics)
        listed = [_at_full_width(item) for item in distinct(reported)]
        if len(listed) > MAX_ERRORS and not isinstance(listed[-1], Unlisted):
            listed = [*listed[:MAX_ERRORS], Unlisted.after(listed[MAX_ERRORS])]
        #: In order and without duplicates (the error of a variable is raised by every line that uses it).  At most
        #: MAX_ERRORS; if there are more, an :class:`Unlisted` follows them.
        self.diagnostics: tuple[Diagnostic, ...] = tuple(listed)
        super().__init__(self.diagnostics)

    def __str__(self) -> str:
        lines = [clipped(str(diagnostic), MAX_MESSAGE) for diagnostic in self.diagnostics[:MAX_SHOWN_ERRORS]]
        more = counted(self.diagnostics[len(lines) :])
        return "\n".join([*lines, *([f"… and {more} more"] if more else [])])

    def at(self, span: Span | None) -> Self:
        """Return the error with a place for the diagnostics that have none."""
        return type(self)(
            diagnostic if diagnostic.span else diagnostic._replace(span=span) for diagnostic in self.diagnostics
        )


def _at_full_width(problem: Diagnostic) -> Diagnostic:
    """Return a diagnostic of a name or value with the hint at a full-width character in the text that it marks."""
    span = problem.span
    if problem.code in ("E501", "E502") and problem.message.startswith(("--set ", "--input ")):
        found = full_width(problem.message)
        return problem if found is None else problem._replace(hint=found.hint)
    if span is None or span.text.isascii() or not problem.code.startswith(("E10", "E20", "E30", "E602")):
        return problem
    found = full_width(span.text[: span.end - 1], span.column - 1)
    return problem if found is None else problem._replace(hint=f"{found.hint}, in column {found.column + 1}")


class UnhintedError(NetcalcError):
    """Error of one diagnostic whose hint takes long to find, so that it is looked for when the error is shown."""

    def __init__(self, diagnostic: Diagnostic, hint: Callable[[], str]) -> None:
        super().__init__(diagnostic)
        self._hint = hint

    def hinted(self) -> NetcalcError:
        """Return the error with its hint."""
        return NetcalcError(self.diagnostics[0]._replace(hint=self._hint()))


def with_hint(error: NetcalcError) -> NetcalcError:
    """Return an error with the hint that may still have to be found."""
    return error.hinted() if isinstance(error, UnhintedError) else error


def counted(diagnostics: Iterable[Diagnostic]) -> str:
    """Return the number of diagnostics for messages, ``over 180`` for a list that is not complete; "" for none."""
    listed = list(diagnostics)
    unlisted = any(isinstance(diagnostic, Unlisted) for diagnostic in listed)
    return f"over {len(listed) - 1:,}" if unlisted else f"{len(listed):,}" if listed else ""


class TooLargeError(NetcalcError):
    """Error that ends elaboration at once; after any other error it continues."""


def distinct(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics in order, each once."""
    first_by_key: dict[Any, Diagnostic] = {}
    for item in diagnostics:  # bindings may be large, and are no key themselves
        first_by_key.setdefault((*item[:5], item.hint, written(item.bindings)), item)
    return list(first_by_key.values())


def clipped(text: str, length: int, place: int = 0) -> str:
    """Return a text of at most ``length`` characters, of a longer one the part around ``place``.

    >>> clipped("abcdefghij", 5), clipped("abcdefghij", 5, 5), clipped("abcdefghij", 5, 9)
    ('abcd…', '…efg…', '…ghij')
    """
    if len(text) <= length:
        return text
    start = min(max(place - length // 2 + 1, 0), len(text) - length + 1)
    if start <= 1:
        return text[: length - 1] + "…"
    if start + length - 1 >= len(text):
        return "…" + text[-(length - 1) :]
    return "…" + text[start : start + length - 2] + "…"


class Fix(NamedTuple):
    """A suggested change, offered only if operation ``op`` with ``attrs`` on input ``port`` gives ``shape``."""

    hint: str
    op: str
    attrs: Mapping[str, Any]
    port: int
    shape: tuple[Any, ...]


class RuleError(Exception):
    """Error raised by an operation's rule, without a place.

    ``code`` is E401 (shape mismatch) by default; the first of ``fixes`` that works becomes the hint.
    """

    def __init__(self, message: str, *, code: str = "E401", hint: str | None = None, fixes: Iterable[Fix] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.code = code
        self.hint = hint
        self.fixes = tuple(fixes)


def written(value: Any, *, quoted: bool = False, length: int = MAX_MESSAGE) -> str:
    """Return plain data as a spec writes it, in flow style; text in quotes if ``quoted``, or if it is empty.

    The text is clipped to ``length`` characters; no more of the data are looked at than it needs.

    >>> written([1, True, None, "same"]), written({"out": "a"}, quoted=True), written([10] * 10**6, length=9)
    ('[1, true, null, same]', "{out: 'a'}", '[10, 10,…')
    """
    parts: list[str] = []
    room = length + 1
    for part in _parts_of_text(value, quoted):
        parts.append(part[:room])
        room -= len(part)
        if room <= 0:
            break
    return clipped("".join(parts), length)


def _parts_of_text(value: Any, quoted: bool) -> Iterator[str]:
    if value is None or isinstance(value, bool):
        yield {None: "null", True: "true", False: "false"}[value]
    elif isinstance(value, str):
        yield f"'{value}'" if quoted or not value else value
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield ", " if index else "["
            yield from _parts_of_text(item, quoted)
        yield "]" if value else "[]"
    elif isinstance(value, Mapping):
        for index, (key, item) in enumerate(value.items()):
            yield f"{', ' if index else '{'}{key}: "
            yield from _parts_of_text(item, quoted)
        yield "}" if value else "{}"
    else:
        yield str(value)


#: Longest name, and most candidates, that are looked at and compared for a suggestion.
_LONGEST = 100
_MOST_READ = 5000
_MOST_COMPARED = 400
_NO_SEPARATORS = str.maketrans("", "", "-_ ")


def simplified(name: str) -> str:
    """Return a name in lower case without hyphens, underscores and spaces, which people write one for the other.

    >>> simplified("ResNet-50"), simplified("vit_b_16")
    ('resnet50', 'vitb16')
    """
    return name.lower().translate(_NO_SEPARATORS)


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that is most similar to ``name``, or None if none is similar.

    Long names, and candidates after the first thousands, are not compared: the time grows with both.
    """
    import difflib

    candidates = [c for c in islice(candidates, _MOST_READ) if len(c) <= _LONGEST and len(name) <= _LONGEST]
    key = simplified(name) if candidates else ""
    if (respelled := next((c for c in candidates if simplified(c) == key), None)) is not None:
        return respelled
    if len(candidates) > _MOST_COMPARED:  # a comparison takes several microseconds
        alike = (c for c in candidates if c[:1] == name[:1] and (abs(len(c) - len(name)) <= 2 or c.startswith(name)))
        candidates = list(islice(alike, _MOST_COMPARED))
    longer = [c for c in candidates if len(name) > 2 and c.startswith(name)]  # abbreviations: `lin`, `conv`
    matches = longer or difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)
    return min(matches, key=len) if matches else None


def pairs_of(
    items: Iterable[Any], pair: Callable[[Any], tuple[str, Any]], option: str, code: str = "E502"
) -> dict[str, Any]:
    """Return the names and values that ``pair`` makes of the items of an option.

    Raises:
        NetcalcError: with the diagnostics of all that fail, and with ``code`` for every name that has several values.
    """
    values: dict[str, Any] = {}
    problems: list[Diagnostic] = []
    for item in items:
        try:
            name, value = pair(item)
        except NetcalcError as error:
            problems += error.diagnostics
            continue
        if name in values:
            problems.append(Diagnostic(code, f"{option}: {name!r} is given twice"))
        values[name] = value
    if problems:
        raise NetcalcError(problems)
    return values


def did_you_mean(name: str, candidates: Iterable[str], present: Container[str] = ()) -> str | None:
    """Return the hint for a misspelt name: the nearest candidate, or all candidates if they are few.

    ``present`` are names that stand beside it, and that cannot be given twice.
    """
    candidates = list(dict.fromkeys(islice(candidates, _MOST_READ)))
    near = nearest(name, candidates)
    if near in present:
        return f"did you mean {near!r}? it is given already"
    if near:
        return f"did you mean {near!r}?{lookalike(name, near)}"
    if 0 < len(candidates) <= 12 and sum(map(len, candidates)) <= MAX_MESSAGE:
        return "known here: " + ", ".join(candidates)
    return None
