"""Shapes, types, parameter sizes and the kernels' own counts of work are compared with the prediction, layer by layer.
The outputs of a planned run are compared with the kernels', and with --values each distinct operation with an
independent definition, element by element at sampled positions. With --backward the work of each gradient's product is
compared too, and with both options gradients are compared with central differences. The report names what was not
checked.

With --weights nothing is executed: the names, shapes and types in the file's header are compared with the spec. The
folder of a model that holds its weights is its own --weights, and so is a model on the Hub, of whose weights only the
headers are read; --execute runs the network as well, with random weights. The exit code is 1 if anything differs.

With --reference another library executes an .onnx file too, and outputs are compared on the same inputs.
--sort, --top and --filter select failures, or checks in JSON and CSV.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from netcalc.cli.command_options import InputOptions
from netcalc.cli.command_options import VerifyOptions as CommandOptions
from netcalc.cli.options import TEXT_ROW_OPTIONS
from netcalc.cli.verb import Call, verb
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.run_options import VerifyOptions

if TYPE_CHECKING:
    from netcalc.network import Network


@verb(InputOptions, VerifyOptions, CommandOptions, *TEXT_ROW_OPTIONS, without=("symbolic", "quantize", "prune"))
def command(call: Call) -> int:
    """Run and check the network, or check a file of weights, or both."""
    from netcalc.cli import EXIT_CHECK

    network = call.network()
    if call["reference"] is not None:
        return _compared(call, network)
    weights = network.own_weights if call["weights"] is None else network.open_weights(call["weights"])
    audit = None if weights is None else network.audit(weights=weights, cast=call["cast"])
    if audit is not None and not call["execute"]:
        call.write(audit)
        return 0 if audit.ok else EXIT_CHECK
    if audit is not None and call.format == "csv":
        message = "CSV holds one table; leave out --execute, or --weights"
        raise NetcalcError(Diagnostic("E502", message))
    call.require_column("VerifyReport")
    options = {
        name: value for name, value in call.of(InputOptions, VerifyOptions).items() if name not in ("weights", "cast")
    }
    with call.progress() as progress:
        report = network.verify(**options, progress=progress)
    call.write(replace(report, audit=audit))
    return 0 if report.ok and (audit is None or audit.ok) else EXIT_CHECK


def _compared(call: Call, network: Network) -> int:
    """Compare the outputs with those of another library."""
    from netcalc.cli import EXIT_CHECK

    refused = {"weights", "execute", "values", "backward", "receptive_field"}
    if given := [f"--{name.replace('_', '-')}" for name in sorted(refused) if call[name]]:
        message = f"{', '.join(given)} cannot be used with --reference, which runs the model with its own weights"
        raise NetcalcError(Diagnostic("E502", message))
    options = {name: call[name] for name in ("inputs", "seed", "max_work", "cast", "reference")}
    report = network.verify_reference(**options)
    call.write(report)
    return 0 if report.ok else EXIT_CHECK
