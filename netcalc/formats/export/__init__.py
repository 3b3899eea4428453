"""Networks in files of other formats: a row of :mod:`~netcalc.formats.export.table` and a package for each."""

from __future__ import annotations

from netcalc.formats.export.job import Job
from netcalc.formats.export.table import SUFFIXES, exported

__all__ = ["SUFFIXES", "Job", "exported"]
