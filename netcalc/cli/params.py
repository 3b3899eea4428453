"""A tied parameter counts where it is first used, and is shown as tied elsewhere.

A checkpoint (.safetensors, .npz, index.json, a folder of such files) may be given in place of a spec: its tensors are
shown by the prefixes of their names, with element types and bytes. Only headers are read. --stored shows the weights
of a model in this way: of a folder, or of a .gguf file with the bits of its elements.
"""

from netcalc.cli.reports import report_command

command = report_command("params")
