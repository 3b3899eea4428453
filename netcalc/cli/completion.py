"""Completion of command lines in bash, zsh and fish, without typer.

A shell calls the command with the words up to the cursor, and ``_NETCALC_COMPLETE`` in the environment.  The answer has
a line for each word that may stand there, with a description after a tab; a line ``:files`` asks for files too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from netcalc.cli.declarations import Argument, Declared

#: The line that asks the shell for files.
FILES = ":files"
_ROOT = {
    "--help": "Show the help page and exit.",
    "--version": "Print the version and exit.",
    "--debug": "Show the traceback of an unexpected error.",
    "--show-completion": "Print the completion of a shell.",
    "--install-completion": "Install the completion of a shell.",
}


class Word(NamedTuple):
    """A word that may stand at the cursor."""

    text: str
    about: str = ""


class _Line(NamedTuple):
    """A command line up to the cursor."""

    command: str
    positional: list[str]
    values: dict[str, list[str]]
    #: The option whose value the next word is; None if it is another word.
    awaiting: Declared | None


def completions(words: Sequence[str]) -> Iterator[str]:
    """Yield the lines of the answer for the words after the command's name, of which the last, perhaps empty, grows."""
    from netcalc.diagnostics import NetcalcError

    *before, current = words or [""]
    with suppress(NetcalcError):  # of a model that cannot be read
        for text, about in dict(_candidates(before, current)).items():
            if text.startswith(current) or text == FILES:
                yield f"{text}\t{' '.join(about.split())}" if about else text


def _candidates(before: Sequence[str], current: str) -> Iterator[Word]:
    from netcalc.cli.commands import COMMANDS, command_module
    from netcalc.cli.shells import SHELLS
    from netcalc.cli.words import with_command

    before = [word for word in before if word != "--debug"]
    if before[-1:] in (["--show-completion"], ["--install-completion"]):
        yield from map(Word, SHELLS)
        return
    if not before:
        yield from (
            map(Word, _ROOT, _ROOT.values()) if current.startswith("-") else map(Word, COMMANDS, COMMANDS.values())
        )
        yield from () if current.startswith("-") else _models()
        return
    name, *rest = with_command(before)
    if name not in COMMANDS:
        return
    declared: list[Declared] = command_module(name).command.parameters
    line = _read(name, declared, rest)
    if line.awaiting is not None:
        yield from _values(line.awaiting, line, current)
    elif current.startswith("--") and "=" in current:
        flag, _, value = current.partition("=")
        option = next((entry for entry in declared if flag in entry.declaration.names), None)
        if option is not None:
            values = _values(option, line, value)
            yield from (word if word.text == FILES else word._replace(text=f"{flag}={word.text}") for word in values)
    elif current.startswith("-"):
        yield from _options(declared, line)
    else:
        arguments = [entry for entry in declared if isinstance(entry.declaration, Argument)]
        place = min(len(line.positional), len(arguments) - 1)
        if arguments and (place == len(line.positional) or _is_list(arguments[place])):
            yield from _values(arguments[place], line, current)


def _read(name: str, declared: Sequence[Declared], words: Sequence[str]) -> _Line:
    """Return the arguments and the values of options among some words, however incomplete."""
    by_name = {flag: entry for entry in declared for flag in entry.declaration.names}
    positional: list[str] = []
    values: dict[str, list[str]] = {}
    awaiting: Declared | None = None
    for word in words:
        flag, equals, value = word.partition("=")
        if awaiting is not None:
            values.setdefault(awaiting.name, []).append(word)
            awaiting = None
        elif flag in by_name:
            option = by_name[flag]
            values.setdefault(option.name, []).extend([value] if equals else [])
            awaiting = None if equals or option.type is bool else option
        elif not word.startswith("-") or word == "-":
            positional.append(word)
    return _Line(name, positional, values, awaiting)


def _options(declared: Iterable[Declared], line: _Line) -> Iterator[Word]:
    """Yield the options that may still be given."""
    for entry in declared:
        if isinstance(entry.declaration, Argument) or (entry.name in line.values and not _is_list(entry)):
            continue
        long = (flag for flag in entry.declaration.names if flag.startswith("--"))
        yield from (Word(flag, entry.declaration.settings.get("help", "")) for flag in long)
    yield Word("--help", "Show the help page and exit.")


def _is_list(entry: Declared) -> bool:
    return "list[" in str(entry.type)


def _values(entry: Declared, line: _Line, current: str) -> Iterator[Word]:
    """Yield the values of an argument or option."""
    settings = entry.declaration.settings
    if choices := settings.get("choices"):
        yield from map(Word, choices)
    elif (line.command, entry.name) in _OF_COMMANDS:
        yield from _OF_COMMANDS[line.command, entry.name]()
    elif entry.name in _OF_MODELS:
        yield from _OF_MODELS[entry.name](line, current)
    elif entry.name in _WORDS:
        yield from _WORDS[entry.name]()
    elif "FILE" in settings.get("metavar", "") or settings.get("metavar") == "PATH":
        equals = "=" in current
        yield from () if "=" in settings["metavar"] and not equals else (Word(FILES),)


# -- words that do not depend on a model ------------------------------------------------------------


def _models() -> Iterator[Word]:
    from netcalc.reference.names import specs

    yield from (Word(name, entry.about) for name, entry in specs().items())
    yield Word(FILES)


def _specs() -> Iterator[Word]:
    return (word for word in _models() if word.text != FILES)


def _families() -> Iterator[Word]:
    from netcalc.reference.names import specs

    return (Word(entry.family) for entry in specs().values())


def _operations() -> Iterator[Word]:
    from netcalc import ops
    from netcalc.reference.names import block_names

    return map(Word, (*ops.names(), *block_names()))


def _topics() -> Iterator[Word]:
    from netcalc.cli.commands import COMMANDS
    from netcalc.diagnostics import CODES

    return (Word(name, about) for name, about in {**COMMANDS, **CODES}.items())


def _schemas() -> Iterator[Word]:
    from netcalc.cli.schema import schema_names

    return map(Word, schema_names())


def _conventions() -> Iterator[Word]:
    from netcalc.reference.names import conventions

    return (Word(name, about) for name, about in conventions().items())


def _optimizers() -> Iterator[Word]:
    from netcalc.reference.names import optimizer_names

    return map(Word, optimizer_names())


def _files() -> Iterator[Word]:
    return iter((Word(FILES),))


#: Values of arguments and options by their names, of some commands and of all.
_OF_COMMANDS: dict[tuple[str, str], Callable[[], Iterator[Word]]] = {
    ("ops", "name"): _operations,
    ("specs", "name"): _specs,
    ("schema", "name"): _schemas,
}
_WORDS: dict[str, Callable[[], Iterator[Word]]] = {
    "model": _models,
    "models": _models,
    "specs": _models,
    "source": _files,
    "file": _files,
    "topic": _topics,
    "convention": _conventions,
    "training": _optimizers,
    "family": _families,
}


# -- words of the models of the command line --------------------------------------------------------


def _settings(line: _Line, current: str) -> Iterator[Word]:
    """Yield ``NAME=`` of the dims and vars of the models, in ``compare`` also behind the number of a model."""
    number = current[: current.find(":") + 1] if line.command == "compare" else ""
    for model in line.positional:
        yield from (Word(f"{number}{name}=", about) for name, about in _dims_and_vars(model).items())


def _symbols(line: _Line, _current: str) -> Iterator[Word]:
    for model in line.positional:
        yield from (Word(name) for name, about in _dims_and_vars(model).items() if about == "dim")


def _dims_and_vars(model: str) -> dict[str, str]:
    from netcalc.formats import load_model
    from netcalc.formats.reading import Reading
    from netcalc.reference.names import setting_kinds

    if not _is_local(model):
        return {}
    return setting_kinds(load_model(model, Reading(via="table")))


def _paths(line: _Line, current: str) -> Iterator[Word]:
    """Yield the paths of layers and blocks that are at most one part longer."""
    from netcalc.loading import load

    if not line.positional or not _is_local(line.positional[0]):
        return
    for path in load(line.positional[0], set=line.values.get("set", [])).shapes:
        yield Word(".".join(path.split(".")[: current.count(".") + 1]))
        if path.startswith(f"{current}."):
            yield Word(".".join(path.split(".")[: current.count(".") + 2]))


def _is_local(model: str) -> bool:
    """Return True for a model that can be read while a key is pressed: no standard input, and nothing of the Hub."""
    from netcalc.formats.hub import PREFIX

    return model != "-" and not model.startswith(PREFIX)


_OF_MODELS: dict[str, Callable[[_Line, str], Iterator[Word]]] = {
    "set": _settings,
    "symbolic": _symbols,
    "path": _paths,
    "filter": _paths,
    "trace": _paths,
}
