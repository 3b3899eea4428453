"""A row of a repeated block gives the figures of one instance; ×N is the number of instances.

A module that is called several times is one row, with the number of its calls and their sums.
"""

from netcalc.cli.reports import report_command
from netcalc.options import BackwardOptions, ConventionOptions

command = report_command("summary", ConventionOptions, BackwardOptions)
