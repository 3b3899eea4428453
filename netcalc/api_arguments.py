"""Arguments of the Python API: a wrong type is a diagnostic, and NumPy scalars are taken as Python numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import wraps
from os import PathLike, fspath
from typing import Any, NamedTuple, ParamSpec, TypeVar

from netcalc.diagnostics import Diagnostic, NetcalcError

__all__ = ["checked", "checked_argument", "plain"]

P = ParamSpec("P")
R = TypeVar("R")


def plain(value: Any) -> Any:
    """Return a NumPy scalar, or an array without axes, as the Python number or string that it holds.

    Other values are returned as they are.  NumPy is not imported.
    """
    if getattr(value, "ndim", None) == 0 and callable(getattr(value, "item", None)):
        return value.item()
    return value


def _flag(value: Any) -> bool:
    value = plain(value)
    if type(value) is not bool:
        raise TypeError
    return value


def _whole(value: Any) -> int:
    value = plain(value)
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def _seed(value: Any) -> int:
    seed = _whole(value)
    if seed < 0:
        raise TypeError
    return seed


def _count(value: Any) -> int:
    count = _whole(value)
    if count < 1:
        raise TypeError
    return count


def _amount(value: Any) -> int | float:
    value = plain(value)
    if type(value) not in (int, float) or not value > 0:
        raise TypeError
    return value  # type: ignore[no-any-return]


def _rate(value: Any) -> int | float:
    value = plain(value)
    if type(value) not in (int, float) or not value >= 0:
        raise TypeError
    return value  # type: ignore[no-any-return]


def _rates(value: Any) -> Any:
    return {name: _rate(number) for name, number in _mapping(value).items()}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _path(value: Any) -> Any:
    if not isinstance(fspath(value), str):
        raise TypeError
    return value


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        raise TypeError
    return tuple(map(_text, value))


def _mapping(value: Any) -> Any:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise TypeError
    return value


def _weights(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _mapping(value)
    return _path(value) if isinstance(value, (str, PathLike)) else [_path(path) for path in value]


def _samples(value: Any) -> Any:
    return _mapping(value) if isinstance(value, Mapping) else _path(value)


def _initialisers(value: Any) -> Any:
    return value if isinstance(value, str) else _names(value)


def _adapters(value: Any) -> Any:
    value = plain(value)
    return _mapping(value) if isinstance(value, Mapping) else value if isinstance(value, int) else _initialisers(value)


def _function(value: Any) -> Any:
    if not callable(value):
        raise TypeError
    return value


class _Kind(NamedTuple):
    """Accepted values: in words, and a function that returns a value or raises TypeError."""

    expected: str
    take: Callable[[Any], Any]
    optional: bool = False


_FLAG = _Kind("True or False", _flag)
_NAME = _Kind("a string", _text)

#: Kinds of arguments by name; a name means the same in every function.
_KINDS = {
    "all": _FLAG,
    "backward": _FLAG,
    "cast": _FLAG,
    "checkpoint": _Kind("a path", _path),
    "checkpoint_every": _Kind("a whole number of at least 1, or None", _count, optional=True),
    "checkpoint_file": _Kind("a path, or None", _path, optional=True),
    "clip": _Kind("a number above 0, or None", _amount, optional=True),
    "convention": _Kind("the name of a counting convention", _text),
    "data": _Kind("a path, a mapping of names to arrays, or 'synthetic'", _samples),
    "depth": _Kind("a whole number of at least 1, or None", _count, optional=True),
    "dtype": _Kind("the name of an element type such as 'float32', or None", _text, optional=True),
    "folder": _Kind("a path, or None", _path, optional=True),
    "init": _Kind("a string or a list of strings", _initialisers),
    "input_gradients": _Kind("a list of names", _names),
    "inputs": _Kind("a mapping of names to arrays, or None", _mapping, optional=True),
    "keep": _FLAG,
    "least_lr": _Kind("a number of at least 0", _rate),
    "lora": _Kind("a rank, a mapping of patterns to ranks, a string, or a list of strings", _adapters, optional=True),
    "lr": _Kind("a number of at least 0, or None", _rate, optional=True),
    "max_spec_size": _Kind("a whole number of at least 1", _count),
    "max_work": _Kind("a number above 0, or None", _amount, optional=True),
    "optimizer": _Kind("the name of an optimizer, or None", _text, optional=True),
    "passes": _Kind("a whole number of at least 1", _count),
    "path": _Kind("the path of a layer as a string, or None", _text, optional=True),
    "plan": _Kind("the name of a plan", _text),
    "processes": _FLAG,
    "profiled": _FLAG,
    "progress": _Kind("a function, or None", _function, optional=True),
    "receptive_field": _FLAG,
    "resume": _Kind("a path, or None", _path, optional=True),
    "schedule": _Kind("the name of a schedule", _text),
    "seed": _Kind("a whole number of at least 0", _seed),
    "seeds": _Kind("a whole number of at least 1", _count),
    "set": _Kind("a mapping of names to values, or None", _mapping, optional=True),
    "settings": _Kind("a mapping of names to numbers of at least 0, or None", _rates, optional=True),
    "sizes": _Kind("a mapping of names to sizes", _mapping),
    "spec": _Kind("the name or the path of a spec", _path),
    "steps": _Kind("a whole number of at least 1", _count),
    "symbolic": _Kind("a list of names", _names),
    "text": _NAME,
    "threads": _Kind("a whole number of at least 1, or None", _whole, optional=True),
    "trace": _Kind("a list of patterns", _names),
    "training": _FLAG,
    "unroll": _FLAG,
    "values": _FLAG,
    "warmup": _Kind("a whole number of at least 0", _seed),
    "weights": _Kind("a path, a list of paths, a mapping of names to arrays, or None", _weights, optional=True),
}


def checked_argument(name: str, value: Any) -> Any:
    """Return the value of the argument ``name``, with Python numbers for NumPy scalars.

    Raises:
        NetcalcError: E502 for a value that the argument cannot have.
    """
    kind = _KINDS.get(name)
    if kind is None or (value is None and kind.optional):
        return value
    try:
        return kind.take(value)
    except TypeError:
        given = repr(value) if isinstance(value, (int, float, str)) else type(value).__name__
        message = f"the argument {name!r} should be {kind.expected}, not {given}"
        hint = f"write [{value!r}]" if kind.take is _names and isinstance(value, str) else None
        raise NetcalcError(Diagnostic("E502", message, hint=hint)) from None


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with its arguments checked by name before it is called; see :func:`checked_argument`."""
    code = function.__code__
    names = code.co_varnames[: code.co_argcount]

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        values: Iterable[Any] = (
            checked_argument(names[index], value) if index < len(names) else value for index, value in enumerate(args)
        )
        named = {name: checked_argument(name, value) for name, value in kwargs.items()}
        return function(*values, **named)

    return call
