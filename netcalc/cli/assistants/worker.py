"""Process that answers calls of tools: a JSON object on a line of standard input, and its answer on one of the output.

It is confined to the folder of the server (:mod:`netcalc.confinement`) before it reads a call.  What else is printed
goes to standard error.
"""

from __future__ import annotations

import json
import os
import sys
import traceback
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from netcalc.cli.assistants.tools import checked_arguments, command_of
from netcalc.cli.verb import Call
from netcalc.confinement import require_readable
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats import is_text
from netcalc.formats.confined import confine_models
from netcalc.limits import MAX_POINTS, MAX_SWEEP_RANGES

#: Arguments with values of the network, which are no names of files.
_SETTINGS = ("set", "sort", "columns")


class ToolCall(Call):
    """Call of a command that keeps the record of its result, and the warnings."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        super().__init__({**values, "format": "json"})
        self.record: Mapping[str, Any] | None = None
        self.warnings: list[Diagnostic] = []

    def warn(self, warnings: Sequence[Diagnostic]) -> None:
        """Keep warnings."""
        self.warnings += warnings

    def write(self, result: Any) -> None:
        """Keep the record of a result, with the selected rows."""
        from netcalc.render.presentations import record

        self.record = record(result, self.view)


def answer(name: str, arguments: Mapping[str, Any], most: int) -> dict[str, Any]:
    """Return the answer to a call: its record as text, or the record of errors; with both, the diagnostics as text.

    A record of over ``most`` characters is an error.
    """
    try:
        return _answered(name, arguments, most)
    except NetcalcError as error:
        return _refusal(error)
    except RecursionError:
        return _refusal(NetcalcError(Diagnostic("E003", "nested too deeply")))
    except MemoryError:
        return _refusal(NetcalcError(Diagnostic("E603", "not enough memory")))
    except PermissionError as error:
        return _refusal(NetcalcError(Diagnostic("E004", f"{error.filename} cannot be read: {error.strerror}")))
    except Exception as error:
        traceback.print_exc()
        return {"bug": f"{type(error).__name__}: {error}"}


def _answered(name: str, arguments: Mapping[str, Any], most: int) -> dict[str, Any]:
    values = checked_arguments(name, arguments)
    for key, value in values.items():
        if key not in _SETTINGS:
            for text in _texts(value):
                _require_readable(text)
    if values.get("max_spec_size") is not None:
        values["via"] = "table"  # what the tables do not know, a library's code would read
    if name == "sweep":
        _require_few_points(values)
    call = ToolCall(values)
    command_of(name).run(call)
    text = json.dumps(call.record, ensure_ascii=False, allow_nan=False)
    if len(text) > most:
        message = f"the record has {len(text):,} characters, and the limit is {most:,}"
        fewer = [each for each in ("search", "family", "depth", "top", "filter") if each in values]
        hint = f"ask for less by {' or '.join(fewer)}, or start `netcalc mcp` with a larger --max-record"
        raise NetcalcError(Diagnostic("E603", message, hint=hint))
    return {"record": text, "warnings": _rendered(call.warnings) if call.warnings else ""}


def _require_few_points(values: Mapping[str, Any]) -> None:
    """Raise NetcalcError (E502) for a sweep of more points than a record can have, before any is counted."""
    from netcalc.ranges import ranges_of

    if values["random"] is None:
        ranges_of(values["over"] or (), MAX_POINTS, MAX_SWEEP_RANGES, MAX_POINTS)
    elif values["random"] > MAX_POINTS:
        raise NetcalcError(Diagnostic("E502", f"random: a tool draws at most {int(MAX_POINTS):,} points"))


def _refusal(error: NetcalcError) -> dict[str, Any]:
    from netcalc.records.errors import errors_record

    record = json.dumps(errors_record(error.diagnostics), ensure_ascii=False, allow_nan=False)
    return {"errors": record, "text": _rendered(error.diagnostics)}


def _rendered(diagnostics: Iterable[Diagnostic]) -> str:
    """Return diagnostics as a command prints them."""
    from netcalc.diagnostics import distinct
    from netcalc.render.diagnostics import render_diagnostics
    from netcalc.render.text import PLAIN

    return render_diagnostics(distinct(diagnostics), PLAIN)


def _texts(value: Any) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from (text for item in value.values() for text in _texts(item))
    elif isinstance(value, (list, tuple)):
        yield from (text for item in value for text in _texts(item))


def _require_readable(text: str) -> None:
    """Check a text that may name a file, alone or behind a name or a pattern: ``x=photo.npy``, ``2:file``.

    Raises:
        NetcalcError: E004 for a file elsewhere; E502 for standard input, which belongs to the protocol.
    """
    if text == "-":
        hint = "give the text of the spec in place of its name"
        raise NetcalcError(Diagnostic("E502", "standard input belongs to the protocol", hint=hint))
    if not is_text(text):
        for part in (text, text.partition("=")[2]):
            require_readable(part)


def main() -> None:
    """Answer calls until the input ends.

    The arguments of the process are the folder, the characters of a record, and ``network`` or nothing.
    """
    folder, most, *permitted = sys.argv[1:]
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    os.chdir(folder)
    confine_models(folder, network="network" in permitted)
    for line in requests:
        request = json.loads(line)
        reply = answer(request["name"], request["arguments"], int(most))
        answers.write(json.dumps(reply).encode() + b"\n")
        answers.flush()


if __name__ == "__main__":
    main()
