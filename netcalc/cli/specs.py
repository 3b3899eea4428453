"""A name can be given as SPEC to every command, and under `extends` in a spec file; --set changes sizes.

For a name, an alias such as bert-base-uncased, or a file, the page of the spec is shown: its dims and vars, inputs and
outputs, published figures, and its file. Any other WORD is searched for in names, aliases, families, descriptions and
sources. Figures are those at the default sizes.
"""

from __future__ import annotations

from netcalc.cli.command_options import SpecsOptions
from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import FormatOptions, OutputOptions
from netcalc.cli.suffixes import REPORTS, SPECS
from netcalc.cli.verb import Call, verb
from netcalc.options import DescribeOptions, SelectOptions, SpecListOptions

_NAME = Declared("name", str | None, None, Argument(metavar="NAME|WORD", help="A spec, or a word that specs mention."))


@verb(
    SpecsOptions,
    SpecListOptions,
    DescribeOptions,
    SelectOptions,
    FormatOptions,
    OutputOptions,
    arguments=(_NAME,),
    writes=lambda call: SPECS if call["yaml"] else REPORTS,
)
def command(call: Call) -> None:
    """List the specs that ship, or show the page of one."""
    from netcalc.loading import describe, list_specs
    from netcalc.reference.spec_list import is_spec

    name = call["name"]
    if call["yaml"]:
        return _write_file(call)
    if name is not None and is_spec(name):
        return call.write(describe(name, **call.of(DescribeOptions)))
    words = [word for word in (name, call["search"]) if word is not None]
    return call.write(list_specs(*words, **call.of(SpecListOptions)))


def _write_file(call: Call) -> None:
    """Write the file of a spec; NetcalcError (E502) without a name."""
    from netcalc.cli.output import write
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.formats import load_model
    from netcalc.formats.reading import Reading
    from netcalc.reference.spec_list import spec_lines

    if call["name"] is None:
        raise NetcalcError(Diagnostic("E502", "--yaml prints one spec", hint="name it: netcalc specs resnet18 --yaml"))
    write(spec_lines(load_model(call["name"], Reading(call["max_spec_size"])).path), call["output"])
