"""Rules that write an operation as PyTorch code: one for each, by family in ``families``.

A rule takes a :class:`Call` and returns the expression of the result, in which marks stand for inputs, for values of
attributes and for the module.  ``classes`` decides which of these values are arguments of the class.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from netcalc.diagnostics import RuleError
from netcalc.formats.export.torch.expressions import literal
from netcalc.formats.export.torch.helpers import helper_names
from netcalc.opdef import Operation, Param
from netcalc.ops import FAMILIES
from netcalc.registry import Registry
from netcalc.tensor_type import TensorType

#: Marks: a value of an attribute, an input, the module of the operation, the device of the first input.
_HOLE, _INPUT, _END, MODULE, DEVICE = "\ue000", "\ue001", "\ue002", "\ue003", "\ue004"
#: Marks around an option that is left out where its value is the default.
_OPTION, _OPTION_END = "\ue005", "\ue006"
HOLES = re.compile(f"{_HOLE}(\\d+){_END}")
INPUTS = re.compile(f"{_INPUT}(\\d+){_END}")
OPTIONS = re.compile(f"{_OPTION}([^{_OPTION}]*?{_HOLE}(\\d+){_END}){_OPTION_END}")


class Hole(NamedTuple):
    """A value that may differ between calls, with a name for it; ``at_start`` if the constructor needs it.

    An option has a ``default``, for which it is left out; its literal is the empty text for any other value. ``owner``
    is the module that has the value.
    """

    value: Any
    hint: str
    at_start: bool
    default: str = ""
    owner: str = ""


@dataclass
class Emitted:
    """Code of an operation.

    Attributes:
        text: expression of the result.
        module: expression of the module at the path of the operation; empty without one.
        layer: expression of a module that computes the same, for ``nn.Sequential``; empty if there is none.
        own: parameters and buffers that the class itself has: statements in which the path is ``{name}``.
        pattern: assignment of several results, with braces for their names; by default they are listed.
    """

    text: str
    module: str = ""
    layer: str = ""
    own: list[str] = field(default_factory=list)
    pattern: str = ""


class Call:
    """An operation with its inputs, as a rule sees it."""

    def __init__(
        self,
        op: Operation,
        types: Sequence[TensorType | None],
        results: Sequence[TensorType],
        params: Sequence[Param],
        *,
        on_device: bool = False,
    ) -> None:
        self.op: Any = op
        self.types = types
        self.results = results
        self.params = params
        self.device = f", device={DEVICE}" if on_device else ""
        self.holes: list[Hole] = []
        self.helpers: list[str] = []

    @property
    def x(self) -> str:
        """The first input."""
        return self.input(0)

    def input(self, index: int) -> str:
        """Return an input by its place."""
        return f"{_INPUT}{index}{_END}"

    def has(self, index: int) -> bool:
        """Return True if an input is given."""
        return index < len(self.types) and self.types[index] is not None

    def type(self, index: int = 0) -> TensorType:
        """Return the type of an input."""
        type_ = self.types[index]
        assert type_ is not None
        return type_

    @property
    def count(self) -> int:
        """Number of inputs."""
        return sum(type_ is not None for type_ in self.types)

    def value(self, value: Any, hint: str = "value", *, at_start: bool = False) -> str:
        """Return the mark of a value, by which it may become an argument of the class named ``hint``."""
        if isinstance(value, (tuple, list)):
            inside = ", ".join(self.value(item, hint, at_start=at_start) for item in value)
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        if isinstance(value, str):
            return literal(value)
        self.holes.append(Hole(value, hint, at_start))
        return f"{_HOLE}{len(self.holes) - 1}{_END}"

    def start(self, value: Any, hint: str = "value") -> str:
        """Return the mark of a value that the constructor needs."""
        return self.value(value, hint, at_start=True)

    def sizes(self, values: Sequence[Any], hint: str, *, at_start: bool = False) -> str:
        """Return equal sizes as one number, and others as a tuple."""
        same = all(type(value) is type(values[0]) and value == values[0] for value in values)
        return self.value(values[0] if same else tuple(values), hint, at_start=at_start)

    def helper(self, name: str) -> str:
        """Return the name of a helper, which is written before the classes."""
        self.helpers.append(name)
        return name

    def module(self, constructor: str, *inputs: str) -> Emitted:
        """Return a module and its call on the inputs, by default on the first."""
        return Emitted(f"{MODULE}({', '.join(inputs or (self.x,))})", constructor, constructor)

    def arguments(self, **options: tuple[Any, Any]) -> str:
        """Return keyword arguments at the start of a module: values that differ from the defaults beside them."""
        parts = []
        for name, (value, default) in options.items():
            if isinstance(value, (tuple, str)):
                if type(value) is not type(default) or value != default:
                    mark = (
                        self.sizes(value, name, at_start=True) if isinstance(value, tuple) else self.start(value, name)
                    )
                    parts.append(f", {name}={mark}")
                continue
            mark = self.start(value, name)
            self.holes[-1] = self.holes[-1]._replace(default=literal(default))
            parts.append(option(name, mark))
        return "".join(parts)

    def param(self, name: str) -> Param | None:
        """Return a parameter of the operation by name; None if it has none."""
        return next((param for param in self.params if param.name == name), None)


def with_options(text: str, holes: Sequence[Hole], texts: Sequence[str]) -> str:
    """Return a text without the options whose values are the defaults, and without the marks around the others."""

    def kept(match: re.Match[str]) -> str:
        number = int(match[2])
        return "" if texts[number] == holes[number].default else match[1]

    return OPTIONS.sub(kept, text).replace("(, ", "(")


def option(name: str, mark: str) -> str:
    """Return an option of a call, to be left out for its default."""
    return f"{_OPTION}, {name}={mark}{_OPTION_END}"


#: A rule: the operation and its inputs to code.
Rule = Callable[[Call], Emitted | str]

_FAMILY_OF = {
    name: f"netcalc.formats.export.torch.families.{family}" for family, names in FAMILIES.items() for name in names
}
RULES: Registry[Rule] = Registry("rule", {})
#: Decorator that registers a rule for operations.
rule = RULES.register


def rule_of(name: str) -> Rule | None:
    """Return the rule of an operation; None if there is none."""
    module = _FAMILY_OF.get(name)
    try:
        return RULES.get(name, module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        return None


def every_helper() -> frozenset[str]:
    """Return the names of the helpers of all families."""
    for name in _FAMILY_OF:
        rule_of(name)
    return helper_names()


def unsupported(reason: str) -> RuleError:
    """Return the error of an operation that has no form in PyTorch."""
    return RuleError(reason, code="E007")
