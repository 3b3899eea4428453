"""The page of published figures, from the record of ``python -m tests.exhaustive published``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from netcalc.render.escapes import markup
from netcalc.reproduction.papers import paper_names, shipped_paper
from tests.exhaustive.record import read


def published_page() -> str:
    """Return the text of ``docs/published.md``."""
    return "\n".join([*_lines(read("published")["result"]), ""])


def _lines(figures: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    counts = Counter(figure["verdict"] for figure in figures.values())
    total = len(figures) - counts["quoted"]
    yield from ("# Published figures", "")
    yield "Generated from a run of [`netcalc reproduce`](reproduce.md), which computes each figure anew:"
    yield f"{counts['reproduced']} of {total} are reproduced in all printed digits, the others are explained."
    yield f"{counts['quoted']} more are results that specs only quote."
    of_papers = [f["verdict"] for name, f in figures.items() if name.partition("/")[0] in paper_names()]
    yield f"Of the {len(of_papers)} figures of papers and tools {of_papers.count('reproduced')} are reproduced."
    for paper in paper_names():
        own = {name: figure for name, figure in figures.items() if name.startswith(f"{paper}/")}
        if own:
            file = shipped_paper(paper).paper
            read_in = f"; {file.read}" if file.read else ""
            yield from ("", f"## {paper}", "", markup(f"{file.paper}, {file.source}{read_in}."), "")
            yield from _table(own, ("what", "where", "printed", "computed", "convention", "verdict"))
    yield from ("", "## Figures of specs", "")
    yield "Where a spec prints no reason, figures agree. Work is counted as the convention `torch` does, without"
    yield "the layers and at the sizes that are named."
    yield ""
    papers = set(paper_names())
    yield from _table(
        {name: figure for name, figure in figures.items() if name.partition("/")[0] not in papers},
        ("where", "printed", "computed", "verdict"),
    )


def _table(figures: Mapping[str, Mapping[str, Any]], columns: tuple[str, ...]) -> Iterator[str]:
    yield f"| figure | {' | '.join(columns)} |"
    yield "| --- " * (len(columns) + 1) + "|"
    for name, figure in figures.items():
        reason = f": {figure['reason']}" if figure.get("reason") else ""
        if "convention" not in columns:  # of specs, whose figures are counted alike but for layers and sizes
            counted = figure.get("convention", "").partition("; ")[2]
            reason = f" {counted}{reason}" if counted else reason
        texts = (figure.get(column, "") + (reason if column == "verdict" else "") for column in columns)
        cells = [markup(text, cell=True) for text in texts]
        yield f"| {name.partition('/')[2] if len(columns) > 4 else name} | {' | '.join(cells)} |"
