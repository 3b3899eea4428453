"""Specs as they are typed: cut at every tenth character, and with drawn edits.

No exception, and the diagnostics that commands give of a file with the text.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from random import Random
from time import monotonic
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.language import Document, is_spec
from netcalc.request import Request
from netcalc.spec.library import load_document
from netcalc.spec.shipped import specs_dir
from tests.exhaustive.record import read
from tests.language.edits import drawn_edit

ROOT = Path(__file__).parents[2]
#: Specs that are tried, and characters between two cuts.
SPECS, STEP = 300, 10
#: Edits of each spec, and one of how many cuts that are compared with files.
EDITS, COMPARED = 20, 50
#: Longest spec, and one of how many specs, in the sample; its cuts are further apart.
SHORT, SAMPLED, SAMPLE_STEP = 4000, 6, 101


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    parser.add_argument("--only", default="", help="part of the paths of the specs")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument(
        "--minutes", type=float, default=None, help="end after this time, with the specs that are tried"
    )
    parser.add_argument(
        "--again", action="store_true", help="go on with the specs that the record lacks or has as failed"
    )


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Try all specs; return the number of texts of each, and what went wrong."""
    known: dict[str, str] = read("language")["result"] if options.again else {}
    known = {name: found for name, found in known.items() if "failed" not in found}
    chosen = [name for name in names() if options.only in name and name not in known]
    chosen.sort(key=lambda name: (ROOT / name).stat().st_size)  # so that most are tried when the time is over
    until = None if options.minutes is None else monotonic() + 60 * options.minutes
    with ProcessPoolExecutor(options.jobs) as pool:
        done = dict(pool.map(partial(_before, until), chosen))
    tried_names = [name for name in chosen if done[name] is not None]
    results, failures = _results(tried_names, [found for name in tried_names if (found := done[name]) is not None])
    return dict(sorted({**known, **results}.items())), failures


def _before(until: float | None, name: str) -> tuple[str, tuple[int, list[str]] | None]:
    """Try a spec, unless the time is over."""
    return name, tried(name) if until is None or monotonic() < until else None


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Try some of the short specs of a record, at fewer cuts."""
    short = [name for name in result if len((ROOT / name).read_text(encoding="utf-8")) <= SHORT]
    chosen = short[::SAMPLED]
    return _results(chosen, (tried(name, SAMPLE_STEP, edits=4) for name in chosen))[0]


def _results(chosen: Sequence[str], found: Iterable[tuple[int, list[str]]]) -> tuple[dict[str, Any], list[str]]:
    results, failures = {}, []
    for name, (count, wrong) in zip(chosen, found, strict=True):
        results[name] = f"{len(wrong)} of {count} texts failed" if wrong else f"{count} texts"
        failures += wrong
    return results, failures


def names() -> list[str]:
    """Return the paths of the specs: those of tests, and shipped ones of all families."""
    own = [path for path in sorted((ROOT / "tests").rglob("*.yaml")) if is_spec(path.read_text(encoding="utf-8"))]
    shipped = [path for path in sorted(specs_dir().rglob("*.yaml")) if is_spec(path.read_text(encoding="utf-8"))]
    every = len(shipped) / max(SPECS - len(own), 1)
    spread = [shipped[int(number * every)] for number in range(SPECS - len(own))]
    return [path.relative_to(ROOT).as_posix() for path in (*own, *spread)]


def tried(name: str, step: int = STEP, edits: int = EDITS) -> tuple[int, list[str]]:
    """Type a spec, and edit it; return the number of texts, and what went wrong with them."""
    path = ROOT / name
    texts = list(_texts(name, path.read_text(encoding="utf-8"), step, edits))
    with tempfile.TemporaryDirectory() as folder:  # a shipped spec is not checked as a user's is
        for other in path.parent.glob("*.yaml"):
            (Path(folder) / other.name).symlink_to(other)
        file = Path(folder) / path.name
        file.unlink()
        document = Document("", file)
        found = (_wrong(document, file, number, typed, step) for number, typed in texts)
        return len(texts), [f"{name}: {wrong}" for wrong in found if wrong]


def _wrong(document: Document, file: Path, number: int, typed: str, step: int) -> str:
    """Return what is wrong with the analysis of a text; nothing if all is right."""
    document.update(typed)
    try:
        found = [(p.code, p.message, p.hint, p.place) for p in document.analyze().problems if p.code]
        if document.analyze().totals is None and not found:
            return f"no totals and no error after {number}"
    except Exception as error:  # whatever it is
        return f"{type(error).__name__} {error} after {number}"
    if number >= 0 and number % (step * COMPARED):
        return ""
    expected = of_the_file(typed, file)
    if not document.state.complete:  # errors of the lines before one that cannot be read may follow
        found = found[: len(expected)]
    return "" if expected == found else f"{found[:1]} in place of {expected[:1]} after {number}"


def _texts(name: str, text: str, step: int, edits: int) -> Iterator[tuple[int, str]]:
    """Yield texts with the number of characters that are typed, 0 for all of them, or less than 0 for an edit."""
    for length in range(0, len(text), step):
        yield length, text[:length]
    yield 0, text  # compared, as the first one is
    draw = Random(name)
    for number in range(edits):
        yield -1 - number, drawn_edit(text, draw)


def of_the_file(text: str, file: Path) -> list[tuple[str, str, str | None, str]]:
    """Return the diagnostics that commands give of a file with a text."""
    file.write_bytes(text.encode(errors="surrogatepass"))
    found: Iterable[Diagnostic]
    try:
        found = Request(load_document(file)).program.warnings
    except NetcalcError as error:
        found = error.diagnostics
    return [(d.code, d.message, d.hint, str(d.span or "")) for d in found]
