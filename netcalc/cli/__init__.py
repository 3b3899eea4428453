"""The command line.  ``main`` runs a command and returns the exit code; ``script`` is the installed entry point.

``netcalc.diagnostics.EXIT_CODES`` describes the exit codes.  It is not an error if the reader of the output closes the
pipe early (``netcalc ops | head``).
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from netcalc.diagnostics import Diagnostic

__all__ = ["EXIT_BUG", "EXIT_CHECK", "EXIT_INPUT", "main", "script"]

EXIT_CHECK = 1
EXIT_INPUT = 2
EXIT_BUG = 70  # EX_SOFTWARE
EXIT_INTERRUPTED = 130
#: Variable of the environment by which a shell asks for completions.
_COMPLETE = "_NETCALC_COMPLETE"


def script() -> NoReturn:
    """Run the command of the process and end it at once, without freeing every object."""
    code = main()
    if "joblib" in sys.modules:  # whose processes are ended at exit
        sys.exit(code)
    os._exit(code)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; return its exit code."""
    from netcalc.cli.streams import open_closed_streams, standard_streams

    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # start quickly: no garbage collection in a short process, no search for plugins in every installed package
    gc.set_threshold(1_000_000, 50, 50)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    open_closed_streams()
    with standard_streams():
        return _exit_code(arguments)


def _exit_code(arguments: list[str]) -> int:
    """Run a command, report its errors and return its exit code."""
    from netcalc.cli.output import print_diagnostics
    from netcalc.cli.streams import OutputClosedError, OutputError, discard_output
    from netcalc.diagnostics import Diagnostic

    try:
        code = _reported(arguments)
        sys.stdout.flush()
        return code
    except OutputClosedError:
        discard_output()
        return 0
    except OutputError as error:
        print_diagnostics([Diagnostic("E502", f"standard output cannot be written: {error}")])
        discard_output()
        return EXIT_INPUT
    finally:
        sys.stderr.flush()


def _reported(arguments: list[str]) -> int:
    """Run a command and return its exit code, after a report of its errors."""
    from netcalc.cli.streams import OutputClosedError, OutputError
    from netcalc.diagnostics import Diagnostic, NetcalcError

    try:
        return _run(arguments)
    except (OutputClosedError, OutputError):
        raise
    except NetcalcError as error:
        return _report_diagnostics(error.diagnostics, arguments)
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except RecursionError:
        return _report_diagnostics((Diagnostic("E003", "nested too deeply"),), arguments)
    except Exception:
        return _report_bug(arguments)


def _run(arguments: list[str]) -> int:
    from netcalc.cli.shells import completion_option
    from netcalc.cli.words import with_command

    if os.environ.get(_COMPLETE):
        from netcalc.cli.completion import completions
        from netcalc.cli.output import write

        write(completions(arguments))
        return 0
    if completion_option(arguments):
        return 0
    if not arguments:
        from netcalc.cli.output import write
        from netcalc.cli.welcome import welcome

        write(welcome())
        return 0
    arguments = with_command(arguments)
    command = _plain_command(arguments)
    result = command() if command is not None else _run_by_typer(arguments)
    return result if isinstance(result, int) else 0


def _plain_command(arguments: list[str]) -> Callable[[], object] | None:
    """Return the command with its arguments; None if typer has to read them.

    Raises:
        NetcalcError: E502 for an option of one value that is given several.
    """
    from netcalc.cli.commands import COMMANDS, command_module
    from netcalc.cli.plain_arguments import plain_arguments, require_once

    first = 1 if arguments[:1] == ["--debug"] else 0
    if arguments[first : first + 1] == [] or arguments[first] not in COMMANDS:
        return None
    command = command_module(arguments[first]).command
    words = arguments[first + 1 :]
    values = None if first else plain_arguments(command.parameters, words)
    if values is None:
        require_once(command.parameters, words)
    return None if values is None else partial(command, **values)


def _run_by_typer(arguments: list[str]) -> object:
    import typer

    from netcalc.cli.app import app
    from netcalc.diagnostics import Diagnostic, NetcalcError

    # where typer takes click from depends on its version
    usage_error: type[Exception] = typer.BadParameter.__bases__[0]
    try:
        return typer.main.get_command(app)(arguments, prog_name="netcalc", standalone_mode=False)
    except typer.Abort:
        raise KeyboardInterrupt from None
    except usage_error as error:
        raise NetcalcError(Diagnostic("E502", _usage_message(error), hint=_help_hint(error, arguments))) from None


def _usage_message(error: Exception) -> str:
    text = str(getattr(error, "format_message", lambda: error)())
    text = (
        text.partition(" (Possible")[0]
        .replace("Value error, ", "")
        .replace("Input should", "should")
        .strip()
        .rstrip(".")
    )
    return text[:1].lower() + text[1:]


def _help_hint(error: Exception, arguments: Sequence[str]) -> str:
    """Return a hint: the nearest command or option, or the dim or var that is meant, and the help page."""
    from netcalc.cli.words import meant_command, meant_option, setting_hint

    option, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
    page = f"`{context.command_path if context else 'netcalc'} --help` lists what is available"
    if setting := option and setting_hint(option, arguments):
        return f"{setting}; {page}"
    known = {name for parameter in context.command.params for name in parameter.opts} if context else ()
    near = meant_option(option or "", known) or next(iter(getattr(error, "possibilities", None) or ()), None)
    if near is None and "command" in str(error).lower():
        near = meant_command(str(error).rpartition(" ")[2].strip(".'\""), arguments)
    return f"did you mean {near!r}? {page}" if near else page


def _report_diagnostics(diagnostics: Sequence[Diagnostic], arguments: Sequence[str]) -> int:
    """Write diagnostics to standard error, or with ``--format json`` as a record to standard output."""
    from netcalc.cli.output import print_diagnostics, write
    from netcalc.cli.streams import OutputClosedError, OutputError

    if _wants_json(arguments):
        import json

        from netcalc.records.errors import errors_record
        from netcalc.render.escapes import json_text
        from netcalc.render.text import in_utf8

        text = json.dumps(errors_record(diagnostics), indent=2, ensure_ascii=not in_utf8(sys.stdout), allow_nan=False)

        try:
            write(map(json_text, text.split("\n")))
            sys.stdout.flush()
        except OutputClosedError:
            pass
        except OutputError:
            print_diagnostics(diagnostics)
    else:
        sys.stdout.flush()
        print_diagnostics(diagnostics)
    return EXIT_INPUT


def _report_bug(arguments: list[str]) -> int:
    """Report an unexpected error in one line, or with ``--debug`` as a traceback."""
    kind, value, _ = sys.exc_info()
    if arguments[:1] == ["--debug"] or os.environ.get("NETCALC_DEBUG"):
        import traceback

        traceback.print_exc()
    else:
        print(f"{kind.__name__ if kind else 'error'}: {value}", file=sys.stderr)
    print(
        "This is a bug in netcalc. Please report it with the spec and what `netcalc --debug …` prints.", file=sys.stderr
    )
    return EXIT_BUG


def _wants_json(arguments: Sequence[str]) -> bool:
    pairs = zip(arguments, [*arguments[1:], ""], strict=True)
    return any(a == "--format=json" or (a in ("--format", "-f") and b == "json") for a, b in pairs)
