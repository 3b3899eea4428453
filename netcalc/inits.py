"""Initializers as they are written, ``normal(std=0.02)`` or ``kaiming_uniform(mode=fan_out, nonlinearity=relu)``.

Which of them a parameter has, by the rules of options and spec, and the mean and variance of its elements.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, Self

from netcalc.diagnostics import Diagnostic, NetcalcError, Span, did_you_mean
from netcalc.dims import integer
from netcalc.expressions import ExpressionError, parse
from netcalc.init_formulas import FORMULA_NAMES, Indexed, depends_on_indices, formula_elements, value_at, with_indices
from netcalc.ir import Node, Program, parameter_at
from netcalc.opdef import Init, Param

#: Initializers with the names of their arguments, in order.
_ARGUMENTS: dict[str, tuple[str, ...]] = {
    "kaiming_uniform": ("a", "mode", "nonlinearity"),
    "kaiming_normal": ("a", "mode", "nonlinearity"),
    "xavier_uniform": ("gain",),
    "xavier_normal": ("gain",),
    "lecun_normal": (),
    "log_of_uniform": ("a", "b"),
    "step_size": ("a", "b"),
    "log_range": (),
    "uniform": ("a", "b"),
    "normal": ("mean", "std"),
    "truncated_normal": ("mean", "std", "a", "b"),
    "orthogonal": ("gain",),
    "constant": ("value",),
    "formula": ("expression",),
    "zeros": (),
    "ones": (),
    "default": (),
}
#: Default limits of initializers.
_BOUNDS: dict[str, tuple[float, float]] = {
    "uniform": (0.0, 1.0),
    "truncated_normal": (-2.0, 2.0),
    "log_of_uniform": (1.0, 16.0),
    "step_size": (0.001, 0.1),
}
_ALIASES = {
    "he_uniform": "kaiming_uniform",
    "he_normal": "kaiming_normal",
    "glorot_uniform": "xavier_uniform",
    "glorot_normal": "xavier_normal",
}
MODES = ("fan_in", "fan_out")
#: Argument of every initializer that draws: is the row ``padding_idx`` of a table set to zero afterwards?
_PADDING = ("zero", "drawn")


def parse_init(text: str) -> Init | None:
    """Return an initializer with its arguments, given by position or name; None for ``default``.

    The argument of ``formula`` is an expression, see :func:`formula_elements`.  Numbers may be expressions of
    ``indices``, the numbers in the path of the parameter, see :func:`at_indices`.

    Raises:
        NetcalcError: E502 for an unknown initializer or argument, or a value out of range.
    """
    match = re.fullmatch(r"\s*(\w+)\s*(?:\((.*)\))?\s*", text)
    if not match:
        raise _error("an initializer should be a name with arguments in parentheses", "for example normal(std=0.02)")
    name = _ALIASES.get(match[1], match[1])
    if name not in _ARGUMENTS:
        raise _error(f"unknown initializer {match[1]!r}", did_you_mean(match[1], (*_ARGUMENTS, *_ALIASES)))
    if name == "formula":
        return _formula(match[2] or "")
    args: dict[str, Any] = {}
    names = _names(name)
    for position, part in enumerate((match[2] or "").split(",") if (match[2] or "").strip() else ()):
        key, _, value = part.rpartition("=")
        key = key.strip() or _positional(name, position)
        if key not in names:
            raise _error(f"{match[1]} has no argument {key!r}", did_you_mean(key, names))
        if key in args:
            raise _error(f"duplicate argument {key!r}")
        args[key] = _value(key, value.strip())
    return _checked_init(name, args)


def at_indices(init: Init) -> Init:
    """Return an initializer with numbers for the arguments that depend on the path of the parameter.

    Raises:
        ValueError: if an argument has no number there, or none that the initializer takes.
    """
    args = dict(init.args)
    if not any(isinstance(value, Indexed) for value in args.values()):
        return init
    scope = {"indices": list(args.get("indices", ()))}
    try:
        numbers = {
            name: value_at(value, scope) if isinstance(value, Indexed) else value for name, value in args.items()
        }
        checked = _checked_init(init.kind, numbers)
    except NetcalcError as error:
        raise ValueError(error.diagnostics[0].message) from None
    assert checked is not None
    return checked


@dataclass(frozen=True, slots=True)
class Rule:
    """Initializer of the parameters whose path matches ``pattern``; ``init`` None keeps the operation's default.

    A rule without a pattern applies to parameters of two or more dimensions, so that biases and the scales and
    shifts of norms keep their defaults.  With ``operation`` the pattern is one of names of parameters of such
    operations.  ``text`` is the rule as written, for messages.  ``is_option`` is true for a command-line option and
    false for a rule of the spec, whose place is ``span``.
    """

    init: Init | None
    pattern: str | None
    text: str
    is_option: bool
    span: Span | None = None
    operation: str = ""

    def applies(self, path: str, param: Param, nodes: Sequence[Node] = ()) -> bool:
        """Return True if this rule initializes the parameter at this path of a program's nodes."""
        if self.pattern is None:
            return len(param.shape) >= 2
        if not self.operation:
            return fnmatchcase(path, self.pattern)
        found = parameter_at(nodes, path)
        return found is not None and all(
            fnmatchcase(name, pattern)
            for name, pattern in ((found[0].op.name, self.operation), (found[1].name, self.pattern))
        )


@dataclass(frozen=True, slots=True)
class InitRules:
    """Initialization rules of a program.

    The first rule that applies to a parameter is used, or the operation's default if none does.  Buffers and
    parameters that are computed by a formula always have the operation's own values.
    """

    rules: tuple[Rule, ...] = ()
    nodes: Sequence[Node] = field(default=(), repr=False, compare=False)

    @classmethod
    def of(cls, program: Program, init: str | Iterable[str] = "default") -> Self:
        """Return the rules of ``--init`` options and of the spec, in order of precedence.

        A later option precedes an earlier one, and all options precede the rules of the spec.  Examples of options:
        ``default``, ``xavier_normal(gain=2)``, ``kaiming_uniform(mode=fan_out, nonlinearity=relu)``,
        ``normal(std=0.02)``, ``constant(0.1)``, ``zeros``; with a pattern, ``*.bias=zeros``.

        Raises:
            NetcalcError: E502, with every invalid option.
        """
        options = (init,) if isinstance(init, str) else tuple(init)
        texts: list[tuple[str, str | None, str, Span | None, str]]
        texts = [("--init", *_split_option(option), None, "") for option in reversed(options)]
        texts += [("init", *rule) for rule in program.init]
        rules, problems = [], []
        for where, pattern, text, span, operation in texts:
            of_operation = f"{operation} " if operation else ""
            shown = f"{where} {text if pattern is None else f'{of_operation}{pattern}={text}'}"
            if where == "--init" and pattern is None and text.strip() == "default":
                continue  # the rules of the spec and the defaults of the operations stay in force
            try:
                rules.append(Rule(parse_init(text), pattern, shown, where == "--init", span, operation))
            except NetcalcError as error:
                problems += [d._replace(message=f"{shown}: {d.message}") for d in error.diagnostics]
        if problems:
            raise NetcalcError(problems)
        return cls(tuple(rules), program.main.nodes)

    def chosen(self, path: str, param: Param) -> tuple[Init, Rule | None]:
        """Return the initializer of the parameter at ``path``, and the rule that it is from."""
        fixed = param.is_buffer or param.init.kind == "table"
        rule = None if fixed else next((r for r in self.rules if r.applies(path, param, self.nodes)), None)
        if rule is None or rule.init is None:
            return with_indices(param.init, path), rule
        padding = [(name, value) for name, value in param.init.args if name == "padding_idx"]
        if ("padding", "drawn") in rule.init.args:
            padding = []
        return with_indices(Init(rule.init.kind, (*rule.init.args, *padding)), path), rule

    def spread(self, path: str, param: Param) -> Spread | None:
        """Return mean and variance of the parameter at ``path``; None if it is computed.

        Raises:
            NetcalcError: as for :meth:`misfit`.
        """
        init, rule = self.chosen(path, param)
        try:
            return spread(init, [integer(size) for size in param.shape])
        except ValueError as error:
            raise self.misfit(path, param, rule, error) from None

    @staticmethod
    def misfit(path: str, param: Param, rule: Rule | None, error: ValueError) -> NetcalcError:
        """Return the error of an initializer that does not apply to a shape: E104 for a spec's, E502 for others."""
        text = rule.text if rule else param.init.kind
        place = rule.span if rule else None
        hint = None if place is None else "the first pattern that matches counts: put one for this path above"
        code = "E502" if place is None else "E104"
        return NetcalcError(Diagnostic(code, f"{text}: {path}: {error}", place, hint=hint))


#: Gains of torch.nn.init.calculate_gain.
_GAINS: dict[str, Callable[[float], float]] = {
    "linear": lambda a: 1.0,
    "sigmoid": lambda a: 1.0,
    "tanh": lambda a: 5 / 3,
    "relu": lambda a: math.sqrt(2),
    "leaky_relu": lambda a: math.sqrt(2 / (1 + a * a)),
    "selu": lambda a: 3 / 4,
}


def fans(shape: Sequence[int]) -> tuple[int, int]:
    """Return (fan_in, fan_out) as torch defines them: axis 1 and axis 0, each times the size of the later axes.

    Raises:
        ValueError: for fewer than two dimensions.

    >>> fans((64, 3, 7, 7))
    (147, 3136)
    """
    if len(shape) < 2:
        raise ValueError(f"fan in and fan out need at least 2 dimensions, and the shape is {tuple(shape)}")
    receptive_field = math.prod(shape[2:])
    return shape[1] * receptive_field, shape[0] * receptive_field


def gain(nonlinearity: str, a: float = 0.0) -> float:
    """Return torch.nn.init.calculate_gain of a non-linearity; ``a`` is the negative slope of ``leaky_relu``.

    >>> gain("tanh")
    1.6666666666666667
    """
    return _GAINS[nonlinearity](a)


class Spread(NamedTuple):
    """Mean and variance of the elements of a tensor."""

    mean: float
    variance: float


def spread(init: Init, shape: Sequence[int]) -> Spread | None:
    """Return mean and variance of the elements that an initializer draws; None for a table or a computed buffer.

    Raises:
        ValueError: if the initializer does not apply to the shape (fans need two dimensions).

    >>> spread(Init.of("uniform", bound=3), (10, 50))
    Spread(mean=0.0, variance=3.0)
    """
    init = at_indices(init)
    args = dict(init.args)
    match init.kind:
        case "constant":
            return Spread(args["value"], 0.0)
        case "uniform" | "fan_in_uniform":
            low, high = args.get("a", 0.0), args.get("b", 1.0)
            if init.kind == "fan_in_uniform":
                args["bound"] = 1 / math.sqrt(integer(args["fan_in"])) if integer(args["fan_in"]) else 0.0
            if "bound" in args:
                low, high = -args["bound"], args["bound"]
            return Spread((low + high) / 2, (high - low) ** 2 / 12)
        case "normal":
            return Spread(args.get("mean", 0.0), args.get("std", 1.0) ** 2)
        case "truncated_normal":
            return _truncated_normal(
                args.get("mean", 0.0), args.get("std", 1.0), args.get("a", -2.0), args.get("b", 2.0)
            )
        case "orthogonal":
            fans(shape)
            longest = max(shape[0], math.prod(shape[1:]))
            return Spread(0.0, args.get("gain", 1.0) ** 2 / longest if longest else 0.0)
        case "kaiming_uniform" | "kaiming_normal":
            fan = fans(shape)[MODES.index(args.get("mode", "fan_in"))]
            scale = gain(args.get("nonlinearity", "leaky_relu"), args.get("a", 0.0))
            return Spread(0.0, scale * scale / fan if fan else 0.0)
        case "xavier_uniform" | "xavier_normal":
            fan = sum(fans(shape))
            return Spread(0.0, args.get("gain", 1.0) ** 2 * 2 / fan if fan else 0.0)
        case "log_of_uniform" | "step_size" | "log_range" | "formula":
            return _formula_spread(init, shape)
        case "lecun_normal":
            fan = fans(shape)[0]
            return Spread(0.0, 1 / fan if fan else 0.0)
        case _:
            return None


def limits(init: Init) -> tuple[float, float]:
    """Return the lower and the upper limit of an initializer that has some, given or by default."""
    args, (low, high) = dict(init.args), _BOUNDS[init.kind]
    return args.get("a", low), args.get("b", high)


def step_size(share: float, low: float, high: float) -> float:
    """Return the number whose softplus is at this share of the way from ``low`` to ``high``, on a logarithmic scale.

    >>> round(math.log1p(math.exp(step_size(0.5, 0.001, 0.1))), 6)
    0.01
    """
    step = low * math.pow(high / low, share)
    return step + math.log(-math.expm1(-step))


def _formula_spread(init: Init, shape: Sequence[int]) -> Spread:
    """Return the moments of logarithms, of a step size by the middles of many equal intervals."""
    match init.kind:
        case "formula":
            numbers = formula_elements(init, shape)
        case "log_range":
            numbers = [math.log(number) for number in range(1, (shape[-1] if shape else 1) + 1)]
        case "log_of_uniform":
            low, high = limits(init)
            mean = (high * math.log(high) - low * math.log(low)) / (high - low) - 1
            squares = (high * math.log(high) ** 2 - low * math.log(low) ** 2) / (high - low) - 2 * mean
            return Spread(mean, max(squares - mean * mean, 0.0))
        case _:
            low, high = limits(init)
            count = 2000
            numbers = [step_size((k + 0.5) / count, low, high) for k in range(count)]
    mean = math.fsum(numbers) / len(numbers) if numbers else 0.0
    return Spread(mean, math.fsum((x - mean) ** 2 for x in numbers) / len(numbers) if numbers else 0.0)


def _formula(text: str) -> Init:
    """Return the initializer of a formula."""
    try:
        names = parse(text).names()
    except ExpressionError as error:
        raise _error(f"formula: {error.message}", "for example formula(position / elements)") from None
    unknown = sorted(names - {*FORMULA_NAMES})
    if unknown:
        raise _error(f"formula: unknown name {unknown[0]!r}", did_you_mean(unknown[0], FORMULA_NAMES))
    return Init.of("formula", expression=text)


#: Deviation of a standard normal variable that is cut off at -2 and 2.
_CUT_DEVIATION = 0.87962566103423978


def lecun(shape: Sequence[int]) -> dict[str, float]:
    """Return the arguments of the truncated normal distribution that ``lecun_normal`` draws from.

    It is cut off at two standard deviations, and has the variance 1 / fan_in.

    Raises:
        ValueError: for fewer than two dimensions.
    """
    fan = fans(shape)[0]
    std = 1 / math.sqrt(fan) / _CUT_DEVIATION if fan else 1.0
    return {"std": std, "a": -2 * std, "b": 2 * std}


def _truncated_normal(mean: float, std: float, low: float, high: float) -> Spread:
    """Return the moments of a normal variable between two limits."""
    below, above = (low - mean) / std, (high - mean) / std
    mass = (math.erf(above / math.sqrt(2)) - math.erf(below / math.sqrt(2))) / 2
    if mass <= 0:  # far out in a tail, where the limit that is nearer to the mean holds all
        return Spread(low if low > mean else high, 0.0)
    first, second = (math.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) for z in (below, above))
    shift = (first - second) / mass
    return Spread(mean + std * shift, std * std * (1 + (below * first - above * second) / mass - shift * shift))


def _names(name: str) -> tuple[str, ...]:
    """Return the names of the arguments of an initializer."""
    is_drawn = name not in ("constant", "zeros", "ones", "default")
    return (*_ARGUMENTS[name], "padding") if is_drawn else _ARGUMENTS[name]


def _positional(name: str, position: int) -> str:
    names = _ARGUMENTS[name]
    if position >= len(names):
        raise _error(f"{name} takes {len(names) or 'no'} argument{'s' if len(names) != 1 else ''}")
    return names[position]


def _value(key: str, value: str) -> float | str:
    choices = {"mode": MODES, "nonlinearity": tuple(_GAINS), "padding": _PADDING}.get(key)
    if choices:
        if value not in choices:
            raise _error(f"{key} should be one of {', '.join(choices)}, not {value!r}")
        return value
    try:
        number = float(value)
    except ValueError:
        if depends_on_indices(value):
            return Indexed(value)
        raise _error(f"{key} should be a number, not {value!r}") from None
    if not math.isfinite(number):
        raise _error(f"{key} should be finite, not {value}")
    return number


def _checked_init(name: str, args: dict[str, Any]) -> Init | None:
    if name == "default":
        return None
    if name in ("zeros", "ones"):
        return Init.of("constant", value=float(name == "ones"))
    if name == "constant" and "value" not in args:
        raise _error("constant requires a value", "for example constant(0.1)")
    if any(isinstance(value, Indexed) for value in args.values()):
        return Init.of(name, **args)
    if args.get("std", 1.0) < 0 or (name == "truncated_normal" and args.get("std") == 0):
        raise _error("std should be positive")
    bounds = _BOUNDS.get(name)
    if bounds and not args.get("a", bounds[0]) < args.get("b", bounds[1]):
        raise _error("a should be less than b")
    if name in ("log_of_uniform", "step_size") and args.get("a", 1.0) <= 0:
        raise _error("a should be greater than 0")
    return Init.of(name, **args)


def _error(message: str, hint: str | None = None) -> NetcalcError:
    return NetcalcError(Diagnostic("E502", message, hint=hint))


def _split_option(text: str) -> tuple[str | None, str]:
    """Split an option into pattern and initializer; an ``=`` inside brackets belongs to the initializer."""
    head, bracket, tail = text.partition("(")
    pattern, equals, name = head.rpartition("=")
    return (pattern.strip(), name + bracket + tail) if equals else (None, text)
