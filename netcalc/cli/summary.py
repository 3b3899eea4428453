"""Rows of repeated blocks give the figures of one instance, and ×N says how many it stands for."""

from netcalc.cli.reports import report_command

command = report_command("summary")
