"""Numbers that an operation takes at an input, where it does not take all of the element type."""

from __future__ import annotations

from typing import NamedTuple

from netcalc.dims import Dim


class Domain(NamedTuple):
    """Numbers that an operation takes: from ``low`` up to ``high``.

    Whole numbers are less than ``high``, as in the range of an input; other numbers may be equal to it.  ``also`` is a
    whole number besides these, such as the class of positions that a loss leaves out.
    """

    low: Dim
    high: Dim
    also: int | None = None
