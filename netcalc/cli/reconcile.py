"""Totals of one forward pass under two counting conventions, and each group of terms that makes the difference, by
operation. The groups add up to the difference exactly. --depth N shows the layers of each group. --backward has both
passes, and --training OPTIMIZER a step of training, under conventions that count a backward pass.

--from and --to take any convention, or the YAML file of your own. Where one counts multiply-adds and the other
operations, the change of the unit is a group of its own, and the others are in the unit of --to.

Of two models the layers are shown, matched by path, whose parameters or work differ. They add up to the difference of
the totals. --set changes both models, or with a number one of them: --set 2:NAME=VALUE.

--reported 11.29G explains a number instead: conventions, MACs or FLOPs, batch, resolution, any other dim, head and
embeddings, half of causal attention, forward or with backward, and prefixes of 1000 or 1024 are searched for what
reproduces each printed digit. Up to ten explanations are listed, those with the fewest choices first, with the command
that prints the figure. Sizes that --set fixes are not searched. --convention ours.yaml is searched too. The exit code
is 1 if nothing explains the number. --reported-params does so for parameters, and --reported-memory 16.1GiB for bytes:
element types, schemes, caches, training, activations, batch and length.
"""

from __future__ import annotations

from netcalc.arguments import options_of
from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import MODEL, FormatOptions, ModeOptions, OutputOptions
from netcalc.cli.suffixes import REPORTS
from netcalc.cli.verb import Call, verb
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.options import ModelOptions, SelectOptions
from netcalc.reconcile_options import NetworkReconciliationOptions, ReconcileOptions, ReportedOptions

_OTHER = Declared("other", str | None, None, Argument(metavar="[MODEL]", help="A second model to reconcile with."))
_OF_ONE = {
    "before": "--from",
    "after": "--to",
    "exclude": "--exclude",
    "backward": "--backward",
    "training": "--training",
    "loss": "--loss",
    "input_gradients": "--input-gradients",
    "reported": "--reported",
    "reported_params": "--reported-params",
    "reported_memory": "--reported-memory",
}


@verb(
    ReconcileOptions,
    ReportedOptions,
    NetworkReconciliationOptions,
    SelectOptions,
    FormatOptions,
    OutputOptions,
    ModelOptions,
    ModeOptions,
    arguments=(MODEL, _OTHER),
    writes=REPORTS,
)
def command(call: Call) -> int:
    """Show where two counting conventions or two models differ, or what explains a number."""
    from netcalc.cli import EXIT_CHECK

    if call["other"] is not None:
        return _two_models(call)
    reported = call.of(ReportedOptions)
    if not reported.keys() - {"convention"}:
        if call["convention"] is not None:
            hint = "--from NAME --to NAME are the conventions of one model"
            raise NetcalcError(Diagnostic("E502", "--convention is of two models, or of a number", hint=hint))
        call.write(call.network().reconcile(**call.of(ReconcileOptions)))
        return 0
    declared = options_of(ReconcileOptions)
    if any(value and value != declared[name].default for name, value in call.of(ReconcileOptions).items()):
        hint = "leave them out: --reported searches all conventions"
        raise NetcalcError(Diagnostic("E502", "options of two conventions do not go with a number", hint=hint))
    diagnosis = call.network().reconcile_reported(**reported)
    call.write(diagnosis)
    return 0 if diagnosis.ok else EXIT_CHECK


def _two_models(call: Call) -> int:
    """Write the layers in which two models differ."""
    from netcalc.reconciling import reconcile_networks

    given = [flag for name, flag in _OF_ONE.items() if call[name] not in (None, False)]
    if given:
        hint = "leave out the second model, or the option; --convention NAME is that of two models"
        raise NetcalcError(Diagnostic("E502", f"{given[0]} is of one model", hint=hint))
    options = {**call.of(NetworkReconciliationOptions), **call.mode()}
    found = reconcile_networks(call["model"], call["other"], **options)
    call.warn(found.warnings)
    call.write(found)
    return 0
