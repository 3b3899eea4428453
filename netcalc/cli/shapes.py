"""Images are batch×channels×height×width; --layout hwc prints height×width×channels, where the channels are known."""

from netcalc.cli.reports import report_command
from netcalc.options import ReceptiveFieldOptions

command = report_command("shapes", ReceptiveFieldOptions)
