"""Formula, substitution, result and source, step by step; for example `netcalc explain resnet34 conv1`.

With --input, or with --values for drawn inputs, a layer is run, and the working of its values is printed in numbers: of
norms, softmax, attention, convolutions, linear and recurrent layers, pooling and functions of elements. --at chooses
the element or row of the output. --backward adds gradients, from --loss. --init prints the formula of an initializer,
and what it draws.

--memory opens the figures of `netcalc memory`, with its options, with --tp and the like those of a split. --device h100
opens the bound of `netcalc time` for the whole, or for one layer, with the options of that command; --fit --device h100
opens the answer of `netcalc fit`.
"""

from __future__ import annotations

from netcalc.cli.command_options import InputOptions
from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import MODEL, ModeOptions, OutputOptions, TextFormatOptions
from netcalc.cli.verb import Call, verb
from netcalc.options import ModelOptions
from netcalc.run_options import ExplainOptions

_PATH = Declared("path", str | None, None, Argument(help="A layer or block, such as layer1.0.conv1."))


@verb(
    InputOptions,
    ExplainOptions,
    TextFormatOptions,
    OutputOptions,
    ModelOptions,
    ModeOptions,
    arguments=(MODEL, _PATH),
)
def command(call: Call) -> None:
    """Explain one layer, a block, or the whole network."""
    network = call.network()
    options = {**call.of(InputOptions, ExplainOptions), **call.weights(network)}
    call.write(network.explain(call["path"], **options))
