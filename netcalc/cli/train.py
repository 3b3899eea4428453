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
"""

from __future__ import annotations

from netcalc.cli.command_options import TrainOptions as CommandOptions
from netcalc.cli.options import FormatOptions, WideOptions
from netcalc.cli.suffixes import FORMATS, PICTURES, require_file
from netcalc.cli.verb import Call, verb
from netcalc.options import ModelOptions
from netcalc.run_options import TrainOptions


@verb(
    CommandOptions,
    TrainOptions,
    FormatOptions,
    WideOptions,
    ModelOptions,
    without=("symbolic", "mode", "prune"),
    writes=(".safetensors", ".npz", *FORMATS),
)
def command(call: Call) -> int:
    """Train, print the loss curve, and write files; return the exit code."""
    from netcalc.cli import EXIT_CHECK

    plot = call["plot"]
    if plot is not None:
        require_file("--plot", plot, PICTURES)
    with call.progress() as progress:
        settings = [*(call["set"] or []), *([] if call["batch"] is None else [f"batch={call['batch']}"])]
        network = call.network(set=settings, mode="train")
        options = {**call.of(TrainOptions), **call.weights(network)}
        result = network.train(call["steps"], **options, progress=progress)
    if plot is not None:
        result.save_charts(plot)
    call.write(result)
    return 0 if result.ok else EXIT_CHECK
