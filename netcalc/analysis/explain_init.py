"""The working of initial values: the initializer of each parameter, its fans, gain, deviation and bound."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from netcalc.dims import integer
from netcalc.inits import MODES, InitRules, at_indices, fans, gain, lecun, limits, spread
from netcalc.opdef import Init, Param, WorkingLine

#: The formula of the deviation of initializers by fans, and the name of the fan.
_BY_FANS = {
    "xavier_uniform": "gain·√(2/(fan in + fan out))",
    "xavier_normal": "gain·√(2/(fan in + fan out))",
    "kaiming_uniform": "gain/√fan",
    "kaiming_normal": "gain/√fan",
    "lecun_normal": "1/√(fan in)",
}


def init_lines(rules: InitRules, path: str, param: Param) -> Iterator[WorkingLine]:
    """Yield the lines of the initializer of the parameter at ``path``: its name, formulas, and the moments expected.

    Raises:
        NetcalcError: as :meth:`~netcalc.inits.InitRules.spread` does.
    """
    chosen, rule = rules.chosen(path, param)
    rules.spread(path, param)  # with its error, if the initializer does not apply
    shape, init = [integer(size) for size in param.shape], at_indices(chosen)
    origin = "default of the operation" if rule is None or rule.init is None else rule.text
    yield WorkingLine("initializer", "", "", f"{_text(init)} ({origin})")
    if init.kind in _BY_FANS:
        yield from _by_fans(init, shape)
    else:
        yield from _plain(init, shape)
    moments = spread(init, shape)
    if moments is not None:
        yield WorkingLine("expected mean", "", "", _short(moments.mean))
        yield WorkingLine("expected deviation", "", "", _short(math.sqrt(moments.variance)))


def _by_fans(init: Init, shape: Sequence[int]) -> Iterator[WorkingLine]:
    args = dict(init.args)
    fan_in, fan_out = fans(shape)
    field = shape[2:]
    for name, axis, count in (("fan in", 1, fan_in), ("fan out", 0, fan_out)):
        factors = "·".join(str(size) for size in (shape[axis], *field))
        formula = f"axis {axis} of the weight" + (", times its kernel" if field else "")
        yield WorkingLine(name, formula, factors, count)
    formula = _BY_FANS[init.kind]
    if init.kind.startswith("kaiming"):
        mode = str(args.get("mode", "fan_in"))
        factor = gain(str(args.get("nonlinearity", "leaky_relu")), float(args.get("a", 0.0)))
        fan = (fan_in, fan_out)[MODES.index(mode)]
        formula, text = formula.replace("√fan", f"√({mode.replace('_', ' ')})"), f"{_short(factor)}/√{fan}"
        yield WorkingLine("gain", _gain_formula(args), "", _short(factor))
        deviation = factor / math.sqrt(fan) if fan else 0.0
    elif init.kind == "lecun_normal":
        deviation, text = 1 / math.sqrt(fan_in) if fan_in else 0.0, f"1/√{fan_in}"
    else:
        factor, both = float(args.get("gain", 1.0)), fan_in + fan_out
        deviation, text = factor * math.sqrt(2 / both) if both else 0.0, f"{_short(factor)}·√(2/{both})"
    yield WorkingLine("deviation", formula, text, _short(deviation))
    if init.kind.endswith("uniform"):
        yield _bound_line(init, args, fan_in, fan_out)
    if init.kind == "lecun_normal":
        cut = lecun(shape)
        yield WorkingLine("limits", "±2 deviations before the cut", "", f"{_short(cut['a'])}, {_short(cut['b'])}")


def _bound_line(init: Init, args: dict[str, object], fan_in: int, fan_out: int) -> WorkingLine:
    """Return the line of the bound of a uniform distribution of this deviation, which is √3 times as large."""
    if init.kind == "xavier_uniform":
        factor, both = float(str(args.get("gain", 1.0))), fan_in + fan_out
        bound = factor * math.sqrt(6 / both) if both else 0.0
        return WorkingLine("bound", "gain·√(6/(fan in + fan out))", f"{_short(factor)}·√(6/{both})", _short(bound))
    mode = str(args.get("mode", "fan_in"))
    fan = (fan_in, fan_out)[MODES.index(mode)]
    factor = gain(str(args.get("nonlinearity", "leaky_relu")), float(str(args.get("a", 0.0))))
    bound = factor * math.sqrt(3 / fan) if fan else 0.0
    return WorkingLine("bound", f"gain·√(3/({mode.replace('_', ' ')}))", f"{_short(factor)}·√(3/{fan})", _short(bound))


def _plain(init: Init, shape: Sequence[int]) -> Iterator[WorkingLine]:
    """Yield the lines of an initializer whose numbers do not depend on both fans."""
    args = dict(init.args)
    match init.kind:
        case "fan_in_uniform":
            fan = integer(args["fan_in"])
            bound = 1 / math.sqrt(fan) if fan else 0.0
            yield WorkingLine("fan in", "", "", fan)
            yield WorkingLine("bound", "1/√(fan in)", f"1/√{fan}", _short(bound))
            yield WorkingLine("deviation", "bound/√3", f"{_short(bound)}/√3", _short(bound / math.sqrt(3)))
        case "uniform":
            low, high = (-args["bound"], args["bound"]) if "bound" in args else limits(init)
            yield WorkingLine("limits", "a, b", "", f"{_short(low)}, {_short(high)}")
            width = f"({_short(high)} − {_short(low)})/√12".replace("− -", "+ ")
            yield WorkingLine("deviation", "(b − a)/√12", width, _short((high - low) / math.sqrt(12)))
        case "orthogonal":
            longest = max(shape[0], math.prod(shape[1:]))
            factor = float(args.get("gain", 1.0))
            text = f"{_short(factor)}/√{longest}"
            deviation = factor / math.sqrt(longest) if longest else 0.0
            yield WorkingLine("deviation", "gain/√(longer side)", text, _short(deviation))


def _gain_formula(args: dict[str, object]) -> str:
    """Return the gain of a non-linearity as a formula."""
    name = str(args.get("nonlinearity", "leaky_relu"))
    if name == "leaky_relu":
        return f"√(2/(1 + a²)), a = {_short(float(str(args.get('a', 0.0))))}"
    return {"relu": "√2", "tanh": "5/3", "selu": "3/4"}.get(name, "1")


def _text(init: Init) -> str:
    """Return an initializer as it is written."""
    hidden = ("padding_idx", "indices", "fan_in")
    args = ", ".join(f"{name}={_value(value)}" for name, value in init.args if name not in hidden)
    return f"{init.kind}({args})" if args else init.kind


def _value(value: object) -> str:
    return _short(value) if isinstance(value, float) else str(value)


def _short(value: float) -> str:
    return f"{value:.6g}"
