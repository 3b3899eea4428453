"""Made from the registry of operations; point an editor's YAML support at it to have specs checked while typing."""

from __future__ import annotations

from netcalc.cli import options


def command(output: options.Output = None) -> None:
    """Writes the JSON Schema of specs."""
    from netcalc.cli.output import json_lines, write
    from netcalc.spec.schema import spec_schema

    return write(json_lines(spec_schema()), output)
