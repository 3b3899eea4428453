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

Several models are compared, on the same data with the same seeds: one table, one chart. --set 2:NAME=VALUE changes the
second model only; after a single model it makes a second one, as in netcalc signal mlp --set 2:hidden=[64].

--init takes initializers as in netcalc run. --compare-init, repeatable, compares initializers layer by layer. --depth
joins layers into groups; --sort, --top and --filter select rows. --charts prints charts of variances and
gradients below the table, --plot FILE.svg writes them beside it, -o FILE.svg in its place; a .png needs the extra
'plot'.
"""

from __future__ import annotations

from typing import Any

from netcalc.cli.command_options import InputOptions, SeveralOptions
from netcalc.cli.command_options import SignalOptions as CommandOptions
from netcalc.cli.options import MODELS, TEXT_ROW_OPTIONS
from netcalc.cli.suffixes import PICTURES, REPORTS, require_file
from netcalc.cli.verb import Call, verb
from netcalc.run_options import SignalComparisonOptions, SignalOptions


@verb(
    InputOptions,
    SignalOptions,
    CommandOptions,
    *TEXT_ROW_OPTIONS,
    SeveralOptions,
    arguments=(MODELS,),
    without=("symbolic", "lora", "quantize", "prune"),
    writes=(*REPORTS, *PICTURES),
)
def command(call: Call) -> None:
    """Measure and predict signals and gradients at initialization."""
    if call["plot"] is not None:
        require_file("--plot", call["plot"], PICTURES)
    result = _result(call)
    if call["plot"] is not None:
        call.plot(result, call["plot"])
    call.write(result)


def _result(call: Call) -> Any:
    """Measure each of the networks, or one with each of the initializers, with a progress bar."""
    from netcalc.loading import compare_signals, several_models

    with call.progress() as progress:
        options = call.of(InputOptions, SignalComparisonOptions)
        if len(several_models(call["models"], options)) > 1:
            _require_one_comparison(call)
            call.require_column("SignalReport")
            comparison = compare_signals(*call["models"], **{**options, **call.mode()}, progress=progress)
            call.warn(comparison.warnings)
            return comparison
        network = call.network(call["models"][0])
        options = {**call.of(InputOptions, SignalOptions), **call.weights(network)}
        call.require_column("SignalReport")
        if call["compare_init"]:
            return network.compare_signal(call["compare_init"], **options, progress=progress)
        return network.signal(**options, progress=progress)


def _require_one_comparison(call: Call) -> None:
    """Check that several models are not compared with several initializers too."""
    if call["compare_init"]:
        from netcalc.diagnostics import Diagnostic, NetcalcError

        hint = "name one spec, or one initializer by --init"
        raise NetcalcError(Diagnostic("E502", "--compare-init compares initializers of one spec", hint=hint))
