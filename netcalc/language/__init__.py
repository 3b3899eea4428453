"""Specs as they are typed: diagnostics with ranges, and the results of every line, also of texts with errors.

The engine of ``netcalc lsp`` and of the page in the browser.  It builds on :mod:`netcalc.spec`; its results are plain
data, and places are counted as editors count them.

>>> from netcalc.language import Document
>>> document = Document("netcalc: 1\\ninputs: {x: [1, 8]}\\nlayers:\\n  - linear: 4\\n")
>>> document.analyze().totals.params
36
"""

from netcalc.language.analysis import Analysis, LineHint, Options, Tensor, Totals, checked_options
from netcalc.language.completion import Completion, warm
from netcalc.language.document import Document
from netcalc.language.hovering import Hover
from netcalc.language.navigation import Location, Part
from netcalc.language.positions import Edit, Lines, Position, Range, applied
from netcalc.language.problems import Fix, Note, Problem
from netcalc.spec.open_files import OpenFiles
from netcalc.spec.spec_files import looks_like_spec as is_spec

__all__ = [
    "Analysis",
    "Completion",
    "Document",
    "Edit",
    "Fix",
    "Hover",
    "LineHint",
    "Lines",
    "Location",
    "Note",
    "OpenFiles",
    "Options",
    "Part",
    "Position",
    "Problem",
    "Range",
    "Tensor",
    "Totals",
    "applied",
    "checked_options",
    "is_spec",
    "warm",
]
