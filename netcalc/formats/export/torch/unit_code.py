"""Code of single units: constructors of modules and expressions of steps, with marks for values that may differ."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from netcalc.diagnostics import RuleError
from netcalc.formats.export.torch.expressions import ModuleName
from netcalc.formats.export.torch.rules import HOLES, MODULE, Call, Emitted, Hole, option, rule_of
from netcalc.formats.export.torch.units import BorrowStep, CallStep, LoopStep, OpStep, Step, Unit
from netcalc.formats.export.torch.unwritten import reason
from netcalc.ir import Value

#: Module without arguments, whose class may be an argument of the class around it.
_ACTIVATION = re.compile(r"nn\.\w+\(\)")


class Made(Protocol):
    """A class or function that units are calls of."""

    name: str
    defaults: dict[str, str]

    def values_of(self, unit: Unit) -> Mapping[str, Any]:
        """Return the values of the arguments for one unit."""
        ...

    def passed_of(self, unit: Unit) -> Mapping[str, Any]:
        """Return the values of the arguments of ``forward`` for one unit."""
        ...


@dataclass
class StepCode:
    """Expression of a step; ``path`` is the attribute of its module, ``loop`` what a loop goes through.

    A step with a ``condition`` is left out where that is false; its result is then the input ``passes``, if any.
    """

    step: Step
    text: str
    path: str = ""
    loop: str = ""
    pattern: str = ""
    condition: str = ""
    passes: int | None = None


@dataclass
class UnitCode:
    """Code of a unit.

    Attributes:
        entries: constructors of modules by attribute.
        own: statements of the constructor that make parameters and buffers.
        steps: expressions.
        holes: values behind the marks.
        helpers: names of helpers.
        is_dict: True for a class of numbered modules.
    """

    unit: Unit
    entries: dict[str, str] = field(default_factory=dict)
    own: list[tuple[str, str]] = field(default_factory=list)
    steps: list[StepCode] = field(default_factory=list)
    holes: list[Hole] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    classes: list[Made] = field(default_factory=list)
    is_dict: bool = False

    @property
    def signature(self) -> Any:
        """All of the code but the values behind its marks."""
        places = self._places()
        return (
            self.unit.is_function,
            tuple(self.entries.items()),
            tuple(self.own),
            tuple((type(c.step).__name__, c.text, c.path, c.loop, places(c.step.inputs)) for c in self.steps),
            places(self.unit.outputs),
            tuple(value is not None for value in self.unit.inputs),
            tuple((hole.at_start, hole.default) for hole in self.holes),
            self.is_dict,
        )

    def _places(self) -> Any:
        numbers: dict[Value, int] = {}
        for value in self.unit.inputs:
            if value is not None:
                numbers[value] = len(numbers)
        for step in self.unit.steps:
            for value in step.outputs:
                numbers[value] = len(numbers)
        return lambda values: tuple(-1 if value is None else numbers[value] for value in values)


class Coder:
    """Code of units, whose inner units have their classes."""

    def __init__(self) -> None:
        self.class_of: dict[Unit, Made] = {}
        self.problems: list[tuple[str, str, str]] = []

    def code(self, unit: Unit) -> UnitCode:
        """Return the code of a unit."""
        code = UnitCode(unit)
        code.is_dict = any(step.owns and step.name[:1].isdigit() for step in unit.steps)
        for step in unit.steps:
            if isinstance(step, OpStep):
                self._operation(code, step)
            elif isinstance(step, CallStep):
                self._call(code, step)
            elif isinstance(step, LoopStep):
                self._loop(code, step)
            else:
                code.steps.append(StepCode(step, ""))
        for made in code.steps:
            if isinstance(made.step, BorrowStep):
                made.text = _borrowed(code, made.step.name)
        for name, _ in code.own:
            parent, _, last = name.rpartition(".")
            if last == "bias" and code.entries.get(parent, "").startswith("nn.Linear("):
                for made in code.steps:  # the module would add a bias that a later line adds
                    if made.path == parent and isinstance(made.step, OpStep):
                        made.text = f"F.linear(\ue0010\ue002, self.{parent}.weight)"
        return code

    # -- operations

    def emitted(self, code: UnitCode, step: OpStep) -> Emitted | None:
        """Return the code of an operation; None, and a problem, if it has none."""
        rule = rule_of(step.op.name)
        types = [None if value is None else value.known_type for value in step.inputs]
        on_device = any(value is not None for value in code.unit.inputs)
        results = [value.known_type for value in step.outputs]
        call = Call(step.op, types, results, step.params, on_device=on_device)
        try:
            if rule is None:
                raise RuleError(reason(step.op.name))
            result = rule(call)
        except RuleError as error:
            self.problems.append((step.path or step.name, step.op.name, error.message))
            return None
        emitted = Emitted(result) if isinstance(result, str) else result
        offset = len(code.holes)
        owner = step.name.rpartition(".")[2]
        code.holes += [hole._replace(owner=owner if owner.isidentifier() else "") for hole in call.holes]
        code.helpers += call.helpers

        def moved(text: str) -> str:
            return HOLES.sub(lambda match: f"{match[0][0]}{int(match[1]) + offset}{match[0][-1]}", text)

        own = [moved(text) for text in emitted.own]
        return Emitted(moved(emitted.text), moved(emitted.module), moved(emitted.layer), own, emitted.pattern)

    def _operation(self, code: UnitCode, step: OpStep) -> None:
        emitted = self.emitted(code, step)
        if emitted is None:
            return
        name = attribute(step.name)
        if step.computed is not None:
            self._computed(code, step, emitted)
        if emitted.module and not step.reused:
            if not step.params and any(
                other.name.startswith(f"{name}.") or other.name == name
                for other in code.unit.steps
                if other is not step
            ):
                name = f"{name}_function"  # it has no parameters, so that its path is free
            if not step.params and name in code.entries:
                name = f"{name}_function"
            code.entries[name] = emitted.module
        for text in emitted.own:
            code.own.append((name, nested(text, name) if "." in name else text))
        if "." in name and emitted.own:
            kind = "buffer" if any("register_buffer" in text for text in emitted.own) else "parameter"
            emitted.text = f'self.get_{kind}("{name}")'
        code.steps.append(
            StepCode(
                step,
                emitted.text.replace(MODULE, self_path(code, name)).replace("{name}", name),
                step.name,
                pattern=emitted.pattern,
            )
        )

    def _computed(self, code: UnitCode, step: OpStep, emitted: Emitted) -> None:
        """Write the value of a computed buffer as the call of a function."""
        assert step.computed is not None
        function = self.class_of[step.computed]
        code.classes.append(function)
        values = [
            self._hole(code, value, name, at_start=True) for name, value in function.values_of(step.computed).items()
        ]
        call = f"{function.name}({', '.join(values)})"
        emitted.own = [text.replace("{computed}", call) for text in emitted.own]

    @staticmethod
    def _hole(code: UnitCode, value: Any, hint: str, *, at_start: bool) -> str:
        code.holes.append(Hole(value, hint, at_start))
        return f"\ue000{len(code.holes) - 1}\ue002"

    # -- calls

    def constructor(self, code: UnitCode, unit: Unit) -> str:
        """Return the expression that makes the module of a unit."""
        if unit in self.class_of:
            its = self.class_of[unit]
            code.classes.append(its)
            marks = []
            options = ""
            for name, value in its.values_of(unit).items():
                mark = self._hole(code, value, name, at_start=True)
                if name in its.defaults:
                    code.holes[-1] = code.holes[-1]._replace(default=its.defaults[name])
                    options += option(name, mark)
                else:
                    marks.append(mark)
            return f"{its.name}({', '.join(marks)}{options})"
        layers = self.layers(code, unit)
        assert layers is not None
        return f"nn.Sequential({', '.join(layers)})"

    def layers(self, code: UnitCode, unit: Unit) -> list[str] | None:
        """Return the modules of a unit that is a sequence; None if it is none."""
        layers: list[str] = []
        only = unit.steps[0] if len(unit.steps) == 1 else None
        if isinstance(only, LoopStep) and only.name == "" and only.start == 0 and len(only.inputs) == 1:
            return [self._members(code, only.units, star=True)] if only.outputs == unit.outputs else None
        value = unit.inputs[0] if unit.inputs else None
        for step in unit.steps:
            if [v for v in step.inputs if v is not None] != [value] or len(step.outputs) != 1:
                return None
            if not step.name.isdigit() or int(step.name) < len(layers) or getattr(step, "reused", False):
                return None
            layers += ["nn.Identity()"] * (int(step.name) - len(layers))
            layer = self._layer(code, step)
            if layer is None:
                return None
            layers.append(layer)
            (value,) = step.outputs
        return layers if unit.outputs == (value,) else None

    def _layer(self, code: UnitCode, step: Step) -> str | None:
        if isinstance(step, OpStep) and step.computed is None:
            emitted = self.emitted(code, step)
            if emitted is None or emitted.own or not emitted.layer:
                return None
            if _ACTIVATION.fullmatch(emitted.layer):
                return f"{self._hole(code, ModuleName(emitted.layer[:-2]), 'activation', at_start=True)}()"
            return emitted.layer
        units = [step.unit] if isinstance(step, CallStep) else [its for its, _ in getattr(step, "units", [])]
        if any(self._takes_more(unit) for unit in units):
            return None
        if isinstance(step, CallStep) and step.times == 1 and not step.unit.is_function:
            return self.constructor(code, step.unit)
        if isinstance(step, LoopStep) and step.start == 0 and not step.stem:
            return f"nn.Sequential({self._members(code, step.units, star=True)})"
        return None

    def _call(self, code: UnitCode, step: CallStep) -> None:
        marks = [f"\ue001{place}\ue002" for place, value in enumerate(step.inputs) if value is not None]
        if step.unit.is_function:
            its = self.class_of[step.unit]
            code.classes.append(its)
            values = [self._hole(code, v, name, at_start=False) for name, v in its.values_of(step.unit).items()]
            text = f"{its.name}({', '.join([*marks, *values])})"
        else:
            if not step.reused:
                code.entries[step.name] = self.constructor(code, step.unit)
            elif step.unit in self.class_of:
                code.classes.append(self.class_of[step.unit])
                self._require_same(code, step)
            marks += self._passed(code, step.unit)
            text = f"{self_path(code, step.name)}({', '.join(marks)})"
        loop = (
            ""
            if isinstance(step.times, int) and step.times == 1
            else self._hole(code, step.times, "repeats", at_start=False)
        )
        code.steps.append(StepCode(step, text, step.name, loop))

    def _takes_more(self, unit: Unit) -> bool:
        """Return True if ``forward`` of a unit takes arguments beside its inputs."""
        return unit in self.class_of and bool(self.class_of[unit].passed_of(unit))

    def _passed(self, code: UnitCode, unit: Unit) -> list[str]:
        """Return the arguments that ``forward`` of a unit takes beside its inputs."""
        passed = self.class_of[unit].passed_of(unit) if unit in self.class_of else {}
        return [self._hole(code, value, name, at_start=False) for name, value in passed.items()]

    def _require_same(self, code: UnitCode, step: CallStep) -> None:
        """Note a problem if a module is called again with other attributes than it was made with."""
        owners = (other for other in code.unit.steps if isinstance(other, CallStep) and other.name == step.name)
        owner = next((other for other in owners if not other.reused), None)
        if owner is None or not self._alike(owner.unit, step.unit):
            self.problems.append((step.name, "shared block", "is called again with other attributes"))

    # -- lists

    def _loop(self, code: UnitCode, step: LoopStep) -> None:
        loops = [other for other in code.unit.steps if isinstance(other, LoopStep) and other.name == step.name]
        as_layer = code.is_dict and len(loops) == 1 and len(step.outputs) == len(step.inputs) == 1
        as_layer = as_layer and not any(self._takes_more(unit) for unit, _ in step.units)
        if loops[0] is step:
            units = [pair for loop in sorted(loops, key=lambda loop: loop.start) for pair in loop.units]
            if as_layer:
                code.entries[step.name] = f"nn.Sequential({self._members(code, units, star=True)})"
            elif step.stem:
                code.entries[step.name] = self._named_members(code, units, step.stem)
            else:
                code.entries[step.name] = f"nn.ModuleList({self._members(code, units, star=False)})"
        path = self_path(code, step.name)
        marks = [f"\ue001{place}\ue002" for place, value in enumerate(step.inputs) if value is not None]
        if as_layer:
            code.steps.append(StepCode(step, f"{path}({', '.join(marks)})", step.name))
            return
        count = sum(times for _, times in step.units) if all(isinstance(t, int) for _, t in step.units) else None
        passed = [self.class_of[unit].passed_of(unit) for unit, _ in step.units if unit in self.class_of]
        if any(values != passed[0] for values in passed):
            self.problems.append((step.name, "list of blocks", "has members that are called with other attributes"))
        marks += self._passed(code, step.units[0][0])
        carries = len(step.inputs) >= len(step.outputs) and None not in step.inputs[: len(step.outputs)]
        if count == 1 and not step.stem and (len(loops) > 1 or not carries):
            member = f'self.get_submodule("{step.name}.{step.start}")' if "." in step.name else f"{path}[{step.start}]"
            code.steps.append(StepCode(step, f"{member}({', '.join(marks)})", step.name))
            return
        which = path if len(loops) == 1 else f"{path}[{step.start}:{step.start + (count or 0)}]"
        if step.stem:
            which = f"{path}.values()"
        if code.is_dict:
            which = f"{path}.children()"
        if "." in step.name:
            which = f"{path}.children()"
        code.steps.append(StepCode(step, f"layer({', '.join(marks)})", step.name, which))

    def _members(self, code: UnitCode, units: list[tuple[Unit, Any]], *, star: bool) -> str:
        """Return the members of a list: a comprehension of equal ones, or a list of several."""
        groups = self._groups(units)
        if len(groups) == 1:
            unit, times = groups[0]
            if isinstance(times, int) and times == 1:
                made = self.constructor(code, unit)
                return made if star else f"[{made}]"
            loop = f"{self.constructor(code, unit)} for _ in range({self._hole(code, times, 'repeats', at_start=True)})"
            return f"*({loop})" if star else loop
        parts = []
        for unit, times in groups:
            made = self.constructor(code, unit)
            parts.append(
                made
                if isinstance(times, int) and times == 1
                else f"*({made} for _ in range({self._hole(code, times, 'repeats', at_start=True)}))"
            )
        return ", ".join(parts) if star else f"[{', '.join(parts)}]"

    def _named_members(self, code: UnitCode, units: list[tuple[Unit, Any]], stem: str) -> str:
        groups = self._groups(units)
        if len(groups) == 1 and not (isinstance(groups[0][1], int) and groups[0][1] == 1):
            unit, times = groups[0]
            count = self._hole(code, times, "repeats", at_start=True)
            return f'nn.ModuleDict({{f"{stem}{{i}}": {self.constructor(code, unit)} for i in range({count})}})'
        made = []
        number = 0
        for unit, times in units:
            for _ in range(times):
                made.append(f'"{stem}{number}": {self.constructor(code, unit)}')
                number += 1
        return f"nn.ModuleDict({{{', '.join(made)}}})"

    def _groups(self, units: list[tuple[Unit, Any]]) -> list[tuple[Unit, Any]]:
        """Return neighboring members that are made alike as one."""
        groups: list[tuple[Unit, Any]] = []
        for unit, times in units:
            if groups and self._alike(groups[-1][0], unit):
                groups[-1] = (groups[-1][0], groups[-1][1] + times)
            else:
                groups.append((unit, times))
        return groups

    def _alike(self, first: Unit, second: Unit) -> bool:
        if first is second:
            return True
        its = self.class_of.get(first)
        return its is not None and its is self.class_of.get(second) and its.values_of(first) == its.values_of(second)


def attribute(path: str) -> str:
    """Return the last part of a path as an attribute."""
    return path


def self_path(code: UnitCode, path: str) -> str:
    """Return the expression of a module of the class."""
    if "." in path:
        return f'self.get_submodule("{path}")'
    return f'self["{path}"]' if code.is_dict else f"self.{path}"


def nested(text: str, path: str) -> str:
    """Return the statement that makes a parameter or buffer of an inner module."""
    parent, _, last = path.rpartition(".")
    module = f'self.get_submodule("{parent}")'
    if text.startswith("self.{name} = "):
        return f'{module}.register_parameter("{last}", {text.partition(" = ")[2]})'
    return text.replace("self.register_buffer", f"{module}.register_buffer").replace("{name}", last)


def is_borrowed(step: Step) -> bool:
    """Return True for a parameter of another module."""
    return isinstance(step, BorrowStep)


def _borrowed(code: UnitCode, path: str) -> str:
    """Return the expression of a parameter of another module: attributes where each of them has a class."""
    first, *others = path.split(".")
    if not code.is_dict and first in code.entries and all(part.isidentifier() for part in others):
        return f"self.{path}"
    return f'self.get_parameter("{path}")'
