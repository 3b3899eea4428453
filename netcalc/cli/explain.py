"""Formula, substitution, result and source, step by step; for example `netcalc explain resnet34 conv1`."""

from __future__ import annotations

from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import MODEL, ModeOptions, OutputOptions, TextFormatOptions
from netcalc.cli.verb import Call, verb
from netcalc.options import ExplainOptions, ModelOptions

_PATH = Declared("path", str | None, None, Argument(help="A layer or block, such as layer1.0.conv1."))


@verb(ExplainOptions, TextFormatOptions, OutputOptions, ModelOptions, ModeOptions, arguments=(MODEL, _PATH))
def command(call: Call) -> None:
    """Explain one layer, a block, or the whole network."""
    call.write(call.network().explain(call["path"], **call.of(ExplainOptions)))
