"""Moments of a tensor in a randomly initialized network, and the rules that propagate them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias

from netcalc.analysis.signal.curves import Curve
from netcalc.analysis.signal.mixture import Mixture, discrete
from netcalc.analysis.walk import Instance
from netcalc.dims import integer
from netcalc.inits import InitRules, Spread
from netcalc.opdef import Param
from netcalc.tensor_type import TensorType


class Origin(NamedTuple):
    """The normal variable that an activation is a function of: mean, variance, covariance of two samples, function."""

    mean: float
    variance: float
    covariance: float | None
    curve: Curve


@dataclass(frozen=True, slots=True)
class Signal:
    """Moments of the elements of a tensor, over random weights and inputs.

    ``square`` is E[x²], and ``shared`` is E[x(a)·x(b)] of one unit for two samples a and b; None where no rule gives
    them, with the reason in ``gap``.  ``normal`` elements are sums of many terms, known to be normal even where their
    moments are not.  ``roots`` are the random tensors that elements are linear in; sums of signals without common
    roots are uncorrelated.  ``exchangeable`` positions of a sample correlate as different samples do.  The
    distribution is known of normal elements, of functions of a normal ``origin``, and of a ``mixture``.
    """

    mean: float | None
    square: float | None
    shared: float | None
    normal: bool = False
    roots: frozenset[str] = frozenset()
    exchangeable: bool = False
    origin: Origin | None = None
    mixture: Mixture | None = None
    gap: str = ""

    @property
    def variance(self) -> float | None:
        """The variance of the elements."""
        if self.square is None or self.mean is None:
            return None
        return max(self.square - self.mean**2, 0.0)

    @property
    def normal_origin(self) -> Origin | None:
        """The origin, which is the signal itself where its elements are normal; None if it is not known."""
        if self.origin is not None:
            return self.origin
        variance = self.variance
        if not self.normal or variance is None or self.mean is None:
            return None
        covariance = None if self.shared is None else self.shared - self.mean**2
        return Origin(self.mean, variance, covariance, _IDENTITY)

    def plus_normal(self, other: Signal) -> Mixture | None:
        """Return the distribution of the sum with an independent normal signal; None if it is not known."""
        if not other.normal or other.variance is None or other.mean is None:
            return None
        own = self.mixture
        if own is None and self.origin is not None and self.origin.variance > 0:
            own = discrete(self.origin.curve, self.origin.mean, self.origin.variance)
        return None if own is None else own.plus(other.mean, other.variance)

    def times(self, factor: float) -> Signal:
        """Return the signal times a number."""

        def by(moment: float | None, scale: float) -> float | None:
            return None if moment is None else moment * scale

        origin = self.origin
        if origin is not None:
            origin = origin._replace(curve=Curve("scaled", lambda x: factor * x, lambda x: factor).after(origin.curve))
        mixture = None if self.mixture is None else self.mixture.times(factor)
        square, shared = by(self.square, factor * factor), by(self.shared, factor * factor)
        return replace(self, mean=by(self.mean, factor), square=square, shared=shared, origin=origin, mixture=mixture)

    def plus(self, offset: float) -> Signal:
        """Return the signal plus a number."""
        if offset == 0:
            return self
        if self.mean is None:
            return replace(self, square=None, shared=None, origin=None, mixture=None, gap=self.gap or "an unknown mean")
        extra = 2 * offset * self.mean + offset * offset
        origin = self.origin
        if origin is not None:
            origin = origin._replace(curve=Curve("shifted", lambda x: offset + x, lambda x: 1.0).after(origin.curve))
        square = None if self.square is None else self.square + extra
        shared = None if self.shared is None else self.shared + extra
        mixture = None if self.mixture is None else self.mixture.plus(offset)
        mean = self.mean + offset
        return replace(self, mean=mean, square=square, shared=shared, origin=origin, mixture=mixture)


_IDENTITY = Curve("identity", lambda x: x, lambda x: 1.0, ())


def unknown(reason: str, *, normal: bool = False, mean: float | None = None) -> Signal:
    """Return a signal whose moments no rule gives."""
    return Signal(mean, None, None, normal, gap=reason)


@dataclass(frozen=True, slots=True)
class Call:
    """An operation with the signals of its inputs; ``declared`` returns the declaration of a parameter's owner."""

    instance: Instance
    inputs: Sequence[Signal | None]
    training: bool
    rules: InitRules
    declared: Callable[[str], Param]

    def spread(self, name: str) -> Spread | None:
        """Return the moments of a parameter when it is drawn; None for one that is computed."""
        return self.rules.spread(self.instance.owners[name], self.declared(name))

    def normal_weights(self, name: str) -> bool:
        """Return True if a parameter is drawn from a normal distribution."""
        init, _ = self.rules.chosen(self.instance.owners[name], self.declared(name))
        return init.kind in ("normal", "kaiming_normal", "xavier_normal")

    @property
    def op(self) -> Any:
        """The attributes of the operation."""
        return self.instance.node.op

    @property
    def x(self) -> Signal:
        """The first input."""
        signal = self.inputs[0]
        assert signal is not None
        return signal

    def root(self, name: str) -> str:
        """Return the root that a parameter is: its owner."""
        return self.instance.owners[name]

    def shape(self, position: int = 0) -> tuple[int, ...]:
        """Return the shape of an input."""
        type_ = self.instance.node.input_types[position]
        assert type_ is not None
        return sizes(type_)

    @property
    def result(self) -> tuple[int, ...]:
        """The shape of the first output."""
        return sizes(self.instance.node.output_types[0])

    def parameter_shape(self, name: str) -> tuple[int, ...] | None:
        """Return the shape of a parameter; None if the operation has none of that name."""
        param = next((p for p in self.instance.node.params if p.name == name), None)
        return None if param is None else tuple(integer(size) for size in param.shape)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The signal of every output of an operation, and how its product multiplies squared norms of gradients.

    ``back`` are the factors of the gradients of inputs by position, relative to the gradients of the outputs;
    ``parameters`` the factors of the gradients of parameters.  None is a factor that is not known.  ``saturated`` is
    the share of elements where an activation function saturates.  ``note`` names an approximation.  A product that
    ``mixes`` makes gradients of different samples and positions depend on each other; one that ``selects`` makes
    gradients of its input depend on the elements themselves.
    """

    signal: Signal
    back: Mapping[int, float | None] = field(default_factory=dict)
    parameters: Mapping[str, float | None] = field(default_factory=dict)
    saturated: float | None = None
    note: str = ""
    mixes: bool = False
    selects: bool = False


Rule: TypeAlias = Callable[[Call], Outcome]


def sizes(type_: TensorType) -> tuple[int, ...]:
    """Return the shape of a type without symbolic sizes."""
    return tuple(integer(size) for size in type_.shape)
