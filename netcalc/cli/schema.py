"""The default is the schema of spec files: point the YAML support of an editor at it to check specs while you type.

Other names stand for the records that --format json prints, such as summary, compare or errors.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from netcalc.cli.declarations import Argument, Declared
from netcalc.cli.options import OutputOptions
from netcalc.cli.verb import Call, verb

_NAME = Declared(
    "name", str, "spec", Argument(metavar="NAME", help="spec, or the name of a record.", show_default=False)
)


@verb(OutputOptions, arguments=(_NAME,), without=["wide"], writes=("", ".json"))
def command(call: Call) -> None:
    """Print a JSON Schema (2020-12)."""
    from netcalc.cli.output import write
    from netcalc.render.json_lines import json_lines
    from netcalc.render.text import in_utf8

    text = _schema(call["name"])
    write(text.splitlines() if in_utf8(sys.stdout) else json_lines(json.loads(text)), call["output"])


def schema_file(name: str) -> Path:
    """Return the file of a schema, which ``pytest tests/test_schemas.py --update`` generates from the declarations.

    Making the schema of specs takes far longer than reading it.
    """
    return Path(__file__).parent.parent / "data" / "schemas" / f"{name}.json"


def schema_names() -> list[str]:
    """Return the names of the schemas."""
    return sorted(path.stem for path in schema_file("spec").parent.iterdir())


def _schema(name: str) -> str:
    """Return the text of a schema by its name; NetcalcError (E502) if there is none."""
    from netcalc.diagnostics import Diagnostic, NetcalcError, nearest

    names = schema_names()
    if name not in names:
        near = nearest(name, names)
        hint = f"did you mean {near!r}?" if near else f"known here: {', '.join(names)}"
        raise NetcalcError(Diagnostic("E502", f"there is no schema {name!r}", hint=hint))
    return schema_file(name).read_text(encoding="utf-8")
