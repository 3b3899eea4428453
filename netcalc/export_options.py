"""Options of ``export``; :mod:`netcalc.options` says how options are declared."""

# annotations are evaluated, since they hold the declarations: no `from __future__ import annotations`
from typing import Annotated

from netcalc.arguments import COUNT, FLAG, Option
from netcalc.run_options import ParameterOptions, SeedOptions

#: Version of ONNX's operators in a file without ``--opset``: the newest that most runtimes of 2025 read.
OPSET = 21


class ExportOptions(ParameterOptions, SeedOptions, total=False):
    """Options of ``export``."""

    draw: Annotated[bool, Option(FLAG, False, "Write weights that are drawn from their initializers.")]
    opset: Annotated[
        int | None,
        Option(
            COUNT, None, "Version of the operators in an .onnx file, 18 to 24.", metavar="N", shown_default=str(OPSET)
        ),
    ]
    external: Annotated[
        bool,
        Option(
            FLAG, False, "Write the weights of an .onnx file to FILE.data beside it, as they are if it is over 2 GB."
        ),
    ]
