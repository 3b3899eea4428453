"""The version of netcalc."""

__version__ = "0.1.0"
