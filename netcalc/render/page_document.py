"""The page of ``netcalc report`` as a document: data, scripts and styles in one file, which may load nothing else."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from netcalc.analysis.page import ReportPage
from netcalc.records.writing import record
from netcalc.render.escapes import clean

_BUILT = Path(__file__).parent.parent / "report" / "built"
#: Scripts in order, of ``netcalc/report/web``.
_SCRIPTS = ("graph.js", "page.js")
_STYLES = "page.css"
#: Licence of the library in the scripts, which every copy has.
_LICENSE = "graph.LICENSE.txt"
#: Integers that a double does not have exactly are texts in a page.
_EXACT = 2**53
#: Characters that could end the element of the data, or a line of a script, and halves of surrogate pairs.
_ESCAPES = {place: f"\\u{place:04x}" for place in (*map(ord, "<>&\u2028\u2029"), *range(0xD800, 0xE000))}


def page_document(page: ReportPage) -> str:
    """Return the document of a page."""
    return "\n".join(_lines(page)) + "\n"


def _lines(page: ReportPage) -> Iterator[str]:
    scripts = [_built(name) for name in _SCRIPTS]
    styles = _built(_STYLES)
    title = escape(clean(" and ".join(network.title for network in page.networks)))
    policy = f"default-src 'none'; script-src {' '.join(map(_hash, scripts))}; style-src {_hash(styles)}; img-src data:"
    policy += "; base-uri 'none'; form-action 'none'"
    yield from ("<!DOCTYPE html>", '<html lang="en">', "<head>", '<meta charset="utf-8">')
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>{title} · netcalc</title>"
    yield f"<style>{styles}</style>"
    yield from ("</head>", "<body>", '<div id="page"><noscript><p>This page needs JavaScript.</p></noscript></div>')
    yield f'<script type="application/json" id="data">{embedded(record(page))}</script>'
    yield f"<!--\n{_built(_LICENSE).strip()}\n-->"
    yield from (f"<script>{script}</script>" for script in scripts)
    yield from ("</body>", "</html>")


def embedded(data: Any) -> str:
    """Return data as JSON that may stand in an element of HTML.

    >>> embedded({"name": "</script>", "macs": 2**60})
    '{"name":"\\\\u003c/script\\\\u003e","macs":"1152921504606846976"}'
    """
    return json.dumps(_exact(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False).translate(_ESCAPES)


def _exact(data: Any) -> Any:
    """Return data whose large integers are texts."""
    if isinstance(data, dict):
        return {name: _exact(value) for name, value in data.items()}
    if isinstance(data, list):
        return [_exact(value) for value in data]
    return str(data) if isinstance(data, int) and not -_EXACT < data < _EXACT else data


def _built(name: str) -> str:
    return (_BUILT / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"
