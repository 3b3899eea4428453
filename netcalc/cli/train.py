"""Each step runs forward, loss, backward and update in NumPy, in training mode: dropout by the seed, batch statistics,
running statistics updated. This proves what netcalc predicts of a training step, and shows how it works. It is no way
to train a model: use PyTorch for that.

--data takes an .npz or .safetensors file with an array for each input, also for inputs of the loss such as labels; the
first axis of an array has the samples. Each epoch goes through them in an order of its own. --data synthetic draws one
batch, as netcalc run draws its inputs, and takes it in every step, so that the loss falls.

The loss is the spec's own; --loss takes the name of an output in its place, whose elements are summed, or sum for all
outputs. --training names the optimizer, whose settings have torch.optim's names and defaults. --steps includes steps
of the checkpoint of --resume. A run that is resumed with the same options gives the same numbers as one that was not
interrupted, bit by bit. --output writes the parameters after the last step, for --weights.

A loss that is not finite ends the run without an update; the exit code is then 1. --stop-after N ends a run after N
steps with the learning rates of all --steps.

--lora trains adapters only. --quantize rounds the parameters once, before the first step: with --lora that is QLoRA.

Several models are trained side by side, on the same data with the same seed, and --lr 0.1,1,10 trains each at several
rates: one table, one chart. --set 2:NAME=VALUE changes the second model only; after a single model it makes a second
one, as in netcalc train mlp --set 2:hidden=[64]. --watch follows the outputs of layers over the steps.

--plot FILE.svg writes the loss curves beside the page, -o FILE.svg in its place; a .png needs the extra 'plot'.
"""

from __future__ import annotations

from typing import Any

from netcalc.cli.command_options import SeveralOptions
from netcalc.cli.command_options import TrainOptions as CommandOptions
from netcalc.cli.options import MODELS, FormatOptions, WideOptions
from netcalc.cli.suffixes import FORMATS, PICTURES, require_file
from netcalc.cli.verb import Call, verb
from netcalc.run_options import TrainingComparisonOptions, TrainOptions


def _options(call: Call) -> dict[str, Any]:
    """Return the options of all models, with ``--batch`` among their settings."""
    options = call.of(TrainingComparisonOptions)
    if call["batch"] is not None:
        options["set"] = [*options.get("set", ()), f"batch={call['batch']}"]
    return options


def _is_single(call: Call) -> bool:
    """Return True for one model at one learning rate."""
    from netcalc.loading import several_models

    options = _options(call)
    return len(several_models(call["models"], options)) == len(options.get("lr", (None,))) == 1


def _writes(call: Call) -> tuple[str, ...]:
    return (".safetensors", ".npz", *FORMATS, *PICTURES) if _is_single(call) else (*FORMATS, *PICTURES)


@verb(
    CommandOptions,
    TrainingComparisonOptions,
    SeveralOptions,
    FormatOptions,
    WideOptions,
    arguments=(MODELS,),
    without=("symbolic", "mode", "prune"),
    writes=_writes,
)
def command(call: Call) -> int:
    """Train, print the loss curve, and write files; return the exit code."""
    from netcalc.cli import EXIT_CHECK

    plot = call["plot"]
    if plot is not None:
        require_file("--plot", plot, PICTURES)
    result = _result(call)
    if plot is not None:
        call.plot(result, plot)
    call.write(result)
    return 0 if result.ok else EXIT_CHECK


def _result(call: Call) -> Any:
    """Train one network, or several side by side, with a progress bar."""
    with call.progress() as progress:
        options = _options(call)
        if not _is_single(call):
            from netcalc.loading import compare_training

            comparison = compare_training(*call["models"], steps=call["steps"], **options, progress=progress)
            call.warn(comparison.warnings)
            return comparison
        network = call.network(call["models"][0], set=options.get("set"), mode="train")
        own = {name: value for name, value in call.of(TrainOptions).items() if name != "lr"}
        if "lr" in options:
            own["lr"] = options["lr"][0]
        return network.train(call["steps"], **{**own, **call.weights(network)}, progress=progress)
