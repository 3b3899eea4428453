"""Errors of PyTorch as diagnostics: the line that says what is wrong, without the traceback."""

from __future__ import annotations

import re

from netcalc.diagnostics import Diagnostic, NetcalcError

_PLACE = re.compile(r'^\s*File "([^"]+)", line (\d+), in (\S+)', re.MULTILINE)
_LONGEST = 240


def _shortened(line: str) -> str:
    """Return a line up to the end of the last sentence, or the last word, that is within the longest."""
    if len(line) <= _LONGEST:
        return line
    sentences, _, _ = line[:_LONGEST].rpartition(". ")
    return sentences or line[:_LONGEST].rpartition(" ")[0] + " …"


def refused(what: str, error: BaseException) -> NetcalcError:
    """Return E009 for an error of PyTorch or of the user's code.

    Args:
        what: beginning of the message, such as ``torch.export refuses the module``.
        error: the exception.
    """
    text = str(error).strip()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0].endswith(":"):  # which the next line says
        lines[:2] = [" ".join(lines[:2])]
    first = _shortened(lines[0]) if lines else ""
    reason = f"{type(error).__name__}: {first}" if first else type(error).__name__
    if "register a pytree" in text:
        advice = (
            "leave it out of the results by an argument, such as use_cache=False, or register its class with pytree"
        )
        return NetcalcError(Diagnostic("E009", f"{what}: {reason.partition('. ')[0]}", hint=advice))
    if "no fake impl registered" in text or type(error).__name__ == "UnsupportedOperatorException":
        advice = "give its shapes: torch.library.register_fake, or netcalc.register_torch(op, shape=…, cost=…)"
        return NetcalcError(Diagnostic("E009", f"{what}: {reason.partition('. ')[0]}", hint=advice))
    places = _PLACE.findall(text)
    hint = "raised at {}:{}, in {}".format(*places[-1]) if places else None
    return NetcalcError(Diagnostic("E009", f"{what}: {reason}", hint=hint))
