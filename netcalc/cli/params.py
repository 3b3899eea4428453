"""A tied parameter counts where it is first used, and is shown as tied elsewhere."""

from netcalc.cli.reports import report_command

command = report_command("params")
