"""A multiply-add is one MAC and two FLOPs. Operations that a convention does not count are named.

--charts draws the layers with most work as bars, or those that --sort, --top and --filter select; -o FILE.svg writes
the bars, or .png with the extra 'plot'.
"""

from netcalc.cli.reports import report_command
from netcalc.notation_options import NotationOptions
from netcalc.options import ConventionOptions, WorkOptions

command = report_command("flops", ConventionOptions, NotationOptions, WorkOptions)
