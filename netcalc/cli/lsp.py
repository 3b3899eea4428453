"""Editors start the server and speak the Language Server Protocol with it over standard input and output; the page
"In your editor" has the settings of VS Code, Neovim, Helix and others. It takes files with the key `netcalc`,
underlines errors with changes that repair them, writes shape and parameters behind every line, completes operations,
attributes and names, and shows the working of a line.

Of other files it reads those that a spec extends or imports, and it writes none.
"""

from __future__ import annotations

from netcalc.cli.command_options import LspOptions
from netcalc.cli.verb import Call, verb
from netcalc.diagnostics import Diagnostic, NetcalcError


@verb(LspOptions, arguments=())
def command(call: Call) -> None:
    """Serve editors: errors, shapes and completion while a spec is typed."""
    try:
        import pygls  # noqa: F401
    except ImportError:
        hint = 'pip install "netcalc-nn[lsp]"'
        raise NetcalcError(Diagnostic("E502", "`netcalc lsp` needs the library pygls", hint=hint)) from None
    from netcalc.cli.editors.server import serve

    serve()
