"""Classes and functions: units with the same code, whose arguments are the values in which they differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from netcalc.dims import Poly, symbol
from netcalc.formats.export.torch.expressions import ANY, class_name, identifier, literal, numbered, symbols_of
from netcalc.formats.export.torch.formulas import formula_of
from netcalc.formats.export.torch.merging import merged
from netcalc.formats.export.torch.rules import HOLES, Hole, every_helper
from netcalc.formats.export.torch.unit_code import Coder, UnitCode
from netcalc.formats.export.torch.units import CallStep, LoopStep, OpStep, Unit

#: Names of what the code imports.
_RESERVED = ("F", "Tensor", "nn", "torch", "math")


@dataclass(eq=False)
class ClassCode:
    """A class, or a function without parameters of its own.

    Attributes:
        name: its name.
        codes: the units that are calls of it.
        arguments: values of each argument, in the order of ``codes``.
        passed: values of arguments of ``forward``, in which calls of one module differ.
        texts: expression of each mark at the start and in ``forward``.
        sizes: sizes that ``forward`` reads first: name and expression, with the input as a mark.
        attributes: arguments that ``forward`` needs.
        taken: names of modules and parameters.
        symbols: arguments that are symbols, by the name of the symbol.
        defaults: arguments with a default, as it is written.
    """

    name: str
    codes: list[UnitCode]
    arguments: dict[str, list[Any]] = field(default_factory=dict)
    passed: dict[str, list[Any]] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    sizes: dict[str, tuple[int, int]] = field(default_factory=dict)
    attributes: list[str] = field(default_factory=list)
    taken: frozenset[str] = frozenset()
    symbols: dict[str, str] = field(default_factory=dict)
    defaults: dict[str, str] = field(default_factory=dict)

    @property
    def code(self) -> UnitCode:
        """The code of the first unit."""
        return self.codes[0]

    @property
    def is_function(self) -> bool:
        """True for a function."""
        return self.code.unit.is_function

    def values_of(self, unit: Unit) -> Mapping[str, Any]:
        """Return the values of the arguments for one unit."""
        return {name: values[self._place(unit)] for name, values in self.arguments.items()}

    def passed_of(self, unit: Unit) -> Mapping[str, Any]:
        """Return the values of the arguments of ``forward`` for one unit."""
        return {name: values[self._place(unit)] for name, values in self.passed.items()}

    def _place(self, unit: Unit) -> int:
        return next(place for place, code in enumerate(self.codes) if code.unit is unit)


class Classes:
    """All classes of a network, inner ones first."""

    def __init__(self, main: Unit, name: str, dims: frozenset[str]) -> None:
        self.coder = Coder()
        self.dims = dims
        self.all: list[ClassCode] = []
        self._names: set[str] = {*_RESERVED, *every_helper()}
        heights: dict[Unit, int] = {}
        _measure(main, heights)
        _leveled(heights)
        self._shared = {unit for parent in heights for unit in _called_again(parent)}
        for height in range(max(heights.values()) + 1):
            level = [unit for unit, its in heights.items() if its == height and unit is not main]
            self._add_level([unit for unit in level if not self._is_sequence(unit)])
        code = self.coder.code(main)
        self.main = ClassCode(self._named(class_name(name)), [code])
        self._settle(self.main)

    def _is_sequence(self, unit: Unit) -> bool:
        if unit.is_function:
            return False
        if self.coder.problems:
            return False
        trial = self.coder.layers(UnitCode(unit), unit)
        self.coder.problems.clear()
        return trial is not None

    def _add_level(self, units: Sequence[Unit]) -> None:
        groups: dict[Any, list[UnitCode]] = {}
        for unit in units:
            code = self.coder.code(unit)
            groups.setdefault((_base(unit), code.signature), []).append(code)
        by_base: dict[str, list[list[UnitCode]]] = {}
        for (base, _), codes in groups.items():
            by_base.setdefault(base, []).append(codes)
        for base, codes in ((base, codes) for base, parts in by_base.items() for codes in merged(parts)):
            function = codes[0].unit.is_function
            name = identifier(base.replace(".", "_")) if function else class_name(base)
            if name in self._names and codes[0].unit.around:  # such as the output of attention and that of a layer
                name = class_name(f"{codes[0].unit.around}_{base}")
            made = ClassCode(self._named(name), codes)
            self._settle(made)
            self.all.append(made)
            for code in codes:
                self.coder.class_of[code.unit] = made

    def _named(self, name: str) -> str:
        number = 2
        free = name = f"{name}Block" if name in _RESERVED else name
        while free in self._names:
            free = numbered(name, number)
            number += 1
        self._names.add(free)
        return free

    # -- arguments

    def _settle(self, made: ClassCode) -> None:
        """Decide which values are literals, sizes of inputs and arguments."""
        code = made.code
        users = _users(code)
        made.taken = frozenset({*code.entries, *(name for name, _ in code.own)})
        made.texts = [""] * len(code.holes)
        # first what the constructor needs, so that its arguments have the names of their symbols
        order = [
            (place, hole, [other.holes[place].value for other in made.codes]) for place, hole in enumerate(code.holes)
        ]
        for place, hole, values in sorted(order, key=lambda item: (not item[1].at_start, _is_open(item[2]))):
            made.texts[place] = self._text(made, hole, values, users.get(place))

    def _text(self, made: ClassCode, hole: Hole, values: list[Any], user: int | None) -> str:
        hint, at_start = hole.hint, hole.at_start
        first = next(value for value in values if value is not ANY)
        same = all(_equal(value, first) for value in values)
        if same and _is_open(values) and _all_equal(made.arguments.get(hint, []), values):
            return self._reference(made, hint, at_start)
        if same:
            values = [first] * len(values)
        symbols = [*symbols_of(first)]
        if same and not symbols:
            return literal(first)
        if not at_start and user is not None and (not same or any(name in self.dims for name in symbols)):
            found = self._from_shapes(made, values, user)
            if found is not None:
                return found
        if same:
            for name in symbols:
                if not at_start and name in self.dims and self._size_of(made, name):
                    continue
                argument = self._argument(made, name, [_symbol(values[0], name)] * len(values), made.arguments)
                made.symbols[name] = argument
                if not at_start:
                    self._remember(made, argument)
            return literal(values[0], lambda name: self._reference(made, name, at_start))
        if not at_start and any(code.unit in self._shared for code in made.codes):
            return self._argument(made, hint, values, made.passed)
        known = {*made.arguments}
        name = self._argument(made, hint, values, made.arguments, hole.owner)
        if hole.default and name not in known:
            made.defaults[name] = hole.default
        if not at_start:
            self._remember(made, name)
        return self._reference(made, name, at_start)

    def _reference(self, made: ClassCode, name: str, at_start: bool) -> str:
        name = made.symbols.get(name, identifier(name))
        if at_start or made.is_function or name in made.sizes:
            return name
        return f"self.{stored_name(made, name)}"

    def _remember(self, made: ClassCode, name: str) -> None:
        if not made.is_function and name not in made.attributes and name not in made.sizes:
            made.attributes.append(name)

    @staticmethod
    def _argument(
        made: ClassCode, hint: str, values: list[Any], arguments: dict[str, list[Any]], owner: str = ""
    ) -> str:
        """Return the one of the arguments that has these values, a new one if there is none."""
        for name, others in arguments.items():
            if _all_equal(others, values):
                return name
        first = next(value for value in values if value is not ANY)
        values = [first if value is ANY else value for value in values]
        name = base = identifier(hint)
        taken = {*made.arguments, *made.passed, *made.sizes}
        if name in taken and owner and not owner.startswith(hint):
            name = f"{owner}_{base}"
        number = 2
        while name in made.arguments or name in made.passed or name in made.sizes:
            name = numbered(base, number)
            number += 1
        arguments[name] = values
        return name

    def _from_shapes(self, made: ClassCode, values: list[Any], user: int) -> str | None:
        """Return a size as the length of an axis of an input of the step, or of the unit."""
        steps = [code.steps[user].step for code in made.codes]
        for place, value in enumerate(steps[0].inputs):
            if value is None:
                continue
            for axis in range(value.known_type.rank):
                if all(_size_at(step.inputs[place], axis) == size for step, size in zip(steps, values, strict=True)):
                    return f"\ue001{place}\ue002.shape[{axis}]"
        found = self._of_inputs(made, values)
        if found is None:
            return self._formula(made, values)
        return self._new_size(made, values[0], found)

    def _formula(self, made: ClassCode, values: list[Any]) -> str | None:
        """Return a size as a formula of the length of an axis of an input of the unit."""
        calls = [place for place, value in enumerate(values) if value is not ANY]
        values = [values[place] for place in calls]
        if not all(isinstance(value, (int, Poly)) and not isinstance(value, bool) for value in values):
            return None
        if not any(isinstance(value, Poly) for value in values):
            return None
        names = {name for value in values for name in symbols_of(value) if name not in self.dims}
        others = [(name, [_symbol(value, name) for value in values]) for name in names if _in_all(name, values)]
        others += [(name, [its[place] for place in calls]) for name, its in made.arguments.items()]
        for place, axis in _axes(made):
            lengths = [_size_at(made.codes[call].unit.inputs[place], axis) for call in calls]
            found = formula_of(values, lengths, others)
            if found is None:
                continue
            formula, name = found
            if not name.isdigit():
                if name not in made.arguments:
                    sizes = [dict(others)[name][0]] * len(made.codes)
                    made.symbols[name] = self._argument(made, name, sizes, made.arguments)
                self._remember(made, made.symbols.get(name, name))
                name = self._reference(made, name, at_start=False)
            return formula.format(a=self._new_size(made, lengths[0], (place, axis)), p=name)
        return None

    def _of_inputs(self, made: ClassCode, values: list[Any]) -> tuple[int, int] | None:
        units = [code.unit for code in made.codes]
        for place, value in enumerate(units[0].inputs):
            if value is None:
                continue
            for axis in range(value.known_type.rank):
                if all(_size_at(unit.inputs[place], axis) == size for unit, size in zip(units, values, strict=True)):
                    return place, axis
        return None

    def _new_size(self, made: ClassCode, value: Any, found: tuple[int, int]) -> str:
        for name, other in made.sizes.items():
            if other == found:
                return name
        symbols = [name for name in symbols_of(value) if str(value) == name or name in self.dims]
        name = base = identifier(symbols[0]) if len(symbols) == 1 else "size"
        number = 2
        while name in made.sizes or name in made.arguments or name in made.passed:
            name = numbered(base, number)
            number += 1
        made.sizes[name] = found
        return name

    def _size_of(self, made: ClassCode, name: str) -> bool:
        """Return True if a dim is the length of an axis of an input, by its name from then on."""
        if identifier(name) in made.sizes:
            return True
        for place, value in enumerate(made.code.unit.inputs):
            for axis, size in enumerate(() if value is None else value.known_type.shape):
                is_free = isinstance(size, Poly) and str(size) == name and identifier(name) not in made.arguments
                if is_free and all(_size_at(code.unit.inputs[place], axis) == size for code in made.codes):
                    made.sizes[identifier(name)] = (place, axis)
                    return True
        return False


def _equal(first: Any, second: Any) -> bool:
    """Return True for equal values of one type, and for the value of a line that is left out."""
    return first is ANY or second is ANY or (type(first) is type(second) and bool(first == second))


def _all_equal(first: list[Any], second: list[Any]) -> bool:
    return len(first) == len(second) and all(_equal(a, b) for a, b in zip(first, second, strict=True))


def _is_open(values: list[Any]) -> bool:
    return any(value is ANY for value in values)


def _symbol(value: Any, name: str) -> Poly:
    """Return the symbol of a name in a value, as a size."""
    found = next(found for found in _atoms(value) if found.name == name)
    return symbol(found.name, found.default, found.least, found.most, found.multiple)


def _atoms(value: Any) -> set[Any]:
    """Return the symbols of a size, or of a real number that follows from sizes."""
    symbols: set[Any] = value.symbols() if hasattr(value, "symbols") else value.size.symbols()
    return symbols


def stored_name(made: ClassCode, name: str) -> str:
    """Return the attribute in which an argument is kept."""
    return f"n_{name}" if name in made.taken else name


def _in_all(name: str, values: list[Any]) -> bool:
    return all(name in {*symbols_of(value)} for value in values)


def _axes(made: ClassCode) -> Iterator[tuple[int, int]]:
    """Yield the axes of the inputs of a class whose lengths are formulas at some call, by place."""
    for place, value in enumerate(made.code.unit.inputs):
        for axis in range(0 if value is None else value.known_type.rank):
            if any(isinstance(_size_at(code.unit.inputs[place], axis), Poly) for code in made.codes):
                yield place, axis


def _size_at(value: Any, axis: int) -> Any:
    shape = value.known_type.shape
    return shape[axis] if axis < len(shape) else None


def _users(code: UnitCode) -> dict[int, int]:
    """Return the step whose expression has each mark."""
    users: dict[int, int] = {}
    for number, step in enumerate(code.steps):
        for match in HOLES.finditer(step.text):
            users[int(match[1])] = number
    return users


def _base(unit: Unit) -> str:
    return unit.base


def _called_again(unit: Unit) -> Iterator[Unit]:
    """Yield the units that are calls of one module, for modules that are called more than once."""
    calls = [step for step in unit.steps if isinstance(step, CallStep) and step.owns]
    names = {step.name for step in calls if step.reused}
    yield from (step.unit for step in calls if step.name in names)


def inner_units(unit: Unit) -> Iterator[Unit]:
    """Yield the units that a unit calls."""
    for step in unit.steps:
        if isinstance(step, CallStep):
            yield step.unit
        elif isinstance(step, LoopStep):
            for member, _ in step.units:
                yield member
        elif isinstance(step, OpStep) and step.computed is not None:
            yield step.computed


#: Rounds in which units of one block get one height; blocks that contain each other have none in common.
_ROUNDS = 60


def _leveled(heights: dict[Unit, int]) -> None:
    """Raise the heights of units of a block to that of the highest, so that they are compared with one another."""
    made = dict(heights)
    for _ in range(_ROUNDS):
        highest: dict[Any, int] = {}
        for unit, height in made.items():
            highest[_kind(unit)] = max(height, highest.get(_kind(unit), 0))
        raised = {
            unit: max(highest[_kind(unit)], 1 + max((made[inner] for inner in inner_units(unit)), default=-1))
            for unit in made
        }
        if raised == made:
            heights.update(made)
            return
        made = raised


def _kind(unit: Unit) -> tuple[str, bool]:
    return unit.base, unit.is_function


def _measure(unit: Unit, heights: dict[Unit, int]) -> int:
    if unit not in heights:
        heights[unit] = -1
        heights[unit] = 1 + max((_measure(inner, heights) for inner in inner_units(unit)), default=-1)
    return heights[unit]
