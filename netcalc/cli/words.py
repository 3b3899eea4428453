"""Words of a command line that are no commands and options of netcalc: what they stand for, or what was meant."""

from __future__ import annotations

import os
from collections.abc import Container, Iterator, Sequence

#: Words for what a command or an option does, by the words that other tools have for it.
MEANT = {
    **dict.fromkeys(("list", "ls", "models", "search", "find", "describe", "zoo"), "specs"),
    **dict.fromkeys(("info", "show", "stats", "count", "torchinfo", "inspect", "analyze", "print"), "summary"),
    **dict.fromkeys(("macs", "profile", "thop", "fvcore", "cost"), "flops"),
    **dict.fromkeys(("parameters", "weights"), "params"),
    **dict.fromkeys(("layers", "shape"), "shapes"),
    **dict.fromkeys(("plot", "draw", "diagram", "plot_model", "torchview", "visualize", "mermaid"), "graph"),
    **dict.fromkeys(("operations", "operators", "blocks"), "ops"),
    **dict.fromkeys(("vram", "kv", "cache"), "memory"),
    **dict.fromkeys(("fits", "plan", "estimate", "gpu"), "fit"),
    **dict.fromkeys(("latency", "roofline", "speed", "throughput", "mfu"), "time"),
    **dict.fromkeys(("grow", "growth", "crossover"), "scaling"),
    **dict.fromkeys(("optimize", "maximize", "minimize", "size", "chinchilla"), "solve"),
    **dict.fromkeys(("search-space", "grid", "pareto", "nas"), "sweep"),
    **dict.fromkeys(("diff", "versus"), "compare"),
    **dict.fromkeys(("page", "html", "browser", "dashboard", "netron"), "report"),
    **dict.fromkeys(("convert", "load"), "import"),
    **dict.fromkeys(("new", "create"), "init"),
    **dict.fromkeys(("limit", "limits", "guard", "assert"), "budget"),
    **dict.fromkeys(("why", "difference", "diagnose"), "reconcile"),
    **dict.fromkeys(("validate", "lint"), "check"),
    **dict.fromkeys(("forward", "infer", "predict"), "run"),
}
#: Options by the names that other tools, or other commands, have for them, each with the value that they stand for.
MEANT_OPTIONS = {
    "--wrt": "--input-gradients",
    "--optimizer": "--training",
    **dict.fromkeys(("--precision", "--torch-dtype"), "--dtype"),
    **dict.fromkeys(("--fp16", "--half"), "--dtype float16"),
    **dict.fromkeys(("--bf16", "--bfloat16"), "--dtype bfloat16"),
    **{f"--{name}": f"--format {name}" for name in ("json", "csv", "markdown", "html")},
    **dict.fromkeys(("--out", "--save"), "--output"),
    **dict.fromkeys(("--max-depth", "--level"), "--depth"),
    "-v": "--version",
}
#: Dims and vars by other names of theirs.
_SETTINGS = {
    "batch_size": "batch",
    "bs": "batch",
    "seq_len": "length",
    "sequence_length": "length",
    "num_classes": "classes",
}
#: Dims of many specs, for an option without a model.
_COMMON = ("batch", "length", "height", "width", "classes")


def with_command(words: Sequence[str]) -> list[str]:
    """Return the words of a command line with a command: a model alone is summarized, `version` is an option.

    >>> with_command(["resnet34", "--depth", "1"])
    ['summary', 'resnet34', '--depth', '1']
    """
    from netcalc.cli.commands import COMMANDS

    first = 1 if words[:1] == ["--debug"] else 0
    if [*words[first:]] in (["version"], ["-V"]):
        return ["--version"]
    if len(words) > first and words[first] not in COMMANDS and is_model(words[first]):
        return [*words[:first], "summary", *words[first:]]
    return [*words]


def is_model(word: str) -> bool:
    """Return True for a shipped name, an alias, a path, a name with a prefix, and `-` for standard input."""
    if word == "-" or (not word.startswith("-") and any(mark in word for mark in ("/", ".", ":", os.sep))):
        return True
    from netcalc.files import exists
    from netcalc.reference.spec_list import is_spec

    return word != "" and not word.startswith("-") and (is_spec(word) or exists(word))


def meant_command(word: str, words: Sequence[str] = ()) -> str | None:
    """Return the command or the shipped spec that a word may have been meant for.

    A word before a model is no misspelt spec; ``words`` are all words of the command line.
    """
    from netcalc.cli.commands import COMMANDS
    from netcalc.diagnostics import nearest
    from netcalc.reference.names import specs

    own = MEANT.get(word.lower()) or nearest(word, COMMANDS)
    return own or (None if any(map(is_model, words)) else nearest(word, specs()))


def meant_option(option: str, known: Container[str]) -> str | None:
    """Return the option that an unknown one may have been meant for; ``known`` are the options of the command."""
    meant = MEANT_OPTIONS.get(option.lower().replace("_", "-"))
    return meant if meant is not None and meant.partition(" ")[0] in known else None


def setting_hint(option: str, words: Sequence[str]) -> str | None:
    """Return the hint to use ``--set`` for an unknown option with the name of a dim or var of the model.

    Args:
        option: the option, such as ``--batch``.
        words: the words of the command line.
    """
    from netcalc.cli.commands import COMMANDS, command_module

    command = next((word for word in words if word in COMMANDS), None)
    if command is not None and all(parameter.name != "set" for parameter in command_module(command).command.parameters):
        return None
    name = option.lstrip("-").replace("-", "_").lower()
    known = list(_setting_names(words)) or [*_COMMON]
    name = name if name in known else _SETTINGS.get(name, "")
    if name not in known:
        return None
    return f"{name} is a dim or var: --set {name}={_value_of(option, words)}"


def _setting_names(words: Sequence[str]) -> Iterator[str]:
    """Yield the names of the dims and vars of the models among some words; files that cannot be read have none."""
    from netcalc.diagnostics import NetcalcError
    from netcalc.formats import load_model
    from netcalc.formats.hub import PREFIX
    from netcalc.formats.reading import Reading
    from netcalc.reference.names import setting_kinds

    for word in words:
        if word != "-" and not word.startswith(PREFIX) and is_model(word):
            try:
                yield from setting_kinds(load_model(word, Reading(via="table")))
            except NetcalcError:
                continue


def _value_of(option: str, words: Sequence[str]) -> str:
    """Return the value that follows an option."""
    from netcalc.reference.spec_list import is_spec

    for word, following in zip(words, [*words[1:], ""], strict=True):
        name, equals, value = word.partition("=")
        if name == option:
            shown = value if equals else "" if following.startswith("-") else following
            return shown if shown and not is_spec(shown) else "…"
    return "…"
