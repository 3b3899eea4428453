"""Updates of parameters as torch.optim computes them, and clipping of gradients.

The formulas have torch's order of operations (``_single_tensor_sgd``, ``_single_tensor_adam``; timm's for Lion), and
are written in ufuncs, so that an update of tallied arrays counts the work that ``data/optimizers`` states.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import NamedTuple, TypeAlias

import numpy as np

from netcalc.analysis.optimizers import Optimizer, State, optimizer_named
from netcalc.arrays import Array
from netcalc.diagnostics import Diagnostic, NetcalcError, did_you_mean
from netcalc.training.adafactor import adafactor
from netcalc.training.formulas import States, lerp
from netcalc.training.muon import muon

#: ``(parameter, gradient, states, learning rate, settings) -> the new parameter``; the states are replaced.
Update: TypeAlias = Callable[[Array, Array, States, float, Mapping[str, float]], Array]


class _Allowed(NamedTuple):
    """Values of a setting that are possible."""

    text: str
    holds: Callable[[float], bool]


_NOT_NEGATIVE = _Allowed("a number that is not negative", lambda value: 0 <= value < math.inf)
_ALLOWED = {
    "beta2_decay": _Allowed("a number that is not positive", lambda value: -math.inf < value <= 0),
    "beta?": _Allowed("from 0 to below 1", lambda value: 0 <= value < 1),
    "alpha": _Allowed("from 0 to below 1", lambda value: 0 <= value < 1),
    "d": _Allowed("at least 1", lambda value: 1 <= value < math.inf),
    "ns_steps": _Allowed("a whole number below 100", lambda value: value in range(100)),
    "match_rms": _Allowed("0 or 1", lambda value: value in (0, 1)),
}

#: Added to the norm that divides the greatest norm, as in torch.nn.utils.clip_grad_norm_.
_CLIP_EPSILON = 1e-6


@dataclass(slots=True)
class Updater:
    """Optimizer with the states of all parameters; create it by :meth:`of`.

    ``states`` are the tensors that it keeps, by the path of the parameter and by name; they are created by the first
    update of the parameter.  ``tables`` are the paths of tables of embeddings.
    """

    name: str
    settings: Mapping[str, float]
    states: dict[str, States] = field(default_factory=dict)
    tables: frozenset[str] = frozenset()

    @classmethod
    def of(cls, name: str, settings: Mapping[str, float] | None = None) -> Updater:
        """Return an optimizer with the settings given, and its defaults for the others.

        Raises:
            NetcalcError: E502 for an optimizer or a setting that does not exist, and a value that is not possible.
        """
        defaults = optimizer_named(name).settings
        problems = [_problem(name, defaults, key, value) for key, value in (settings or {}).items()]
        if wrong := [problem for problem in problems if problem is not None]:
            raise NetcalcError(wrong)
        return cls(name, {**defaults, **(settings or {})})

    @property
    def declared(self) -> Optimizer:
        """The declaration of the optimizer: its states and the work of an update."""
        return optimizer_named(self.name)

    def update(self, path: str, parameter: Array, gradient: Array, lr: float | None = None) -> Array:
        """Return the parameter after an update; the array given is unchanged.

        Args:
            path: path of the parameter, to which its states belong.
            parameter, gradient: arrays of one shape and type.
            lr: learning rate of this step; the one of the settings when None.
        """
        rate = self.settings["lr"] if lr is None else lr
        optimizer = self.declared.of(parameter.shape, path in self.tables)
        settings = self.declared.settings_of(optimizer, self.settings)
        with np.errstate(all="ignore"):
            return _UPDATES[optimizer.name](parameter, gradient, self.states.setdefault(path, {}), rate, settings)

    def kept(self, path: str, shape: tuple[int, ...]) -> tuple[State, ...]:
        """Return the states that are kept for a parameter."""
        return self.declared.kept(shape, path in self.tables)


def global_norm(gradients: Iterable[Array]) -> float:
    """Return the Euclidean norm of all elements of all gradients, added up in float64."""
    total = 0.0
    with np.errstate(all="ignore"):
        for gradient in gradients:
            wide = gradient.astype(np.float64)
            total += float(np.add.reduce(wide * wide, axis=None))
    return math.sqrt(total)


def clip_coefficient(norm: float, most: float) -> float:
    """Return the factor, at most 1, that limits gradients of a norm to the norm ``most``, as in torch.nn.utils."""
    return min(most / (norm + _CLIP_EPSILON), 1.0) if not math.isnan(norm) else norm


def _problem(name: str, settings: Mapping[str, float], key: str, value: float) -> Diagnostic | None:
    if key not in settings:
        hint = did_you_mean(key, settings) or f"its settings are {', '.join(settings)}"
        return Diagnostic("E502", f"the optimizer {name} has no setting {key!r}", hint=hint)
    allowed = next((rule for pattern, rule in _ALLOWED.items() if fnmatchcase(key, pattern)), _NOT_NEGATIVE)
    if not allowed.holds(value):
        return Diagnostic("E502", f"{key} of {name} should be {allowed.text}, not {value:g}")
    if key == "momentum" and not value and name in ("momentum", "nesterov"):
        return Diagnostic("E502", f"momentum of {name} should be above 0", hint="sgd is without momentum")
    return None


def _decayed(parameter: Array, gradient: Array, settings: Mapping[str, float]) -> Array:
    """Return the gradient with the gradient of the parameter's squared norm added.

    The sum is rounded once, as by torch's fused multiply-add: where its terms cancel, Adam divides by what is left.
    """
    decay = settings["weight_decay"]
    if not decay:
        return gradient
    dtype = gradient.dtype
    product = parameter.astype(np.float64) * np.float64(dtype.type(decay))
    return (gradient.astype(np.float64) + product).astype(dtype)


def _sgd(parameter: Array, gradient: Array, states: States, lr: float, settings: Mapping[str, float]) -> Array:
    updated: Array = parameter + _decayed(parameter, gradient, settings) * -lr
    return updated


def _momentum(parameter: Array, gradient: Array, states: States, lr: float, settings: Mapping[str, float]) -> Array:
    gradient = _decayed(parameter, gradient, settings)
    buffer = _buffer(gradient, states, settings)
    updated: Array = parameter + buffer * -lr
    return updated


def _nesterov(parameter: Array, gradient: Array, states: States, lr: float, settings: Mapping[str, float]) -> Array:
    gradient = _decayed(parameter, gradient, settings)
    buffer = _buffer(gradient, states, settings)
    updated: Array = parameter + (gradient + buffer * settings["momentum"]) * -lr
    return updated


def _buffer(gradient: Array, states: States, settings: Mapping[str, float]) -> Array:
    """Return the momentum after a step; the first step has the gradient itself."""
    previous, dampening = states.get("momentum_buffer"), settings.get("dampening", 0.0)
    if previous is None:
        states["momentum_buffer"] = gradient
    else:
        states["momentum_buffer"] = previous * settings["momentum"] + (
            gradient * (1 - dampening) if dampening else gradient
        )
    return states["momentum_buffer"]


def _adam(parameter: Array, gradient: Array, states: States, lr: float, settings: Mapping[str, float]) -> Array:
    return _adaptive(parameter, _decayed(parameter, gradient, settings), states, lr, settings)


def _adamw(parameter: Array, gradient: Array, states: States, lr: float, settings: Mapping[str, float]) -> Array:
    decay = settings["weight_decay"]
    shrunk = parameter * (1 - lr * decay) if decay else parameter
    return _adaptive(shrunk, gradient, states, lr, settings)


def _adaptive(parameter: Array, gradient: Array, states: States, lr: float, settings: Mapping[str, float]) -> Array:
    """Return the parameter after a step by both moments of its gradient."""
    beta1, beta2 = settings["beta1"], settings["beta2"]
    first = states.get("exp_avg", np.zeros_like(parameter))
    second = states.get("exp_avg_sq", np.zeros_like(parameter))
    step = float(states.get("step", np.float32(0))) + 1
    first = lerp(first, gradient, 1 - beta1)
    second = second * beta2 + gradient * (1 - beta2) * gradient
    denominator = np.sqrt(second) / math.sqrt(1 - beta2**step) + settings["eps"]
    states.update(exp_avg=first, exp_avg_sq=second, step=np.asarray(step, np.float32))
    updated: Array = parameter + first * (-lr / (1 - beta1**step)) / denominator
    return updated


def _rmsprop(parameter: Array, gradient: Array, states: States, lr: float, settings: Mapping[str, float]) -> Array:
    gradient, alpha = _decayed(parameter, gradient, settings), settings["alpha"]
    square = states.get("square_avg", np.zeros_like(parameter))
    square = square * alpha + gradient * (1 - alpha) * gradient
    step = float(states.get("step", np.float32(0))) + 1
    states.update(square_avg=square, step=np.asarray(step, np.float32))
    updated: Array = parameter + gradient * -lr / (np.sqrt(square) + settings["eps"])
    return updated


def _adagrad(parameter: Array, gradient: Array, states: States, lr: float, settings: Mapping[str, float]) -> Array:
    gradient = _decayed(parameter, gradient, settings)
    total = states.get("sum", np.full_like(parameter, settings["initial_accumulator_value"])) + gradient * gradient
    step = float(states.get("step", np.float32(0))) + 1
    states.update(sum=total, step=np.asarray(step, np.float32))
    rate = lr / (1 + (step - 1) * settings["lr_decay"])
    updated: Array = parameter + gradient * -rate / (np.sqrt(total) + settings["eps"])
    return updated


def _lion(parameter: Array, gradient: Array, states: States, lr: float, settings: Mapping[str, float]) -> Array:
    momentum = states.get("exp_avg", np.zeros_like(parameter))
    direction = np.sign(lerp(momentum, gradient, 1 - settings["beta1"]))
    states["exp_avg"] = lerp(momentum, gradient, 1 - settings["beta2"])
    updated: Array = parameter * (1 - lr * settings["weight_decay"]) + direction * -lr
    return updated


_UPDATES: dict[str, Update] = {
    "sgd": _sgd,
    "momentum": _momentum,
    "nesterov": _nesterov,
    "adam": _adam,
    "adamw": _adamw,
    "rmsprop": _rmsprop,
    "adagrad": _adagrad,
    "lion": _lion,
    "adafactor": adafactor,
    "muon": muon,
}
