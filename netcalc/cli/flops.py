"""A multiply-add is one MAC and two FLOPs. What a convention does not count is reported by name."""

from netcalc.cli.reports import report_command

command = report_command("flops")
