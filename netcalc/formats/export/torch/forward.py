"""Statements of ``forward``: expressions put together, and names for the values between them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from netcalc.formats.export.torch.classes import ClassCode
from netcalc.formats.export.torch.expressions import identifier, is_atomic, numbered
from netcalc.formats.export.torch.merging import optional_runs
from netcalc.formats.export.torch.rules import DEVICE, HOLES, INPUTS, MODULE, with_options
from netcalc.formats.export.torch.unit_code import StepCode
from netcalc.formats.export.torch.units import BorrowStep, CallStep, LoopStep, OpStep, Step
from netcalc.ir import Value

#: Columns of a line.
_WIDTH = 88
#: Longest expression that is put into another one.
_SHORT = 52
_CALLS = 3


class Forward:
    """Writer of the statements of one class or function."""

    def __init__(self, made: ClassCode, indent: int, inputs: Mapping[Value, str]) -> None:
        self._made = made
        self._room = _WIDTH - indent
        self._unit = made.code.unit
        self._inputs = dict(inputs)
        self._name: dict[Value, str] = dict(inputs)
        self._inline: dict[Value, tuple[StepCode, str]] = {}
        self.lines: list[str] = []
        self._left: Counter[Value] = Counter()
        self._steps = [
            replace(code, text=self._filled(code.text), condition=self._filled(code.condition))
            for code in made.code.steps
        ]
        #: Functions that statements call, which no value may hide.
        self._functions = {*made.code.helpers, *(its.name for its in made.code.classes), *made.passed}
        self._consumer: dict[Value, Step] = {}
        for code in self._steps:
            for value in _read(code):
                self._left[value] += 1
                self._consumer.setdefault(value, code.step)
        for value in self._unit.outputs:
            self._left[value] += 1
        self._reads = Counter(self._left)

    def written(self) -> list[str]:
        """Return the statements, ``return`` the last of them."""
        inputs = list(self._unit.inputs)
        for name, (place, axis) in self._made.sizes.items():
            value = inputs[place]
            assert value is not None
            self.lines.append(f"{name} = {self._name[value]}.shape[{axis}]")
        for run in optional_runs(self._steps):
            if run[0].condition:
                self._optional(run)
            else:
                self._step(run[0])
        results = []
        for value in self._unit.outputs:
            if value in self._inline and len(self._unit.outputs) == 1 and len(self._inline) == 1:
                results.append(self._inline[value][1])
            else:
                results.append("")
        if not (len(results) == 1 and results[0] and len(results[0]) + 7 <= self._room):
            self._flush()
            results = [self._name[value] for value in self._unit.outputs]
        last = self.lines[-1] if self.lines else ""
        if len(results) == 1 and last.startswith(f"{results[0]} = ") and not last.startswith(" "):
            self.lines[-1] = f"return {last.partition(' = ')[2]}"
        else:
            self.lines.append(f"return {', '.join(results)}")
        return self.lines

    # -- steps

    def _step(self, code: StepCode) -> None:
        step = code.step
        if isinstance(step, BorrowStep):
            self._name[step.outputs[0]] = code.text
            return
        if isinstance(step, OpStep) and code.text == f"self.{code.path}" and not step.inputs:
            self._name[step.outputs[0]] = code.text  # a parameter or buffer
            return
        if code.loop:
            self._flush()
            self._loop(code)
            return
        text = self._expression(code)
        single = len(step.outputs) == 1
        value = step.outputs[0]
        if single and self._may_wait(code, value, text):
            self._inline[value] = (code, text)
            for used in [*self._inline]:
                if used in _read(code):
                    del self._inline[used]
            return
        if len(text) + 18 > self._room and any(v in self._inline for v in _read(code)):
            self._flush()
            text = self._expression(code)
        self._flush(but=_read(code))
        for used in _read(code):
            self._inline.pop(used, None)
        self._assign(code, text)

    def _optional(self, run: list[StepCode]) -> None:
        """Write steps that are left out together, and what their results are without them."""
        self._flush()
        before, self.lines = self.lines, []
        names = dict(self._name)
        for code in run:
            self._step(code)
        self._flush()
        inside, self.lines = self.lines, before
        made = {code.step.outputs[0]: code for code in run}
        kept: list[str] = []
        for value in made:
            reads = sum(value in other.step.inputs for other in run)
            source = value
            while source in made and made[source].passes is not None:
                passed = made[source].step.inputs[made[source].passes or 0]
                assert passed is not None
                source = passed
            if self._reads[value] > reads and source not in made and names[source] != self._name[value]:
                kept.append(f"{self._name[value]} = {names[source]}")
        conditions = dict.fromkeys(code.condition for code in run)
        self.lines += [f"if {' and '.join(conditions)}:", *(f"    {line}" for line in inside)]
        if kept:
            self.lines += ["else:", *(f"    {line}" for line in kept)]

    def _may_wait(self, code: StepCode, value: Value, text: str) -> bool:
        """Return True for an expression that the next statement may contain."""
        consumer = self._consumer.get(value)
        if code.pattern or self._reads[value] != 1 or len(text) > _SHORT or text.count("(") > _CALLS:
            return False
        if value in self._unit.outputs:
            return True
        return consumer is not None and not isinstance(consumer, LoopStep) and not _repeats(consumer)

    def _expression(self, code: StepCode, carried: Sequence[str] = ()) -> str:
        """Return the expression of a step; ``carried`` names its first inputs, which a loop assigns anew."""

        def named(match: re.Match[str]) -> str:
            place = int(match[1])
            value = code.step.inputs[place]
            assert value is not None
            its = self._inline[value][1] if value in self._inline else self._name[value]
            if place < len(carried):
                its = carried[place]
            before, after = match.string[: match.start()], match.string[match.end() :]
            alone = (not before or before.endswith(("(", ", ", "=", "["))) and (not after or after[0] in "),]:")
            if before and before[-1] == "=" and before[-2:-1] in "=!<>":
                alone = False
            return its if alone or is_atomic(its) else f"({its})"

        return INPUTS.sub(named, code.text).replace(DEVICE, f"{next(iter(self._inputs.values()), '')}.device")

    def _filled(self, text: str) -> str:
        text = with_options(text, self._made.code.holes, self._made.texts)
        return HOLES.sub(lambda match: self._hole(int(match[1]), match.string, match.end()), text)

    def _hole(self, number: int, text: str, end: int) -> str:
        its = self._made.texts[number]
        start = text.rfind("\ue000", 0, end)
        before, after = text[:start], text[end:]
        alone = before.endswith(("(", ", ", "=", "[", ":", ": ")) and (not after or after[0] in "),]:")
        if INPUTS.search(its):
            return its
        return its if alone or is_atomic(its) else f"({its})"

    # -- statements

    def _flush(self, but: tuple[Value, ...] = ()) -> None:
        """Write the expressions that wait, but for those that the next statement contains."""
        for value, (code, text) in [*self._inline.items()]:
            if value not in but:
                del self._inline[value]
                self._assign(code, text)

    def _assign(self, code: StepCode, text: str) -> None:
        for value in self._all_read(code, text):
            self._left[value] -= 1
        names: list[str] = []
        for value in code.step.outputs:
            names.append(self._target(code, value, {*names} - {"_"}))
        target = ", ".join(names)
        if code.pattern:
            target = f"{names[0]}, _" if {*names[1:]} == {"_"} else code.pattern.format(*names)
        head, end, rest = text.partition('")')
        if head.startswith("self.get_submodule(") and rest.startswith("(") and len(target) + len(text) + 3 > self._room:
            self.lines.append(f"module = {head}{end}")
            text = f"module{rest}"
        self.lines.append(f"{target} = {text}")
        for value, name in zip(code.step.outputs, names, strict=True):
            if name != "_":
                self._name[value] = name

    def _all_read(self, code: StepCode, text: str) -> list[Value]:
        """Return the values that a statement reads, also through the expressions in it."""
        found: list[Value] = []
        stack = [*_read(code)]
        while stack:
            value = stack.pop()
            found.append(value)
            if value not in self._name:
                maker = next(other for other in self._steps if value in other.step.outputs)
                stack += _read(maker)
        return found

    def _target(self, code: StepCode, value: Value, others: set[str]) -> str:
        if not self._reads[value]:
            return "_"
        live = (
            {self._name[v] for v, count in self._left.items() if count > 0 and v in self._name}
            | others
            | self._functions
        )
        first = next((v for v in code.step.inputs if v is not None), None)
        if code.passes is not None and (passed := code.step.inputs[code.passes]) is not None:
            name = self._name.get(passed, "")
            if name.isidentifier() and name not in live and passed not in self._inputs:
                return name
        explicit = self._label(value)
        if explicit in self._made.taken and "out" not in live and self._is_summand(value):
            return "out"
        if explicit and explicit not in live and len(code.step.outputs) > 1:
            return self._free(explicit, live)
        if first is not None and len(code.step.outputs) == 1:
            source = self._root(first)
            name = self._name.get(source, "")
            several = len({v for v in code.step.inputs if v is not None}) > 1
            if several and not explicit and name and "x" not in live:
                return "x"
            if name and name.isidentifier() and name not in live and self._left[source] <= 0:
                if source not in self._inputs or name == "x":
                    return (
                        name
                        if not explicit or self._is_chain(value) or name == explicit
                        else explicit
                        if explicit not in live
                        else name
                    )
                if "x" not in live:
                    return "x"
        if explicit:
            return self._free(explicit, live)
        return self._free("x" if "x" not in live else "y", live)

    def _root(self, value: Value) -> Value:
        """Return the first named value that an expression that was put in place begins with."""
        while value not in self._name:
            maker = next(other for other in self._steps if value in other.step.outputs)
            first = next((v for v in maker.step.inputs if v is not None), None)
            if first is None:
                return value
            value = first
        return value

    def _is_chain(self, value: Value) -> bool:
        """Return True for a value that the next step alone uses as its first input."""
        consumer = self._consumer.get(value)
        if value in self._unit.outputs:
            return True
        return self._reads[value] == 1 and consumer is not None and consumer.inputs[0] is value

    def _is_summand(self, value: Value) -> bool:
        """Return True for a value that is passed from step to step until it is added to another one."""
        for _ in range(12):
            consumer = self._consumer.get(value)
            if self._reads[value] != 1 or not isinstance(consumer, OpStep) or len(consumer.outputs) != 1:
                return False
            if consumer.op.name == "add":
                return consumer.inputs[0] is value
            if consumer.inputs[0] is not value:
                return False
            value = consumer.outputs[0]
        return False

    def _free(self, name: str, live: set[str]) -> str:
        taken = (
            live
            | {*self._made.sizes, *self._made.passed}
            | ({*self._made.arguments} if self._made.is_function else set())
        )
        if name not in taken:
            return name
        number = 2
        while numbered(name, number) in taken:
            number += 1
        return numbered(name, number)

    def _label(self, value: Value) -> str:
        """Return the name of a value in the spec; empty for one that is named after its operation."""
        for _ in range(8):
            maker = next((code for code in self._steps if value in code.step.outputs), None)
            if maker is None:
                return ""
            last = value.name.rpartition(".")[2]
            if not last.isdigit() and not _is_default(last, maker.step):
                return identifier(last)
            consumer = self._consumer.get(value)
            if self._reads[value] != 1 or consumer is None or len(consumer.outputs) != 1:
                return ""
            value = consumer.outputs[0]
        return ""

    # -- loops

    def _loop(self, code: StepCode) -> None:
        step = code.step
        results = len(step.outputs)
        names: list[str] = []
        first = [value for value in step.inputs[:results] if value is not None]
        for value in _read(code):
            self._left[value] -= 1
        live = {self._name[v] for v, count in self._left.items() if count > 0 and v in self._name}
        # each iteration reads the other inputs again
        live |= {self._name[value] for value in step.inputs[results:] if value is not None}
        for value in first:
            name = self._name[value]
            fresh = "x" if value in self._inputs and "x" not in live else name
            if name in live or not name.isidentifier():
                fresh = self._free("x" if "x" not in live else "y", live | {*names})
            if fresh != name:
                self.lines.append(f"{fresh} = {name}")
            names.append(fresh)
            live.add(fresh)
        target = ", ".join(names)
        text = self._expression(code, names)
        source = HOLES.sub(lambda match: self._made.texts[int(match[1])], code.loop)
        every = {name for name in self._name.values() if name.isidentifier()} | {*names}
        variable = next(name for name in ("layer", "block", "member", "each") if name not in every)
        if variable != "layer" and isinstance(step, LoopStep):
            text = f"{variable}{text.removeprefix('layer')}"
        head = f"for {variable} in {source}:" if isinstance(step, LoopStep) else f"for _ in range({source}):"
        self.lines += [head, f"    {target} = {text}"]
        self._name.update(zip(step.outputs, names, strict=True))


def _repeats(step: Step) -> bool:
    return isinstance(step, CallStep) and not (isinstance(step.times, int) and step.times == 1)


def _is_default(name: str, step: Step) -> bool:
    """Return True for the name that a value has after its operation, and for one after its module."""
    if isinstance(step, OpStep):
        stem = name.rstrip("0123456789").rstrip("_")
        return stem == step.op.name
    return False


def _read(code: StepCode) -> tuple[Value, ...]:
    """Return the values that an expression reads, once for each place."""
    found = []
    for match in INPUTS.finditer(code.text):
        value = code.step.inputs[int(match[1])]
        assert value is not None
        found.append(value)
    return tuple(found)


__all__ = ["MODULE", "Forward"]
