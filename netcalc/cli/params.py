"""A tied parameter counts where it is first used, and is shown as tied elsewhere.

A checkpoint (.safetensors, .npz, index.json, a folder of such files) may be given in place of a spec: its tensors are
shown by the prefixes of their names, with element types and bytes. Only headers are read. --stored shows the weights
of a model in this way: of a folder, or of a .gguf file with the bits of its elements.

--convention adds the count of a tool or paper that counts parameters otherwise, such as torchinfo, thop or kaplan, with
the operations that make the difference.

--charts draws the layers with most parameters as bars, or those that --sort, --top and --filter select; -o FILE.svg
writes the bars, or .png with the extra 'plot'.
"""

from __future__ import annotations

from netcalc.arguments import options_of
from netcalc.cli.command_options import StoredOptions
from netcalc.cli.options import ROW_OPTIONS, ChartOptions, ColumnOptions, LayoutOptions
from netcalc.cli.suffixes import PICTURES, REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.exclude_options import ExcludeOptions
from netcalc.notation_options import NotationOptions
from netcalc.options import ConventionOptions, LayerOptions, ModelOptions, SourceOptions


def _writes(call: Call) -> tuple[str, ...]:
    """Return the suffixes of files; checkpoints have no charts."""
    from netcalc.formats.checkpoints import is_checkpoint

    return REPORTS if call["stored"] or is_checkpoint(call["model"]) else (*REPORTS, *PICTURES)


@verb(
    *(
        ConventionOptions,
        NotationOptions,
        LayerOptions,
        ExcludeOptions,
        ColumnOptions,
        LayoutOptions,
        ChartOptions,
        *ROW_OPTIONS,
    ),
    StoredOptions,
    writes=_writes,
)
def command(call: Call) -> None:
    """Report the parameters of a network, or the tensors of a checkpoint."""
    from netcalc.formats.checkpoints import is_checkpoint

    if not call["stored"] and not is_checkpoint(call["model"]):
        if call["formula"]:
            chosen = call.of(ConventionOptions, ExcludeOptions, NotationOptions)
            return call.write(call.network().formulas(view="params", **chosen))
        chosen = call.of(ConventionOptions, LayerOptions, ExcludeOptions)
        return call.write(call.network().summary(view="params", **chosen))
    from netcalc.loading import read_checkpoint

    _refuse_options(call)
    return call.write(read_checkpoint(call["model"], **call.of(LayerOptions)))


def _refuse_options(call: Call) -> None:
    """Raise NetcalcError (E502) if options of a spec are given with a checkpoint."""
    if call.given(
        *(name for name in options_of(ModelOptions) if name not in options_of(SourceOptions)),
        "train",
        "columns",
        "charts",
        "exclude",
    ) or (call["convention"] != "netcalc"):
        from netcalc.diagnostics import Diagnostic, NetcalcError

        options_of_specs = (
            "--set, --symbolic, --mode, --train, --dtype, --lora, --quantize, --prune, --exclude, --columns, "
            "--charts and --convention"
        )
        message = f"{options_of_specs} are for a spec, not for a checkpoint"
        hint = f"`netcalc verify SPEC --weights {call['model']}` compares it with a spec"
        raise NetcalcError(Diagnostic("E502", message, hint=hint))
