"""A multiply-add is one MAC and two FLOPs. Operations that a convention does not count are named."""

from netcalc.cli.reports import report_command
from netcalc.options import ConventionOptions, WorkOptions

command = report_command("flops", ConventionOptions, WorkOptions)
