"""The typer application: a group of commands, each imported when it is called."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from netcalc.cli.commands import COMMANDS, GROUPS, command_module
from netcalc.cli.declarations import for_typer
from netcalc.cli.output import write
from netcalc.version import __version__

__all__ = ["COMMANDS", "app"]


class _Commands(TyperGroup):
    """Commands by name, each imported at its first use."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = command_module(cmd_name)
        single = typer.Typer(add_completion=False)
        panel = next(title for title, commands in GROUPS.items() if cmd_name in commands)
        text = f"{COMMANDS[cmd_name]}\n\n{_unwrapped(module.__doc__ or '')}"
        single.command(name=cmd_name, help=text, rich_help_panel=panel)(
            for_typer(module.command, module.command.parameters)
        )
        return typer.main.get_command(single)


def _unwrapped(text: str) -> str:
    """Return a text with each paragraph on one line, which help pages wrap at their own width."""
    return "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in text.strip().split("\n\n"))


app = typer.Typer(
    name="netcalc",
    cls=_Commands,
    add_completion=False,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if requested:
        write([f"netcalc {__version__}"])
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", "-V", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
    show_completion: Annotated[
        str, typer.Option(metavar="[bash|zsh|fish]", help="Print the completion of a shell.", show_default=False)
    ] = "",
    install_completion: Annotated[
        str, typer.Option(metavar="[bash|zsh|fish]", help="Install the completion of a shell.", show_default=False)
    ] = "",
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an unexpected error.")] = False,
) -> None:
    """Exact shapes, parameters, operation counts and memory of neural-network architectures."""
    if ctx.invoked_subcommand is None:
        write([ctx.get_help()])
