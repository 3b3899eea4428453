"""``python -m netcalc``."""

from netcalc.cli import script

script()
