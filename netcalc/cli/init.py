"""The spec is a small image classifier that runs without changes."""

from __future__ import annotations

import sys

from netcalc.cli.command_options import ForceOptions
from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.verb import Call, verb

_FILE = Declared("file", str, "net.yaml", Argument(help="Output file; - for standard output."))


@verb(ForceOptions, arguments=(_FILE,))
def command(call: Call) -> None:
    """Write the starter; NetcalcError (E502) if the file exists."""
    from netcalc.cli.output import write
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.files import exists
    from netcalc.reference.starter import STARTER

    file, text = call["file"], STARTER.rstrip("\n")
    if file == "-":
        return write([text])
    if exists(file) and not call["force"]:
        raise NetcalcError(Diagnostic("E502", f"{file} exists already", hint="--force replaces it"))
    write([text], file, option="")
    print(f"wrote {file}; try `netcalc summary {file}`", file=sys.stderr)
    return None
