"""Inputs without --input are drawn at random within their declared range, and weights from their initializers.

--init takes an initializer (default, xavier_normal, kaiming_uniform(mode=fan_out, nonlinearity=relu), normal(std=0.02),
constant(0.1), zeros, …) for all parameters, or PATTERN=INITIALIZER for parameters whose path matches.

By default the run is planned as a whole: operations are fused and distributed over all threads, with all weights in
memory. --plan reference runs the reference kernels one after the other; --trace and --mode train imply it. --profile
reports the time of each layer of a planned run, and its memory. --sort, --top and --filter select layers of the profile
or traced tensors.

--trace takes the path of a row of netcalc shapes: a layer (layer1.0.conv1), a group or a repeat as a whole (layer1), or
a range of iterations (layers.0-11.attn); * matches any part. --output writes a traced tensor under its path, or as
trace.PATH if an output has that name. With --mode train it also writes updated buffers, such as running statistics,
under their paths.

A fused attention has its weights and its mask under its path with .weights and .mask: --trace '*.attention.weights'.
--plot draws what is traced as heat maps, and --charts prints them; --histogram draws distributions instead.

--backward runs forward and backward, and reports the norm of the gradient of each layer. The loss is the spec's own,
or the sum of its outputs; --loss sum, or the name of an output, chooses another. --wrt takes patterns of paths of
parameters and names of inputs. --output then writes the gradients, under the paths of their parameters.

--quantize and --prune round the weights to a scheme or remove the smallest, and print the error of each output and each
layer against the run in full precision. --depth N sums up layers, --unroll has a row for each instance.
"""

from __future__ import annotations

from typing import Any

from netcalc.cli.command_options import InputOptions
from netcalc.cli.command_options import RunOptions as CommandOptions
from netcalc.cli.options import ModeOptions, TextFormatOptions, WideOptions
from netcalc.cli.suffixes import FORMATS, PICTURES, TENSORS, require_file, suffix_of
from netcalc.cli.verb import Call, verb
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.options import LayerOptions, ModelOptions, SelectOptions
from netcalc.run_options import GradientOptions, RoundingOptions, RunOptions


@verb(
    InputOptions,
    RunOptions,
    CommandOptions,
    GradientOptions,
    LayerOptions,
    SelectOptions,
    TextFormatOptions,
    WideOptions,
    ModelOptions,
    ModeOptions,
    without=("symbolic",),
    writes=(*TENSORS, *FORMATS),
)
def command(call: Call) -> None:
    """Run the network, and write statistics of its outputs or gradients, and tensors."""
    _check(call)
    result = _result(call)
    if call["plot"] is not None:
        call.plot(result, call["plot"])
    call.write(result)


def _result(call: Call) -> Any:
    """Run the network, with a progress bar unless it runs backward."""
    with call.progress() as progress:
        network = call.network()
        read = {**call.of(InputOptions), **call.weights(network)}
        if call["backward"]:
            return network.gradients(**{**call.of(GradientOptions), **read})
        if call.given("quantize", "prune"):
            call.require_column("RoundingResult")
            options = {**call.of(RoundingOptions), **read}
            return network.rounding_errors(**options, progress=progress, processes=True)
        keep = suffix_of(call["output"]) in TENSORS or bool(call["plot"] or call["charts"])
        return network.run(**{**call.of(RunOptions), **read}, keep=keep, progress=progress, processes=True)


def _check(call: Call) -> None:
    """Raise NetcalcError (E502) for options that do not go with or without ``--backward``, or with rounding."""
    if call.given("quantize", "prune"):
        hint = "run the network without them too"
        names: tuple[str, ...] = ("backward", "trace", "histogram", "plot", "charts", "profiled", "loss", "wrt")
        return _refuse(call, names, "{} does not go with --quantize and --prune", hint)
    _refuse(call, ("depth",), "{} is an option of a comparison with full precision", "add --quantize or --prune")
    if call["backward"]:
        hint = "a backward pass runs the reference kernels"
        names = ("trace", "histogram", "plot", "charts", "profiled", "threads")
        return _refuse(call, names, "--backward and {} do not go together", hint)
    if call["plot"] is not None:
        require_file("--plot", call["plot"], PICTURES)
    if not call.given("trace", "histogram"):
        hint = "add --trace with a layer, such as '*.attention.weights', or --histogram"
        _refuse(call, ("plot", "charts"), "{} draws traced tensors", hint)
    return _refuse(call, ("loss", "wrt", "unroll"), "{} is an option of a backward pass", "add --backward")


def _refuse(call: Call, names: tuple[str, ...], message: str, hint: str) -> None:
    for name in call.given(*names):
        option = "--profile" if name == "profiled" else f"--{name}"
        raise NetcalcError(Diagnostic("E502", message.format(option), hint=hint))
