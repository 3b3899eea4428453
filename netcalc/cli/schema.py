"""Generated from the declared operations; an editor with YAML support checks specs against it while you type."""

from __future__ import annotations

from netcalc.cli import options


def command(output: options.Output = None) -> None:
    """Write the JSON Schema of specs."""
    from netcalc.cli.output import json_lines, write
    from netcalc.spec.schema import spec_schema

    return write(json_lines(spec_schema()), output)
