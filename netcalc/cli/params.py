"""A tied parameter counts where it is first used, and is shown as tied elsewhere.

A checkpoint (.safetensors, .npz, index.json, a folder of such files) may be given in place of a spec: its tensors are
shown by the prefixes of their names, with element types and bytes. Only headers are read.
"""

from netcalc.cli.reports import report_command

command = report_command("params")
