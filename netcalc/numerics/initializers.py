"""Initial parameters: the initialisers of torch.nn.init, and the rules of the ``--init`` option.

Each tensor has its own random generator, seeded by the seed and the tensor's path.  Its numbers therefore depend
neither on the order in which tensors are drawn nor on the rest of the network.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from netcalc.diagnostics import Diagnostic, NetcalcError, Span
from netcalc.dims import integer
from netcalc.inits import MODES, parse_init
from netcalc.ir import Program
from netcalc.numerics.kernels import TABLES, Array
from netcalc.numerics.numpy_dtypes import numpy_dtype
from netcalc.opdef import Init, Operation, Param

__all__ = ["Initializers", "Rule", "draw", "fans", "gain", "generator"]

_GAINS: dict[str, Callable[[float], float]] = {
    "linear": lambda a: 1.0,
    "sigmoid": lambda a: 1.0,
    "tanh": lambda a: 5 / 3,
    "relu": lambda a: math.sqrt(2),
    "leaky_relu": lambda a: math.sqrt(2 / (1 + a * a)),
    "selu": lambda a: 3 / 4,
}


# -- drawing ----------------------------------------------------------------------------------------


def generator(seed: int, path: str) -> np.random.Generator:
    """Return the random generator of the tensor at ``path``."""
    digest = hashlib.blake2b(path.encode(), digest_size=16).digest()
    key = np.frombuffer(digest, dtype="<u4").tolist()
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=key)))


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


def draw(init: Init, shape: Sequence[int], dtype: str, rng: np.random.Generator) -> Array:
    """Return a tensor drawn by ``init``, which follows the function of the same name in torch.nn.init.

    Numbers are drawn in float64 for a float64 tensor and in float32 for every other type, then cast.  The argument
    ``padding_idx`` names a row that is set to zero.

    Raises:
        ValueError: if the initialiser does not apply to the shape (fans need two dimensions).
    """
    shape, args = tuple(shape), dict(init.args)
    working = np.float64 if dtype == "float64" else np.float32
    match init.kind:
        case "constant":
            drawn = np.full(shape, args["value"], numpy_dtype(dtype))
        case "uniform":
            low, high = args.get("a", 0.0), args.get("b", 1.0)
            if "bound" in args:
                low, high = -args["bound"], args["bound"]
            drawn = _uniform(rng, shape, low, high, working)
        case "fan_in_uniform":
            fan = integer(args["fan_in"])
            bound = 1 / math.sqrt(fan) if fan else 0.0
            drawn = _uniform(rng, shape, -bound, bound, working)
        case "normal":
            drawn = _normal(rng, shape, args.get("mean", 0.0), args.get("std", 1.0), working)
        case "truncated_normal":
            drawn = _truncated(rng, shape, args, working)
        case "orthogonal":
            drawn = _orthogonal(rng, shape, args.get("gain", 1.0), working)
        case "kaiming_uniform" | "kaiming_normal":
            fan = fans(shape)[MODES.index(args.get("mode", "fan_in"))]
            scale = gain(args.get("nonlinearity", "leaky_relu"), args.get("a", 0.0))
            drawn = _scaled(rng, shape, scale / math.sqrt(fan) if fan else 0.0, init.kind, working)
        case "xavier_uniform" | "xavier_normal":
            fan = sum(fans(shape))
            deviation = args.get("gain", 1.0) * math.sqrt(2 / fan) if fan else 0.0
            drawn = _scaled(rng, shape, deviation, init.kind, working)
        case "table":
            raise ValueError("a table is computed, not drawn")
    if "padding_idx" in args:
        drawn[args["padding_idx"]] = 0
    return drawn.astype(numpy_dtype(dtype), copy=False)


def _uniform(rng: np.random.Generator, shape: tuple[int, ...], low: float, high: float, working: Any) -> Array:
    drawn: Array = rng.random(shape, dtype=working)
    drawn *= high - low
    drawn += low
    return drawn


def _normal(rng: np.random.Generator, shape: tuple[int, ...], mean: float, std: float, working: Any) -> Array:
    drawn: Array = rng.standard_normal(shape, dtype=working)
    drawn *= std
    drawn += mean
    return drawn


def _scaled(rng: np.random.Generator, shape: tuple[int, ...], std: float, kind: str, working: Any) -> Array:
    if kind.endswith("normal"):
        return _normal(rng, shape, 0.0, std, working)
    bound = math.sqrt(3) * std
    return _uniform(rng, shape, -bound, bound, working)


def _truncated(rng: np.random.Generator, shape: tuple[int, ...], args: dict[str, Any], working: Any) -> Array:
    """Return a truncated normal sample, drawn by inverting the distribution function between the two limits.

    The limits are values, not multiples of the standard deviation, as in torch.
    """
    from scipy.special import ndtr, ndtri

    mean, std = args.get("mean", 0.0), args.get("std", 1.0)
    low, high = args.get("a", -2.0), args.get("b", 2.0)
    lower, upper = ndtr((low - mean) / std), ndtr((high - mean) / std)
    drawn = ndtri(_uniform(rng, shape, lower, upper, np.float64)) * std + mean
    clipped: Array = np.clip(drawn, low, high).astype(working)
    return clipped


def _orthogonal(rng: np.random.Generator, shape: tuple[int, ...], scale: float, working: Any) -> Array:
    """Return a tensor that is orthogonal as a matrix of axis 0 by all other axes: orthonormal rows or columns."""
    if len(shape) < 2:
        raise ValueError(f"orthogonal needs at least 2 dimensions, and the shape is {shape}")
    rows, columns = shape[0], math.prod(shape[1:])
    flat = rng.standard_normal((max(rows, columns), min(rows, columns)), dtype=working)
    q, r = np.linalg.qr(flat)
    q *= np.where(np.diagonal(r) < 0, -1, 1)  # the signs that QR chooses would make the distribution uneven
    oriented: Array = np.ascontiguousarray(q if rows >= columns else q.T).reshape(shape)
    oriented *= working(scale)
    return oriented


# -- the option -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rule:
    """Initialiser of the parameters whose path matches ``pattern``; ``init`` None keeps the operation's default.

    A rule without a pattern applies to parameters of two or more dimensions, so that biases and the scales and
    shifts of norms keep their defaults.  ``text`` is the rule as written, for messages.  ``is_option`` is true for
    a command-line option and false for a rule of the spec, whose place is ``span``.
    """

    init: Init | None
    pattern: str | None
    text: str
    is_option: bool
    span: Span | None = None

    def applies(self, path: str, param: Param) -> bool:
        """Return True if this rule initialises the parameter at this path."""
        if self.pattern is None:
            return len(param.shape) >= 2
        return fnmatchcase(path, self.pattern)


@dataclass(frozen=True, slots=True)
class Initializers:
    """Initialisation rules of a program.

    The first rule that applies to a parameter is used, or the operation's default if none does.  Buffers and
    parameters that are computed by a formula always have the operation's own values.
    """

    rules: tuple[Rule, ...] = ()

    @classmethod
    def of(cls, program: Program, init: str | Iterable[str] = "default") -> Initializers:
        """Return the rules of ``--init`` options and of the spec, in order of precedence.

        A later option precedes an earlier one, and all options precede the rules of the spec.  Examples of options:
        ``default``, ``xavier_normal(gain=2)``, ``kaiming_uniform(mode=fan_out, nonlinearity=relu)``,
        ``normal(std=0.02)``, ``constant(0.1)``, ``zeros``; with a pattern, ``*.bias=zeros``.

        Raises:
            NetcalcError: E502, with every invalid option.
        """
        options = (init,) if isinstance(init, str) else tuple(init)
        texts: list[tuple[str, str | None, str, Span | None]]
        texts = [("--init", *_split(option), None) for option in reversed(options)]
        texts += [("init", *rule) for rule in program.init]
        rules, problems = [], []
        for where, pattern, text, span in texts:
            shown = f"{where} {text if pattern is None else f'{pattern}={text}'}"
            if where == "--init" and pattern is None and text.strip() == "default":
                continue  # the rules of the spec and the defaults of the operations stay in force
            try:
                rules.append(Rule(parse_init(text), pattern, shown, where == "--init", span))
            except NetcalcError as error:
                problems += [d._replace(message=f"{shown}: {d.message}") for d in error.diagnostics]
        if problems:
            raise NetcalcError(problems)
        return cls(tuple(rules))

    def is_drawn(self, path: str, param: Param) -> bool:
        """Return True if the initial value of the parameter at ``path`` is random."""
        if param.is_buffer or param.init.kind == "table":
            return False
        rule = next((r for r in self.rules if r.applies(path, param)), None)
        init = param.init if rule is None or rule.init is None else rule.init
        return init.kind != "constant"

    def initial(self, op: Operation, path: str, param: Param, dtype: str, seed: int) -> Array:
        """Return the initial value of the parameter at ``path``.

        Raises:
            NetcalcError: E104 at its place if the initialiser of a spec does not apply to the parameter's shape, E502
                for that of an option.
        """
        shape = tuple(integer(size) for size in param.shape)
        if param.init.kind == "table":
            formula = TABLES.get(op.name)
            if formula is None:
                raise LookupError(f"{op.name} has no formula for {param.name!r}")
            return np.array(formula(op, param.name, shape), numpy_dtype(dtype))
        rule = None if param.is_buffer else next((r for r in self.rules if r.applies(path, param)), None)
        init = param.init
        if rule is not None and rule.init is not None:
            padding = [(name, value) for name, value in param.init.args if name == "padding_idx"]
            init = Init(rule.init.kind, (*rule.init.args, *padding))
        try:
            return draw(init, shape, dtype, generator(seed, path))
        except ValueError as error:
            text = rule.text if rule else param.init.kind
            place = rule.span if rule else None
            hint = None if place is None else "the first pattern that matches counts: put one for this path above"
            code = "E502" if place is None else "E104"
            raise NetcalcError(Diagnostic(code, f"{text}: {path}: {error}", place, hint=hint)) from None


def _split(text: str) -> tuple[str | None, str]:
    """Split an option into pattern and initialiser; an ``=`` inside brackets belongs to the initialiser."""
    head, bracket, tail = text.partition("(")
    pattern, equals, name = head.rpartition("=")
    return (pattern.strip(), name + bracket + tail) if equals else (None, text)
