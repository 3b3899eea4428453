"""Kinds of arguments, declarations of options, and functions that check theirs.

An argument of a wrong type is a diagnostic; NumPy scalars are numbers.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from functools import cache, wraps
from importlib import import_module
from inspect import Parameter, signature
from os import PathLike, fspath
from typing import Any, NamedTuple, ParamSpec, TypeVar, cast

from netcalc.characters import composed
from netcalc.diagnostics import Diagnostic, NetcalcError

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


def _integer(value: Any) -> int:
    value = plain(value)
    if isinstance(value, bool):
        raise TypeError
    return operator.index(value)


def _seed(value: Any) -> int:
    seed = _integer(value)
    if seed < 0:
        raise TypeError
    return seed


def _count(value: Any) -> int:
    count = _integer(value)
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


def _numbers(value: Any) -> Any:
    return {name: _rate(number) for name, number in _mapping(value).items()}


def _rates(value: Any) -> tuple[int | float, ...]:
    value = plain(value)
    rates = tuple(map(_rate, [value] if isinstance(value, (int, float)) else value))
    if not rates:
        raise TypeError
    return rates


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


def _patterns(value: Any) -> tuple[str, ...]:
    """Return patterns of names in the normal form in which specs are read."""
    return tuple(map(composed, _names(value)))


def _path_of_layer(value: Any) -> str:
    return composed(_text(value))


def _rules(value: Any) -> Any:
    texts = _texts(value)
    return composed(texts) if isinstance(texts, str) else tuple(map(composed, texts))


def _mapping(value: Any) -> Any:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise TypeError
    return value


def _assignments(value: Any) -> Any:
    return _names(value) if isinstance(value, (list, tuple)) else _mapping(value)


def _ranges(value: Any) -> Any:
    return _mapping(value) if isinstance(value, Mapping) else _texts(value)


def _weights(value: Any) -> Any:
    if isinstance(value, Mapping):
        return _mapping(value)
    if isinstance(value, (str, PathLike)) or hasattr(value, "headers"):
        return _checkpoint(value)
    return [_checkpoint(part) for part in value]


def _checkpoint(value: Any) -> Any:
    return value if hasattr(value, "headers") else _path(value)  # tensors that were opened before


def _samples(value: Any) -> Any:
    return _mapping(value) if isinstance(value, Mapping) else _path(value)


def _texts(value: Any) -> Any:
    return value if isinstance(value, str) else _names(value)


def _adapters(value: Any) -> Any:
    value = plain(value)
    return _mapping(value) if isinstance(value, Mapping) else value if isinstance(value, int) else _rules(value)


def _device(value: Any) -> Any:
    value = plain(value)
    return _count(value) if isinstance(value, int) else str(_path(value))


def _index(value: Any) -> tuple[int, ...]:
    parts = value.split(",") if isinstance(value, str) else value
    try:
        return tuple(int(part) if isinstance(part, str) else _seed(part) for part in parts)
    except ValueError:
        raise TypeError from None


def _function(value: Any) -> Any:
    if not callable(value):
        raise TypeError
    return value


class Kind(NamedTuple):
    """Accepted values.

    Attributes:
        expected: the values in words.
        take: function that returns a value, or raises TypeError.
        optional: True if None is accepted too.
        word: type of a word of the command line that stands for a value.
        many: True if a value is made of several words.
        least: the least number.
        choices: the words that are accepted; any if there are none.
        others: JSON types that are accepted in place of words.
    """

    expected: str
    take: Callable[[Any], Any]
    optional: bool = False
    word: type = str
    many: bool = False
    least: int | None = None
    choices: tuple[str, ...] = ()
    others: tuple[str, ...] = ()

    def or_none(self) -> Kind:
        """Return the kind that accepts None too."""
        return self if self.optional else self._replace(expected=f"{self.expected}, or None", optional=True)


FLAG = Kind("True or False", _flag, word=bool)
NAME = Kind("a string", _text)
NAMES = Kind("a list of names", _names, many=True)
PATTERNS = Kind("a list of patterns", _patterns, many=True)
ASSIGNMENTS = Kind("a string or a list of strings", _rules, many=True)
NATURAL = Kind("a whole number of at least 0", _seed, word=int, least=0)
COUNT = Kind("a whole number of at least 1", _count, word=int, least=1)
THREADS = Kind("a whole number of at least 1, or None", _integer, optional=True, word=int, least=1)
AMOUNT = Kind("a number above 0", _amount, word=float)
RATE = Kind("a number of at least 0", _rate, word=float)
RATES = Kind("a number of at least 0, or a list of them", _rates)
NUMBERS = Kind("a mapping of names to numbers of at least 0", _numbers, many=True, others=("object",))
PATH = Kind("a path", _path)
SETTINGS = Kind("a mapping of names to values", _assignments, many=True, others=("object",))
RANGES = Kind("ranges by name, a string, or a list of strings", _ranges, many=True, others=("object",))
INPUTS = Kind("a mapping of names to arrays", _mapping, many=True)
SAMPLES = Kind("a path, a mapping of names to arrays, or 'synthetic'", _samples)
WEIGHTS = Kind("a path, a list of paths, a mapping of names to arrays, or None", _weights, optional=True, many=True)
INITIALIZERS = Kind("a string or a list of strings", _rules, many=True)
ADAPTERS = Kind(
    "a rank, a mapping of patterns to ranks, a string, or a list of strings", _adapters, many=True, others=("object",)
)
INDEX = Kind("indices of an element, such as 0,2, or None", _index, optional=True, others=("array",))
FUNCTION = Kind("a function", _function)
DEVICE = Kind("the name of a device, a number of bytes, or the path of a file", _device, others=("integer",))
TOKENS = Kind("a number of tokens", plain, others=("integer",))
BUDGET = Kind("a number of bytes", plain, others=("integer",))
LOSS = Kind("a name", plain, optional=True)
CONVENTION = Kind("the name of a counting convention", _text)
CONVENTIONS = Kind("the name of a counting convention or a list of names", _texts, many=True)
OPTIMIZER = Kind("the name of an optimizer", _text)


class Option:
    """Declaration of an option.

    Attributes:
        kind: the values that it accepts.
        default: the value of an option that is left out.
        help: a sentence for help pages, docstrings and the reference.
        flags: names on the command line, by default ``--`` and the name; none for an option of Python alone.
        metavar: the value in help pages.
        shown_default: the default in help pages, where it is no plain value.
        panel: heading of a group of options in help pages.
    """

    __slots__ = ("default", "flags", "help", "kind", "metavar", "panel", "shown_default")

    def __init__(
        self,
        kind: Kind,
        default: Any,
        help: str,
        flags: tuple[str, ...] | None = None,
        metavar: str | None = None,
        shown_default: str | None = None,
        panel: str | None = None,
    ) -> None:
        self.kind = kind.or_none() if default is None else kind
        self.default = default
        self.help = help
        self.flags = flags
        self.metavar = metavar
        self.shown_default = shown_default
        self.panel = panel


#: Kinds of the arguments that are no options, by name.
_ARGUMENTS = {
    "checkpoint": PATH,
    "convention": CONVENTION,
    "depth": COUNT.or_none(),
    "folder": PATH.or_none(),
    "inits": NAMES,
    "inputs": INPUTS.or_none(),
    "over": RANGES,
    "passes": COUNT,
    "path": Kind("the path of a layer as a string, or None", _path_of_layer, optional=True),
    "seed": NATURAL,
    "sizes": Kind("a mapping of names to sizes", _mapping),
    "spec": Kind("the name or the path of a spec", _path),
    "steps": COUNT,
    "text": NAME,
    "unroll": FLAG,
    "weights": WEIGHTS,
}


def texts(value: str | Iterable[str]) -> tuple[str, ...]:
    """Return one text or several as a tuple."""
    return (value,) if isinstance(value, str) else tuple(value)


def choice(*names: str, optional: bool = False) -> Kind:
    """Return the kind of one of several names; a function that takes it tells the names if it is another."""
    return Kind("a string" + (", or None" if optional else ""), _text, optional, choices=names)


def checked_argument(name: str, value: Any, kind: Kind | None = None) -> Any:
    """Return the value of the argument ``name``, with Python numbers for NumPy scalars.

    Raises:
        NetcalcError: E502 for a value that the argument cannot have.
    """
    kind = kind or _ARGUMENTS.get(name)
    if kind is None or (value is None and kind.optional):
        return value
    try:
        return kind.take(value)
    except TypeError:
        shown = repr(value) if isinstance(value, (int, float, str)) else type(value).__name__
        message = f"the argument {name!r} should be {kind.expected}, not {shown}"
        raise NetcalcError(Diagnostic("E502", message, hint=_hint(kind, value))) from None


def _hint(kind: Kind, value: Any) -> str | None:
    """Return advice on a value that is of no such kind."""
    if kind.take is _names and isinstance(value, str):
        return f"write [{value!r}]"
    if kind.take is _path and hasattr(value, "state_dict"):
        return "netcalc.from_torch(module, *args) reads a module of PyTorch"
    return None


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


@cache
def options_of(group: type) -> Mapping[str, Option]:
    """Return the options of a group by name."""
    return {name: annotation.__metadata__[0] for name, annotation in group.__annotations__.items()}


class _Method:
    """A method that takes options: completed when it is first used, since most commands use few methods."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: object, owner: type) -> Any:
        call = _complete(self._function)
        setattr(owner, call.__name__, call)
        return getattr(owner if instance is None else instance, call.__name__)


def accepts(function: Callable[P, R]) -> Callable[P, R]:
    """Return a function or method whose options are checked and complete, and stand in its signature and docstring.

    The function ends in ``**options: Unpack[GROUP]`` with a group of :mod:`netcalc.options`, or of
    :mod:`netcalc.run_options` or :mod:`netcalc.export_options`, which its module need not import.  Options of the group
    that it names itself, and its other arguments, are checked too.
    """
    inner = function.__qualname__.rpartition(".")[0]
    if inner and not inner.endswith("<locals>"):
        return cast("Callable[P, R]", _Method(function))
    return _complete(function)


#: Modules of options that counting does not import.
_LATE = ("netcalc.run_options", "netcalc.export_options")


def _complete(function: Callable[P, R]) -> Callable[P, R]:
    name = str(function.__annotations__["options"]).removeprefix("Unpack[").removesuffix("]")
    group = function.__globals__.get(name)
    if group is None:
        group = next(found for module in _LATE if (found := vars(import_module(module)).get(name)) is not None)
    declared, original = options_of(group), signature(function)
    own = [parameter for parameter in original.parameters.values() if parameter.kind is not Parameter.VAR_KEYWORD]
    names = {parameter.name for parameter in own}
    positional = [parameter.name for parameter in own if parameter.kind is not Parameter.KEYWORD_ONLY]
    rest = {name: option for name, option in declared.items() if name not in names}

    def value_of(name: str, value: Any) -> Any:
        return checked_argument(name, value, declared[name].kind if name in declared else None)

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in names and name not in rest:
                raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}")
        values: Iterable[Any] = (
            value_of(positional[index], value) if index < len(positional) else value for index, value in enumerate(args)
        )
        named = {name: option.default for name, option in rest.items()}
        named |= {name: value_of(name, value) for name, value in kwargs.items()}
        return function(*values, **named)

    more = (Parameter(name, Parameter.KEYWORD_ONLY, default=option.default) for name, option in rest.items())
    call.__dict__["__signature__"] = original.replace(parameters=[*own, *more])
    listed = "\n".join(f"            {name}: {option.help}" for name, option in declared.items())
    call.__doc__ = f"{(function.__doc__ or '').rstrip()}\n\n        Options:\n{listed}\n        "
    return call
