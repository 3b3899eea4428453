"""The default is the schema of spec files: point the YAML support of an editor at it to check specs while you type.

Other names are those of the records that --format json prints, such as summary, compare or errors.
"""

from __future__ import annotations

from typing import Annotated, Any

from netcalc.cli import options
from netcalc.cli.declarations import Argument


def command(
    name: Annotated[str, Argument(metavar="NAME", help="spec, or the name of a record.", show_default=False)] = "spec",
    output: options.Output = None,
) -> None:
    """Print a JSON Schema (2020-12)."""
    from netcalc.cli.output import json_lines, write

    return write(json_lines(_schema(name)), output)


def _schema(name: str) -> dict[str, Any]:
    """Return a schema by its name; NetcalcError (E502) if there is none."""
    from netcalc.diagnostics import Diagnostic, NetcalcError, nearest
    from netcalc.records import VERSIONS

    if name == "spec":
        from netcalc.spec.schema import spec_schema

        return spec_schema()
    if name not in VERSIONS:
        names = ["spec", *VERSIONS]
        near = nearest(name, names)
        hint = f"did you mean {near!r}?" if near else f"known here: {', '.join(names)}"
        raise NetcalcError(Diagnostic("E502", f"there is no schema {name!r}", hint=hint))
    from netcalc.records.schema import record_schema

    return record_schema(name)
