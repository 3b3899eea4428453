"""The typer application: a group whose commands are imported when they are called."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from netcalc.version import __version__

__all__ = ["COMMANDS", "app"]

#: Every command with what it does; each stands in the module of its name.
COMMANDS: dict[str, str] = {
    "shapes": "Input and output shapes of every layer.",
    "params": "Parameters and buffers by layer and by operation.",
    "flops": "Multiply-adds and operations of one forward pass, under a counting convention.",
    "summary": "Shapes, parameters and work together; --format json is a stable contract.",
    "compare": "Specs side by side, and layer against layer.",
    "explain": "The working behind the numbers of one layer, or of the whole network.",
    "run": "A forward pass in NumPy.",
    "verify": "Run the network and check every prediction against what happened.",
    "specs": "The specs that ship with netcalc.",
    "ops": "The operation reference.",
    "schema": "The JSON Schema of the spec language, for editors.",
    "init": "Write a commented spec to start from.",
}


class _Commands(TyperGroup):
    """Commands by name, each imported when it is first asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"netcalc.cli.{cmd_name}")
        single = typer.Typer(add_completion=False)
        single.command(name=cmd_name, help=f"{COMMANDS[cmd_name]}\n\n{module.__doc__ or ''}")(module.command)
        return typer.main.get_command(single)


app = typer.Typer(
    name="netcalc",
    cls=_Commands,
    add_completion=True,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"netcalc {__version__}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an unexpected error.")] = False,
) -> None:
    """Exact shapes, parameters, operation counts and memory of neural-network architectures."""
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())
