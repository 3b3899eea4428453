"""The typer application: a group of commands, each imported when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from netcalc.cli.output import write
from netcalc.version import __version__

__all__ = ["COMMANDS", "app"]

#: Every command with its description, in the groups of the help page; each is the module of its name.
GROUPS: dict[str, dict[str, str]] = {
    "Count": {
        "shapes": "Input and output shapes of every layer.",
        "params": "Parameters and buffers by layer and by operation.",
        "flops": "Multiply-adds and operations of one forward pass, under a counting convention.",
        "summary": "Shapes, parameters and work together; --format json is a stable contract.",
    },
    "Run": {
        "run": "A forward pass in NumPy, or gradients by a backward pass.",
        "verify": "Run the network and check every prediction against the execution.",
        "signal": "Activations and gradients at initialisation, by depth, measured and predicted.",
        "train": "Some steps of training in NumPy, with the loss curve.",
    },
    "Plan": {
        "memory": "Weights, caches and activations: what a model holds, and what fits.",
    },
    "Compare and check": {
        "compare": "Specs side by side, and layer against layer.",
        "explain": "The working behind the numbers of one layer, or of the whole network.",
    },
    "Convert": {
        "import": "The spec that is equivalent to a PyTorch module, or a model of Hugging Face or in GGUF.",
    },
    "Reference": {
        "specs": "The specs that ship with netcalc, or the page of one.",
        "ops": "The reference of operations and shipped blocks.",
        "schema": "The JSON Schema of specs, for editors, or of a JSON record.",
        "init": "Write a commented spec to start from.",
        "help": "The page of an error code, or of a command.",
    },
}
COMMANDS: dict[str, str] = {name: about for group in GROUPS.values() for name, about in group.items()}


#: Modules of commands whose name is a keyword of Python.
_MODULES = {"import": "import_"}


class _Commands(TyperGroup):
    """Commands by name, each imported at its first use."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"netcalc.cli.{_MODULES.get(cmd_name, cmd_name)}")
        single = typer.Typer(add_completion=False)
        panel = next(title for title, commands in GROUPS.items() if cmd_name in commands)
        text = f"{COMMANDS[cmd_name]}\n\n{_unwrapped(module.__doc__ or '')}"
        single.command(name=cmd_name, help=text, rich_help_panel=panel)(module.command)
        return typer.main.get_command(single)


def _unwrapped(text: str) -> str:
    """Return a text with each paragraph on one line, which help pages wrap at their own width."""
    return "\n\n".join(" ".join(paragraph.split("\n")) for paragraph in text.strip().split("\n\n"))


app = typer.Typer(
    name="netcalc",
    cls=_Commands,
    add_completion=True,
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
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an unexpected error.")] = False,
) -> None:
    """Exact shapes, parameters, operation counts and memory of neural-network architectures."""
    if ctx.invoked_subcommand is None:
        write([ctx.get_help()])
