"""Published figures of papers and of specs, computed anew."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from netcalc.analysis.published import CONVENTION, PublishedCounts
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.reproduction.commands import command_of
from netcalc.reproduction.papers import FigureData, NetworkData, PaperFile, Value, paper_in, paper_names, shipped_paper
from netcalc.reproduction.printed import printed_figure
from netcalc.reproduction.report import PublishedFigure, Reproduction, Verdict, Working
from netcalc.reproduction.values import Load, Values
from netcalc.spec.document import Document, Published
from netcalc.spec.shipped import shipped, unaliased
from netcalc.spec.yaml_document import parse_yaml

#: A function that is told of the progress: the number of parts done, of all parts, and the name of the last.
Progress = Callable[[int, int, str], None]
#: Words for what figures of specs count.
_COUNTED = "products alone, without biases, norms and activations"
_PARAMETERS = "all parameters, tied ones once"
_OUTDATED = "(the figure agrees: the reason is out of date)"


class _Part(NamedTuple):
    """Figures that are computed together: one of a paper, or those of a spec."""

    name: str
    figures: Callable[[], Iterable[PublishedFigure]]


def reproduced(names: Sequence[str], load: Load, progress: Progress | None = None) -> Reproduction:
    """Return published figures beside computed ones.

    Args:
        names: specs, papers, figures (patterns too), and files of either; all that ship if there are none.
        load: function that loads a network, as ``netcalc.load`` does.
        progress: function that is told of the progress.

    Raises:
        NetcalcError: E502 for a name that has no published figures; errors of specs and of files of papers.
    """
    values = Values(load)
    parts = list(_all(values)) if not names else [part for name in names for part in _named(name, values)]
    found: dict[str, PublishedFigure] = {}
    for number, part in enumerate(parts):
        if progress is not None:
            progress(number, len(parts), part.name)
        found |= {figure.figure: figure for figure in part.figures()}
    if names and not found:
        raise NetcalcError(Diagnostic("E502", f"{', '.join(names)}: no published figures"))
    return Reproduction(tuple(found.values()))


def reproduced_of(name: str, document: Document, load: Load, *, ships: bool) -> Reproduction:
    """Return the published figures of a spec, and if it ships those of papers that follow from it alone."""
    values = Values(load)
    figures = list(_of_document(name, document, load))
    for file in map(shipped_paper, paper_names() if ships else ()):
        own = (figure for figure in file.paper.figures if _models(file, figure) == (name,))
        figures += (_of_paper(file, figure, values) for figure in own)
    return Reproduction(tuple(figures))


# -- which figures ----------------------------------------------------------------------------------------


def _all(values: Values) -> Iterator[_Part]:
    for paper in paper_names():
        yield from _paper(shipped_paper(paper), values)
    for spec in shipped():
        yield _spec(spec, values)


def _named(name: str, values: Values) -> Iterator[_Part]:
    """Yield the figures of a name."""
    path = Path(name)
    if path.suffix in (".yaml", ".yml"):
        if path.is_file() and _is_paper(path):
            yield from _paper(paper_in(path), values)
        else:
            yield _spec(name, values)
    elif "/" in name and unaliased(name) is None:
        yield from _matching(name, values)
    elif name in paper_names():
        yield from _paper(shipped_paper(name), values)
    else:
        yield from _of_model(name, values)


def _matching(pattern: str, values: Values) -> Iterator[_Part]:
    """Yield the figures whose names match a pattern."""
    head = pattern.partition("/")[0]
    papers = [paper for paper in paper_names() if fnmatchcase(paper, head)]
    specs = [spec for spec in shipped() if fnmatchcase(spec, head)]
    known = [name for paper in papers for name, _ in shipped_paper(paper).figures()]
    if not specs and not any(fnmatchcase(name, pattern) for name in known):
        hint = did_you_mean(pattern, known or paper_names())
        raise NetcalcError(Diagnostic("E502", f"{pattern}: there is no such figure", hint=hint))
    for paper in papers:
        yield from _paper(shipped_paper(paper), values, pattern)
    for spec in specs:
        yield _spec(spec, values, pattern)


def _of_model(name: str, values: Values) -> Iterator[_Part]:
    """Yield the figures of a model: those of its spec, and those of papers that are computed from it."""
    spec = unaliased(name) or name
    if spec not in shipped():
        known = [*shipped(), *paper_names()]
        hint = did_you_mean(name, known) or "name a spec, a figure, or a paper: " + ", ".join(paper_names())
        raise NetcalcError(Diagnostic("E502", f"{name}: no spec and no paper with published figures", hint=hint))
    yield _spec(spec, values)
    for file in map(shipped_paper, paper_names()):
        yield from (part for part in _paper(file, values) if spec in _models(file, _figure(file, part.name)))


def _figure(file: PaperFile, name: str) -> FigureData:
    return dict(file.figures())[name]


def _is_paper(path: Path) -> bool:
    data = parse_yaml(path.read_text(encoding="utf-8-sig"), str(path)).data
    return isinstance(data, dict) and "netcalc" not in data


def _paper(file: PaperFile, values: Values, pattern: str = "*") -> Iterator[_Part]:
    for name, figure in file.figures():
        if fnmatchcase(name, pattern):
            yield _Part(name, lambda figure=figure: [_of_paper(file, figure, values)])  # type: ignore[misc]


def _spec(spec: str, values: Values, pattern: str = "*") -> _Part:
    def figures() -> Iterator[PublishedFigure]:
        network = values.load(spec)
        found = _of_document(spec, network.request.source.document, lambda _: network)
        return (figure for figure in found if fnmatchcase(figure.figure, pattern))

    return _Part(spec, figures)


# -- their verdicts ---------------------------------------------------------------------------------------


def _models(file: PaperFile, figure: FigureData) -> tuple[str, ...]:
    """Return the names of the specs from which a figure is computed."""
    used = [value for value in file.values_of(figure).values() if isinstance(value, Value) and value.model]
    return tuple(dict.fromkeys(Path(file.network(value).model).name.removesuffix(".yaml") for value in used))


def _of_paper(file: PaperFile, figure: FigureData, values: Values) -> PublishedFigure:
    value, working = values.of(file, figure)
    printed = file.printed(figure)
    agrees = printed.is_reached_by(value)
    outdated = agrees and figure.reason
    verdict: Verdict = "reproduced" if agrees else "explained"
    if outdated or not (agrees or figure.reason):
        verdict = "differs"
    return PublishedFigure(
        f"{file.name}/{figure.id}",
        _models(file, figure),
        figure.what,
        printed.text + (f" ({printed.unit})" if figure.means else ""),
        printed.shown(value),
        value,
        float(printed.tolerance),
        figure.convention or file.paper.convention,
        verdict,
        f"{figure.reason} {_OUTDATED}" if outdated else figure.reason or figure.note,
        figure.where,
        f"{file.paper.paper}, {file.paper.source}" + (f"; {file.paper.read}" if file.paper.read else ""),
        figure.expression,
        working,
    )


def _of_document(spec: str, document: Document, load: Load) -> Iterator[PublishedFigure]:
    """Yield the published figures that a spec carries, at its default sizes."""
    if not document.published:
        return
    request = load(spec).request
    counts = PublishedCounts(request.source, request.program)
    seen: Counter[str] = Counter()
    for published in document.published:
        seen[published.figure] += 1
        number = f"-{seen[published.figure]}" if seen[published.figure] > 1 else ""
        count = counts.of(published)
        name = f"{spec}/{published.figure.replace(' ', '-')}{number}"
        yield _of_spec(name, spec, published, count, document.source)


def _of_spec(name: str, spec: str, published: Published, count: int | None, source: str) -> PublishedFigure:
    """Return a published figure of a spec, which is quoted if the count is None."""
    reason = f"miscounted: {published.miscounted}" if published.miscounted else published.note
    convention = "" if count is None else _PARAMETERS if published.figure.startswith("params") else _COUNTED
    verdict: Verdict = "quoted"
    if count is not None:
        agrees = not published.miscounted and published.agrees(count)
        verdict = "differs" if not published.stands(count) else "reproduced" if agrees else "explained"
        if verdict == "differs" and reason:
            reason += f" {_OUTDATED}"
        convention += f"; without {', '.join(published.excluded)}" if published.exclude else ""
        sizes = ", ".join(f"{key}={value}" for key, value in published.set.items())
        convention += f"; at {sizes}" if sizes else ""
    return PublishedFigure(
        name,
        (spec,),
        published.figure,
        str(published.value),
        "" if count is None else printed_figure(published.value).shown(count),
        count,
        None if count is None else float(published.tolerance()),
        convention,
        verdict,
        reason,
        published.where,
        source,
        "" if count is None else published.figure,
        () if count is None else (_working(spec, published, count),),
    )


def _working(spec: str, published: Published, count: int) -> Working:
    """Return the count of a figure of a spec with the command that prints it."""
    arguments = {"convention": CONVENTION, "exclude": [*published.excluded]}
    value = Value(summary=arguments, field=f"totals.{published.figure}")
    command = command_of(value, NetworkData(model=spec, set=published.set), None)
    return Working(published.figure, count, f"totals.{published.figure}", command, "")
