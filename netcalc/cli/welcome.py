"""The page of `netcalc` without arguments: five commands to try."""

from __future__ import annotations

#: Commands with the question that each answers.
COMMANDS = (
    ("summary resnet34 --depth 1", "shapes, parameters and work"),
    ("explain resnet34 conv1", "why 224×224×3 becomes 112×112×64"),
    ("fit llama-3.1-8b --device rtx-4090", "does it fit, at which length?"),
    ("reconcile vit_b_16 --reported 11.29G", "why another tool says 11.29"),
    ("init net.yaml", "a commented spec to start from"),
)


def welcome() -> list[str]:
    """Return the lines of the page."""
    width = max(len(command) for command, _ in COMMANDS)
    return [
        "Exact shapes, parameters, operation counts and memory of neural networks.",
        "",
        *(f"  netcalc {command:<{width}}  {about}" for command, about in COMMANDS),
        "",
        "netcalc --help lists all commands, netcalc specs the networks that ship.",
    ]
