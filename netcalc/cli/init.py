"""The spec that is written is a small image classifier that runs as it stands."""

from __future__ import annotations

from typing import Annotated

import typer


def command(
    file: Annotated[str, typer.Argument(help="Where to write it; - for standard output.")] = "net.yaml",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that is there already.")] = False,
) -> None:
    """Writes the starter; NetcalcError (E502) where a file would be lost."""
    import sys
    from pathlib import Path

    from netcalc.cli.output import write
    from netcalc.diagnostics import Diagnostic, NetcalcError
    from netcalc.spec.starter import STARTER

    text = STARTER.rstrip("\n")
    if file == "-":
        return write([text])
    if Path(file).exists() and not force:
        raise NetcalcError(Diagnostic("E502", f"{file} exists already", hint="--force replaces it"))
    write([text], file)
    print(f"wrote {file}; try `netcalc summary {file}`", file=sys.stderr)
    return None
