"""Runs forward and backward with random weights and inputs, and reports for every layer the variance of activations,
the gradients, saturated and dead units, and the factors by which layers multiply them: as measured, means over --seeds,
and as predicted from the initializers by mean-field theory, side by side. Where no rule is known, the report names the
gap. It says in words where signals vanish or explode, from which layer, why, and what would help.

Verdicts follow stages, runs of equal layers along one path through the network: the root mean square of their outputs,
and that times the norm of the gradient, which no scale of weights changes. Either vanishes or explodes where it changes
by a factor of 100 within a stage; a jump between stages is called a step. Of recurrent layers and decoders it lists the
gradient of the last step by distance, and says within how many steps it falls by 10, 10³ and 10⁶.

The loss is the sum of all outputs with independent normal weights, so that the gradient of the outputs has an expected
norm of 1; --loss loss takes the spec's loss, --loss sum the plain sum, --loss NAME an output's sum. --set batch=64
gives the channels more data. A network with batch norms is in training mode unless --mode says otherwise.

--init takes initializers as in netcalc run. --compare-init, repeatable, compares initializers layer by layer. --depth
joins layers into groups; --sort, --top and --filter select rows. --plot writes charts of variances and gradients as
.svg, or as .png with the extra 'plot'; --charts prints them.
"""

from __future__ import annotations

from typing import Any

from netcalc.cli.command_options import InputOptions
from netcalc.cli.command_options import SignalOptions as CommandOptions
from netcalc.cli.options import TEXT_ROW_OPTIONS
from netcalc.cli.suffixes import PICTURES, require_file
from netcalc.cli.verb import Call, verb
from netcalc.run_options import SignalOptions


@verb(InputOptions, SignalOptions, CommandOptions, *TEXT_ROW_OPTIONS, without=("symbolic", "lora", "quantize", "prune"))
def command(call: Call) -> None:
    """Measure and predict signals and gradients at initialization."""
    if call["plot"] is not None:
        require_file("--plot", call["plot"], PICTURES)
    result = _result(call)
    if call["plot"] is not None:
        result.save_charts(call["plot"])
    call.write(result)


def _result(call: Call) -> Any:
    """Measure with each of the initializers, with a progress bar."""
    with call.progress() as progress:
        network = call.network()
        options = {**call.of(InputOptions, SignalOptions), **call.weights(network)}
        call.require_column("SignalReport")
        if call["compare_init"]:
            return network.compare_signal(call["compare_init"], **options, progress=progress)
        return network.signal(**options, progress=progress)
