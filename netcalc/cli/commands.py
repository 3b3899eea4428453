"""The commands by name, each the module of its name, which is imported when it is called."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

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
        "signal": "Activations and gradients at initialization, by depth, measured and predicted.",
        "train": "Some steps of training in NumPy, with the loss curve.",
    },
    "Plan": {
        "memory": "Weights, caches and activations: what a model holds, and what fits.",
        "time": "Lower bound of the time on a device, by layer, and of a whole training.",
        "scaling": "Parameters and work as a size grows: degree, terms, and which part overtakes which.",
        "solve": "The sizes that meet conditions: the widest, deepest or nearest network under a budget.",
        "sweep": "Figures at many values of dims and vars: the best points, and a Pareto front.",
        "fit": "The answer to one question: does it fit this device, at which batch, length and precision?",
    },
    "Compare and check": {
        "compare": "Specs side by side, and layer against layer, or one under several conventions.",
        "budget": "Limits of a network's figures, and of what a change may add.",
        "check": "Specs against their schema, shapes, requirements, published figures and budgets.",
        "explain": "The working behind the numbers of one layer, or of the whole network.",
        "reconcile": "Two conventions or models, and what makes the difference of their totals.",
        "reproduce": "Figures that papers print, computed anew.",
    },
    "Show": {
        "graph": "The graph of a network as a picture, as Mermaid text, or for Graphviz.",
        "report": "A page with everything about a network, or two side by side, for a browser.",
    },
    "Convert": {
        "import": "The spec that is equivalent to a PyTorch module, or a model of Hugging Face, ONNX, Keras or GGUF.",
        "export": "A model in ONNX, or as PyTorch code.",
    },
    "Serve": {
        "lsp": "Errors, shapes and completion while a spec is typed, for editors.",
        "mcp": "The counting verbs as tools of the Model Context Protocol, for assistants.",
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


def command_module(name: str) -> ModuleType:
    """Return the module of a command."""
    return import_module(f"netcalc.cli.{_MODULES.get(name, name)}")
