"""The spec extends a shipped one, whose vars it sets; it gives the same figures as the source, which every command
takes as it is too: `netcalc summary FOLDER`. Without SOURCE the known model types are listed.

SOURCE is a config.json, the folder that has it, a .gguf, .keras or .onnx file, the JSON of a model of Keras, or the
name of a model on the Hub, hf:org/name or hf:org/name@revision, of which only the configuration is downloaded.
timm:NAME and torchvision:NAME are models of these libraries. What no table describes is built by its library, where
that is installed.

torch:package.module:factory is a module of PyTorch: an instance, or a class or function that makes one, with the
arguments of --set. Its code is run, without memory for parameters. --example gives the arguments of its forward:
image=float32:1,3,224,224, or with sizes that stay symbolic ids=int64:batch=1,length=16, or a constant,
use_cache=false. A .pt2 file of torch.export.save has its arguments already.

A field, a value or an architecture that netcalc does not know is an error, so that no figure is a guess; --ignore goes
on without a field. --set takes fields of the configuration, and dims and vars of the spec.
"""

from __future__ import annotations

import sys

from netcalc.cli.command_options import ModuleOptions
from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import FormatOptions, OutputOptions
from netcalc.cli.suffixes import REPORTS, SPECS
from netcalc.cli.verb import Call, verb
from netcalc.options import ImportOptions
from netcalc.run_options import SeedOptions

_SOURCE = Declared(
    "source",
    str | None,
    None,
    Argument(
        metavar="SOURCE", help="A config.json, its folder, a .gguf, .keras, .onnx or .pt2 file, hf:org/name, or torch:…"
    ),
)


@verb(
    ModuleOptions,
    SeedOptions,
    ImportOptions,
    FormatOptions,
    OutputOptions,
    arguments=(_SOURCE,),
    writes=lambda call: REPORTS if call["source"] is None else SPECS,
)
def command(call: Call) -> int:
    """Write the spec of a model in a foreign format, or the list of model types."""
    from netcalc.cli.output import write
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.formats import is_torch
    from netcalc.loading import import_spec, model_types
    from netcalc.render.progress import waiting

    source = call["source"]
    if source is None:
        call.write(model_types())
        return 0
    if is_torch(source):
        return _import_module(call)
    if call.given("example", "mode", "dtype", "verify", "allow_unknown", "drop_dead_code"):
        options = "--example, --mode, --dtype, --verify, --allow-unknown and --drop-dead-code"
        message = f"{options} are for modules of PyTorch, not for {source}"
        raise NetcalcError(Diagnostic("E502", message))
    if call.format != "table":
        raise NetcalcError(Diagnostic("E502", "--format is for the list of model types; a spec is YAML"))
    with waiting(source):
        text = import_spec(source, **call.of(ImportOptions))
    write(text.rstrip("\n").split("\n"), call["output"])
    return 0


def _import_module(call: Call) -> int:
    """Write the spec of a PyTorch module, after a note that its code is run; return the exit code.

    With ``--verify`` the network is compared with the module.  The report goes to standard output if the spec goes to a
    file, and else to standard error.
    """
    from netcalc.cli import EXIT_CHECK
    from netcalc.cli.output import write
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.formats.torch.factories import PREFIX, split_name
    from netcalc.formats.torch.sources import import_torch
    from netcalc.loading import read_settings
    from netcalc.render.presentations import lines
    from netcalc.render.progress import waiting
    from netcalc.render.text import terminal_of
    from netcalc.torch_modules import network_of

    source, format_ = call["source"], call.format
    if format_ not in ("table", "json") or (format_ == "json" and not call["verify"]):
        hint = "with --verify, --format json writes its report"
        raise NetcalcError(Diagnostic("E502", "a spec is YAML, without --format", hint=hint))
    if source.startswith(PREFIX):
        split_name(source)
        print(f"{source}: the code of this module is run", file=sys.stderr)
    with waiting(source):
        imported = import_torch(
            source,
            call["example"] or [],
            read_settings(call["set"]),
            training=call["mode"] == "train",
            dtype=call["dtype"],
            allow_unknown=call["allow_unknown"],
            drop_dead_code=call["drop_dead_code"],
        )
    network = network_of(*imported.spec, mode=call["mode"])
    write(network.to_yaml().rstrip("\n").split("\n"), call["output"])
    if not call["verify"]:
        return 0
    args, kwargs = imported.call[:2]
    report = network.verify_against(imported.module, *args, seed=call["seed"], dtype=call["dtype"], **kwargs)
    shown = sys.stderr if call["output"] is None else sys.stdout
    shown.writelines(line + "\n" for line in lines(report, call.view, terminal_of(sys.stderr)))
    return 0 if report.ok else EXIT_CHECK
