"""Backward passes of operations that combine operands from left to right, two at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from netcalc.dtypes import result_type
from netcalc.opdef import Kind, Term
from netcalc.ops._broadcast import broadcast
from netcalc.ops.arithmetic import Combination
from netcalc.ops.backward import Backward, BackwardCall, Saved
from netcalc.ops.backward._broadcast import summing
from netcalc.tensor_type import TensorType

Side = Literal["left", "right"]


@dataclass(frozen=True, slots=True)
class Stage:
    """The combination of the operands so far with the next one.

    ``left`` and ``right`` are None for a number; ``left_input`` and ``right_input`` are positions among the inputs,
    None for an intermediate result or a number.
    """

    number: int
    left: TensorType | None
    right: TensorType | None
    out: TensorType
    left_input: int | None
    right_input: int | None
    wants_left: bool
    wants_right: bool

    @property
    def wanted(self) -> bool:
        """True if a gradient is wanted."""
        return self.wants_left or self.wants_right

    def each(self, kind: Kind, role: str, times: int = 1) -> Term:
        """Return work on each element of the result of the stage."""
        return Term.of(kind, role, **({"each": times} if times > 1 else {}), elements=self.out.elements)

    def sums(self) -> Iterator[Term]:
        """Return the additions that reduce the wanted gradients to the shapes of their operands."""
        for wanted, operand in ((self.wants_left, self.left), (self.wants_right, self.right)):
            if wanted and operand is not None:
                yield from summing(self.out, operand)


class Pairs(Backward):
    """Base of operations on several operands; a subclass declares the backward pass of one stage.

    The gradient passes from the last stage to the first.  Tensors of the first stage are saved under ``names``; names
    of stage k end in the number k.
    """

    names: ClassVar[tuple[str, str]] = ("self", "other")

    def kept(self, op: Any, stage: Stage) -> Sequence[Side]:
        """Return the operands that the forward pass keeps for the gradients that are wanted."""
        return ()

    def work(self, op: Any, stage: Stage) -> Sequence[Term]:
        """Return the work of a stage, without the sums over broadcast axes."""
        return ()

    def saves(self, op: Any, call: BackwardCall) -> Sequence[Saved]:
        saved: list[Saved] = []
        for stage in self.stages(op, call):
            operands = self.kept(op, stage) if stage.wanted else ()
            suffix = str(stage.number) if stage.number else ""
            if "left" in operands and stage.left is not None:
                saved.append(_saved_operand(call, self.names[0] + suffix, stage.left, stage.left_input))
            if "right" in operands and stage.right is not None:
                saved.append(_saved_operand(call, self.names[1] + suffix, stage.right, stage.right_input))
        return saved

    def cost(self, op: Any, call: BackwardCall) -> Sequence[Term]:
        stages = [stage for stage in self.stages(op, call) if stage.wanted]
        return [term for stage in reversed(stages) for term in (*self.work(op, stage), *stage.sums())]

    def stages(self, op: Combination, call: BackwardCall) -> Iterator[Stage]:
        """Return the stages from left to right."""
        operands: list[tuple[TensorType | None, int | None]] = [
            *((type_, position) for position, type_ in enumerate(call.inputs) if type_ is not None),
            *((None, None) for _ in op.numbers()),
        ]
        if op.swaps:
            operands.reverse()
        (left, left_input), *others = operands
        wants_left = left_input is not None and call.wants(left_input)
        for number, (right, right_input) in enumerate(others):
            out = call.outputs[0] if number == len(others) - 1 else _type_of_stage(op, left, right)
            wants_right = right_input is not None and call.wants(right_input)
            yield Stage(number, left, right, out, left_input, right_input, wants_left, wants_right)
            left, left_input, wants_left = out, None, wants_left or wants_right


def _type_of_stage(op: Combination, left: TensorType | None, right: TensorType | None) -> TensorType:
    """Return the type of an intermediate result."""
    types = [type_ for type_ in (left, right) if type_ is not None]
    return TensorType(
        broadcast(op.name, [type_.shape for type_ in types]),
        result_type([(type_.dtype, type_.rank) for type_ in types]),
    )


def _saved_operand(call: BackwardCall, name: str, type_: TensorType, position: int | None) -> Saved:
    return Saved(name, "kept", type_) if position is None else call.saved_input(name, position)
