"""A row of a repeated block gives the figures of one instance; ×N is the number of instances."""

from netcalc.cli.reports import report_command
from netcalc.options import BackwardOptions, ConventionOptions

command = report_command("summary", ConventionOptions, BackwardOptions)
