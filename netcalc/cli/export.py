"""The suffix of -o chooses the format. A .onnx file is a graph in ONNX, which other programs show and execute: nodes
have the paths of layers as PyTorch's exporter writes them, and every value its shape. A .py file is code of PyTorch:
blocks are classes, repeats loops, sizes arguments, and the keys of the state dict are the paths of the parameters.

Without weights a graph has the architecture alone, and the parameters are inputs of the graph. --weights writes those
of a checkpoint, --weights . the model's own, and --draw those that --init and --seed draw. Weights of over 2 GB are
written to FILE.data beside it, with --external any.

--symbolic NAME keeps a size open: it is a named size in the file, and what is computed from it is read from the shape
of an input when the graph runs. An operation that ONNX cannot express is an error that names all of its layers.

--format json prints the record of what was written.
"""

from __future__ import annotations

from netcalc.cli.options import ModeOptions, OutputOptions, TextFormatOptions
from netcalc.cli.verb import Call, verb
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.export_options import ExportOptions
from netcalc.options import ModelOptions


def _writes(call: Call) -> tuple[str, ...]:
    """Return the suffixes of formats; NetcalcError (E502) without a file."""
    from netcalc.formats.export.table import SUFFIXES

    if call["output"] is None:
        hint = f"-o FILE names it, and its suffix the format: {', '.join(SUFFIXES)}"
        raise NetcalcError(Diagnostic("E502", "export writes a file", hint=hint))
    return SUFFIXES


@verb(
    ExportOptions,
    OutputOptions,
    TextFormatOptions,
    ModelOptions,
    ModeOptions,
    without=("quantize", "prune", "mode", "train"),
    writes=_writes,
)
def command(call: Call) -> None:
    """Write a model in ONNX or as code of PyTorch."""
    network = call.network()
    options = {**call.of(ExportOptions), **call.weights(network)}
    call.report(network.export(call["output"], **options))
