"""Commands as clients of the Python API: options become the arguments of a method, and its result is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from netcalc.arguments import Option, options_of
from netcalc.cli.declarations import Declared
from netcalc.cli.declarations import Option as Flags
from netcalc.cli.options import MODEL, value_of
from netcalc.cli.suffixes import (
    FINDINGS,
    FORMATS,
    PICTURES,
    REPORTS,
    TENSORS,
    require_file,
    require_format,
    suffix_of,
)

if TYPE_CHECKING:
    from netcalc.diagnostics import Diagnostic
    from netcalc.network import Network
    from netcalc.render.presentations import View
    from netcalc.render.progress import Progress
    from netcalc.render.text import Terminal


class Call:
    """Call of a command: the values of its parameters by name, and what commands do with them."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        """Return the value of a parameter; None for one that the command does not have."""
        return self._values.get(name)

    def given(self, *names: str) -> list[str]:
        """Return the parameters that have a value other than None, False or an empty list."""
        return [name for name in names if self._values.get(name)]

    def of(self, *groups: type) -> dict[str, Any]:
        """Return the options of some groups that have a value, as arguments of a method."""
        names = dict.fromkeys(name for group in groups for name in options_of(group))
        return {name: value_of(name, self._values[name]) for name in names if self._values.get(name) is not None}

    def network(self, model: str | None = None, **changes: Any) -> Network:
        """Return the network of the model, and print its warnings.

        Args:
            model: the model, by default the argument ``MODEL``.
            changes: further options of the model.
        """
        from netcalc.loading import load
        from netcalc.options import ModelOptions

        network = load(model or self._values["model"], **{**self.of(ModelOptions), **self.mode(), **changes})
        self.warn(network.warnings)
        return network

    def mode(self) -> dict[str, str]:
        """Return the mode, if one is given.

        Raises:
            NetcalcError: E502 if ``--mode`` and ``--train`` contradict each other.
        """
        if self["train"] and self["mode"] == "eval":
            from netcalc.diagnostics import Diagnostic, NetcalcError

            raise NetcalcError(Diagnostic("E502", "--mode eval and --train contradict each other"))
        return {"mode": "train"} if self["train"] else {"mode": self["mode"]} if self["mode"] else {}

    def warn(self, warnings: Sequence[Diagnostic]) -> None:
        """Print warnings, each once."""
        if warnings:
            from netcalc.cli.output import print_diagnostics

            print_diagnostics(warnings)

    def weights(self, network: Network) -> dict[str, Any]:
        """Return the weights of ``--weights``, opened, as an argument of a method; none without the option.

        A note on standard error says how much of weights on the Hub is downloaded.
        """
        if self["weights"] is None:
            return {}
        from netcalc.loading import pending_downloads

        weights = network.open_weights(self["weights"])
        for name, pending in pending_downloads(weights).items():
            from netcalc.render.numbers import bytes_text

            print(f"{name}: {bytes_text(pending)} of weights are downloaded to the cache of the Hub", file=sys.stderr)
        return {"weights": weights}

    def require_column(self, name: str) -> None:
        """Check ``--sort`` before there is a result, whose type has the name.

        Raises:
            NetcalcError: E502 for a column that these results do not have.
        """
        if self["sort"] is not None:
            from netcalc.render.presentations import require_column

            require_column(name, self.view.selection)

    def progress(self) -> Progress:
        """Return a progress bar."""
        import numpy  # noqa: F401 - first: CPython 3.11 imports it slowly below a deep stack of nested imports

        from netcalc.render.progress import Progress

        return Progress()

    @property
    def format(self) -> str:
        """The format of the report: of the suffix of ``--output``, else of ``--format``, by default a table."""
        by_suffix = (FORMATS | FINDINGS).get(suffix_of(self["output"]))
        return by_suffix or (self["format"] or "table").replace("text", "table")

    def require_output(self, suffixes: Sequence[str]) -> None:
        """Check ``--output`` before anything is computed; ``suffixes`` are those that the command writes.

        Raises:
            NetcalcError: E502 for a file that the command does not write, or a ``--format`` that contradicts it.
        """
        if self["output"] is not None:
            require_file("--output", self["output"], suffixes)
            require_format(self["output"], self["format"])

    @property
    def view(self) -> View:
        """The rows and the format that the user wants to see."""
        from netcalc.characters import composed
        from netcalc.render.presentations import View
        from netcalc.render.selection import Selection

        selection = Selection(self["sort"], self["top"], tuple(map(composed, self["filter"] or ())))
        chosen = {name: self[name] for name in ("layout", "all", "charts") if self[name] is not None}
        if self["columns"] is not None:
            chosen["columns"] = tuple(name.strip() for name in self["columns"].split(","))
        return View(selection, self.format, **chosen)

    def write(self, result: Any) -> None:
        """Write the report of a result; by the suffix of ``--output`` its chart instead, or its tensors too."""
        from netcalc.cli.output import write
        from netcalc.render.presentations import lines

        output = self["output"]
        if suffix_of(output) in PICTURES:
            self.plot(result, output)
            return
        if suffix_of(output) in TENSORS:
            result.save(output)
            output = None
        terminal = self.terminal(output)
        write(lines(result, self.view._replace(width=terminal.width), terminal), output)

    def report(self, result: Any) -> None:
        """Print the report of a result whose file is written."""
        Call({**self._values, "output": None}).write(result)

    def plot(self, result: Any, path: str) -> None:
        """Write the charts of a result, with the rows that the user wants to see."""
        from netcalc.render.presentations import plot

        plot(result, path, self.view)

    def terminal(self, output: str | None) -> Terminal:
        """Return the properties of the output: a file has no colors and no width; ``--wide`` removes the width."""
        from netcalc.render.text import PLAIN, terminal_of

        terminal = terminal_of(sys.stdout) if output is None else PLAIN
        return terminal._replace(width=None, whole=True) if self["wide"] else terminal


#: Suffixes of files, or a function that gives them for a call.
Writes: TypeAlias = Sequence[str] | Callable[[Call], Sequence[str]]


class Verb:
    """A command: the function that runs it, its parameters, and the suffixes of the files that it writes."""

    def __init__(
        self,
        run: Callable[[Call], int | None],
        parameters: Iterable[Declared],
        writes: Writes,
        options: Mapping[str, Option] = {},
    ) -> None:
        self._run = run
        self._writes = writes
        self.parameters = list(parameters)
        self.options = options
        self.__doc__ = run.__doc__

    def __call__(self, **values: Any) -> int:
        """Run the command with values of its parameters; return the exit code."""
        call = Call(values)
        call.require_output(self._writes(call) if callable(self._writes) else self._writes)
        return self.run(call)

    def run(self, call: Call) -> int:
        """Run the command on a call, which knows what becomes of its result; return the exit code."""
        return self._run(call) or 0


def verb(
    *groups: type, arguments: Iterable[Declared] = (MODEL,), without: Iterable[str] = (), writes: Writes = REPORTS
) -> Callable[[Callable[[Call], int | None]], Verb]:
    """Return the decorator that makes a command of a function.

    Args:
        groups: groups of options.
        arguments: arguments by position.
        without: options of the groups that the command does not have.
        writes: suffixes of the files that ``--output`` may name, or a function that gives them for a call.
    """
    declared = {name: option for group in groups for name, option in options_of(group).items()}
    options = {name: option for name, option in declared.items() if option.flags != () and name not in without}
    read = [_declared(name, option) for name, option in options.items()]
    return lambda run: Verb(run, [*arguments, *read], writes, options)


def _declared(name: str, option: Option) -> Declared:
    """Return the parameter of a command for an option."""
    kind = option.kind
    settings = {
        "help": option.help,
        "metavar": option.metavar,
        "show_default": option.shown_default,
        "rich_help_panel": option.panel,
        "min": kind.least,
        "choices": kind.choices or None,
    }
    type_: Any = list[str] if kind.many else kind.word
    default = None if kind.many else option.default
    flags = option.flags or ("--" + name.replace("_", "-"),)
    shown = {key: value for key, value in settings.items() if value is not None}
    return Declared(name, type_ | None if default is None else type_, default, Flags(*flags, **shown))
