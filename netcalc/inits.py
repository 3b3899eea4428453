"""Initialisers as they are written: ``normal(std=0.02)``, ``kaiming_uniform(mode=fan_out, nonlinearity=relu)``."""

from __future__ import annotations

import math
import re
from typing import Any

from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.opdef import Init

__all__ = ["MODES", "NONLINEARITIES", "parse_init"]

#: The ways to write an initialiser, with the names of their arguments in order.
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
    """One initialiser with its arguments, by position or name; None for ``default``.

    Raises:
        NetcalcError: E502.
    """
    found = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text)
    if not found:
        raise _refuse("an initialiser is a name, and its arguments in brackets", "for example normal(std=0.02)")
    name = _ALIASES.get(found[1], found[1])
    if name not in _ARGUMENTS:
        raise _refuse(f"no initialiser {found[1]!r}", did_you_mean(found[1], (*_ARGUMENTS, *_ALIASES)))
    args: dict[str, Any] = {}
    for position, part in enumerate((found[2] or "").split(",") if (found[2] or "").strip() else ()):
        key, _, value = part.rpartition("=")
        key = key.strip() or _positional(name, position)
        if key not in _ARGUMENTS[name]:
            raise _refuse(f"{found[1]} has no argument {key!r}", did_you_mean(key, _ARGUMENTS[name]))
        if key in args:
            raise _refuse(f"the argument {key!r} is given twice")
        args[key] = _value(key, value.strip())
    return _checked(name, args)


def _positional(name: str, position: int) -> str:
    names = _ARGUMENTS[name]
    if position >= len(names):
        raise _refuse(f"{name} takes {len(names) or 'no'} argument{'s' if len(names) != 1 else ''}")
    return names[position]


def _value(key: str, value: str) -> float | str:
    choices = {"mode": MODES, "nonlinearity": NONLINEARITIES}.get(key)
    if choices:
        if value not in choices:
            raise _refuse(f"{key} is one of {', '.join(choices)}, not {value!r}")
        return value
    try:
        number = float(value)
    except ValueError:
        raise _refuse(f"{key} should be a number, and is {value!r}") from None
    if not math.isfinite(number):
        raise _refuse(f"{key} should be finite, and is {value}")
    return number


def _checked(name: str, args: dict[str, Any]) -> Init | None:
    if name == "default":
        return None
    if name in ("zeros", "ones"):
        return Init.of("constant", value=float(name == "ones"))
    if name == "constant" and "value" not in args:
        raise _refuse("constant needs its value", "for example constant(0.1)")
    if args.get("std", 1.0) < 0 or (name == "truncated_normal" and args.get("std") == 0):
        raise _refuse("std should be positive")
    cuts = {"uniform": (0.0, 1.0), "truncated_normal": (-2.0, 2.0)}.get(name)
    if cuts and not args.get("a", cuts[0]) < args.get("b", cuts[1]):
        raise _refuse("a should be below b")
    return Init.of(name, **args)


def _refuse(why: str, hint: str | None = None) -> NetcalcError:
    return NetcalcError(Diagnostic("E502", why, hint=hint))
