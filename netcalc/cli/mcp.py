"""Assistants start the server and speak the Model Context Protocol with it over standard input and output; the page
"For assistants" has their configurations. Its tools are shapes, params, flops, summary, explain, memory, fit,
compare, specs and ops, with the arguments of these commands, and with their JSON records as results.

Files are read below the folder in which the server is started, or below --folder; nothing is written, and no code of a
model is run. Started in the root of a file system without --folder, it reads shipped specs and texts alone. Models
hf:org/name need --network.
"""

from __future__ import annotations

import os
from pathlib import Path

from netcalc.cli.command_options import McpOptions
from netcalc.cli.verb import Call, verb
from netcalc.diagnostics import Diagnostic, NetcalcError


@verb(McpOptions, arguments=())
def command(call: Call) -> None:
    """Serve the counting verbs to assistants, as tools of the Model Context Protocol."""
    folder = _folder(call["folder"])
    try:
        import mcp  # noqa: F401
    except ImportError:
        hint = 'pip install "netcalc-nn[mcp]"'
        raise NetcalcError(Diagnostic("E502", "`netcalc mcp` needs the library mcp", hint=hint)) from None
    from netcalc.cli.assistants.pool import Service
    from netcalc.cli.assistants.server import serve

    serve(Service(folder, call["network"], call["timeout"], call["max_record"]))


def _folder(named: str | None) -> Path:
    """Return the folder whose files may be read.

    Raises:
        NetcalcError: E502 if there is no folder of the name.
    """
    folder = Path(os.path.realpath(named or "."))
    if not folder.is_dir():
        raise NetcalcError(Diagnostic("E502", f"--folder {named}: there is no such folder"))
    if named is None and folder.parent == folder:
        return Path(__file__).parents[1] / "data"
    return folder
