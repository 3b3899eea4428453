"""The spec is a small image classifier that runs without changes."""

from __future__ import annotations

from typing import Annotated

from netcalc.cli.declarations import Argument, Option


def command(
    file: Annotated[str, Argument(help="Output file; - for standard output.")] = "net.yaml",
    force: Annotated[bool, Option("--force", help="Replace an existing file.")] = False,
) -> None:
    """Write the starter; NetcalcError (E502) if the file exists."""
    import sys

    from netcalc.cli.output import write
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.files import exists
    from netcalc.spec.starter import STARTER

    text = STARTER.rstrip("\n")
    if file == "-":
        return write([text])
    if exists(file) and not force:
        raise NetcalcError(Diagnostic("E502", f"{file} exists already", hint="--force replaces it"))
    write([text], file, option="")
    print(f"wrote {file}; try `netcalc summary {file}`", file=sys.stderr)
    return None
