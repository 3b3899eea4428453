"""Parsing of initialisers such as ``normal(std=0.02)`` or ``kaiming_uniform(mode=fan_out, nonlinearity=relu)``."""

from __future__ import annotations

import math
import re
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.opdef import Init

__all__ = ["MODES", "NONLINEARITIES", "parse_init"]

#: Initialisers with the names of their arguments, in order.
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "kaiming_uniform": ("a", "mode", "nonlinearity"),
    "kaiming_normal": ("a", "mode", "nonlinearity"),
    "xavier_uniform": ("gain",),
    "xavier_normal": ("gain",),
    "uniform": ("a", "b"),
    "normal": ("mean", "std"),
    "truncated_normal": ("mean", "std", "a", "b"),
    "orthogonal": ("gain",),
    "constant": ("value",),
    "zeros": (),
    "ones": (),
    "default": (),
}
_ALIASES = {
    "he_uniform": "kaiming_uniform",
    "he_normal": "kaiming_normal",
    "glorot_uniform": "xavier_uniform",
    "glorot_normal": "xavier_normal",
}
MODES = ("fan_in", "fan_out")
NONLINEARITIES = ("linear", "sigmoid", "tanh", "relu", "leaky_relu", "selu")


def parse_init(text: str) -> Init | None:
    """Return an initialiser with its arguments, given by position or name; None for ``default``.

    Raises:
        NetcalcError: E502 for an unknown initialiser or argument, or a value out of range.
    """
    match = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text)
    if not match:
        raise _error("an initialiser should be a name with arguments in parentheses", "for example normal(std=0.02)")
    name = _ALIASES.get(match[1], match[1])
    if name not in _ARGUMENTS:
        raise _error(f"unknown initialiser {match[1]!r}", did_you_mean(match[1], (*_ARGUMENTS, *_ALIASES)))
    args: dict[str, Any] = {}
    for position, part in enumerate((match[2] or "").split(",") if (match[2] or "").strip() else ()):
        key, _, value = part.rpartition("=")
        key = key.strip() or _positional(name, position)
        if key not in _ARGUMENTS[name]:
            raise _error(f"{match[1]} has no argument {key!r}", did_you_mean(key, _ARGUMENTS[name]))
        if key in args:
            raise _error(f"duplicate argument {key!r}")
        args[key] = _value(key, value.strip())
    return _checked(name, args)


def _positional(name: str, position: int) -> str:
    names = _ARGUMENTS[name]
    if position >= len(names):
        raise _error(f"{name} takes {len(names) or 'no'} argument{'s' if len(names) != 1 else ''}")
    return names[position]


def _value(key: str, value: str) -> float | str:
    choices = {"mode": MODES, "nonlinearity": NONLINEARITIES}.get(key)
    if choices:
        if value not in choices:
            raise _error(f"{key} should be one of {', '.join(choices)}, not {value!r}")
        return value
    try:
        number = float(value)
    except ValueError:
        raise _error(f"{key} should be a number, not {value!r}") from None
    if not math.isfinite(number):
        raise _error(f"{key} should be finite, not {value}")
    return number


def _checked(name: str, args: dict[str, Any]) -> Init | None:
    if name == "default":
        return None
    if name in ("zeros", "ones"):
        return Init.of("constant", value=float(name == "ones"))
    if name == "constant" and "value" not in args:
        raise _error("constant requires a value", "for example constant(0.1)")
    if args.get("std", 1.0) < 0 or (name == "truncated_normal" and args.get("std") == 0):
        raise _error("std should be positive")
    bounds = {"uniform": (0.0, 1.0), "truncated_normal": (-2.0, 2.0)}.get(name)
    if bounds and not args.get("a", bounds[0]) < args.get("b", bounds[1]):
        raise _error("a should be less than b")
    return Init.of(name, **args)


def _error(message: str, hint: str | None = None) -> NetcalcError:
    return NetcalcError(Diagnostic("E502", message, hint=hint))
