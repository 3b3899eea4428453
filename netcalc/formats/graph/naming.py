"""Names of items, and the texts by which lines refer to values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from netcalc.formats.graph.items import Call, Cycle, Item, Sequence, Step, Turns, free_name, last_value
from netcalc.formats.graph.model import Value, operation_named

#: Words for the values of common operations.
_NOUNS = {
    "add": "sum",
    "concat": "joined",
    "div": "quotient",
    "embedding": "embedded",
    "expand": "expanded",
    "flatten": "flattened",
    "identity": "same",
    "layer_norm": "normed",
    "linear": "projected",
    "masked_fill": "masked",
    "mul": "product",
    "permute": "permuted",
    "reshape": "reshaped",
    "rms_norm": "normed",
    "scaled_dot_product_attention": "attended",
    "slice": "part",
    "softmax": "weights",
    "sub": "difference",
    "transpose": "transposed",
    "unflatten": "unflattened",
}


class _Place(NamedTuple):
    """The item that makes a value, the sequences around it, and what follows the item's name in the name of the value.

    ``name`` is the value's own, if a call makes it whose name is not fixed.
    """

    item: Step | Call | Turns
    around: tuple[Sequence, ...]
    suffix: str
    name: str = ""


class Names:
    """The names in a body: which items need one, and the texts that refer to their values."""

    def __init__(self, items: list[Item], inputs: Mapping[str, Value]) -> None:
        self.inputs = {value: name for name, value in inputs.items()}
        self.places: dict[Value, _Place] = {}
        self.needed: set[int] = set()
        self.aliases: dict[int, str] = {}
        self._find(items, ())

    def _find(self, items: list[Item], around: tuple[Sequence, ...]) -> None:
        for item in items:
            if isinstance(item, Sequence):
                self._find(item.items, (*around, item))
                continue
            if isinstance(item, Step):
                for branch in item.branches.values():
                    self._find(branch, around)
                for value, suffix in zip(item.line.outputs, _suffixes(item), strict=True):
                    self.places[value] = _Place(item, around, suffix)
                continue
            if isinstance(item, Turns):
                self.places[last_value(item)] = _Place(item, around, "")
                continue
            for call in item.whole if isinstance(item, Cycle) else [item]:
                for value, name in _call_values(call, isinstance(item, Cycle)):
                    self.places[value] = _Place(call, around, "", name)

    def need(self, value: Value) -> None:
        """Note a value that needs a name."""
        if value in self.places:
            self.needed.add(id(self.places[value].item))

    def give(self, items: list[Item], visible: set[str], *, in_sequence: bool = False) -> None:
        """Give each item that others refer to a name of its own, and drop the names that nothing needs.

        Lines without a name are numbered ``in_sequence``; elsewhere their paths are the names of their operations.
        """
        numbered = in_sequence and all(
            isinstance(item, Step) and item.name == str(index) and not item.entries for index, item in enumerate(items)
        )  # entries of the checkpoint name their lines
        taken = visible | {item.name.partition(".")[0] for item in with_branches(items) if item.name}
        unnamed = [item for item in items if isinstance(item, Step) and not item.name and id(item) not in self.needed]
        taken |= {item.line.operation for item in unnamed}  # the paths of lines without a name
        for item in with_branches(items):
            if isinstance(item, (Sequence, Cycle)):
                continue
            if id(item) in self.needed:
                if not item.name:
                    item.name = free_name(_noun(item), taken)
                    taken.add(item.name)
            elif isinstance(item, Step) and (numbered or _is_spare(item, in_sequence)):
                item.name = ""
        numbers = in_sequence and not numbered
        if numbers and any(item.name.isdigit() or item.name == "${index}" for item in items):  # as unnamed lines have
            for item in items:
                if not isinstance(item, Cycle):
                    item.name = item.name or free_name(_noun(item), taken) if isinstance(item, Step) else item.name
                taken.add(item.name)
        for item in with_branches(items):
            if isinstance(item, (Sequence, Turns)):
                self.give(item.items, taken, in_sequence=isinstance(item, Sequence))

    def reference(self, value: Value, around: tuple[Sequence, ...]) -> str:
        """Return the text that names a value in a line inside the sequences ``around``."""
        if value in self.inputs:
            return self.inputs[value]
        place = self.places[value]
        shared = 0
        while shared < min(len(around), len(place.around)) and around[shared] is place.around[shared]:
            shared += 1
        last = place.name or place.item.name
        path = [*(sequence.name for sequence in place.around[shared:]), last]
        if any(_defines(sequence, path[0]) for sequence in around[shared:]):
            path = [*(sequence.name for sequence in place.around), last]
            if any(_defines(sequence, path[0]) for sequence in around) and not place.suffix:
                return self._alias(place.item)
        return ".".join(path) + place.suffix

    def _alias(self, item: Step | Call | Turns) -> str:
        """Return a second name of an item, whose name stands for another one where it is needed."""
        if id(item) not in self.aliases:
            taken = {place.item.name.partition(".")[0] for place in self.places.values()} | set(self.aliases.values())
            self.aliases[id(item)] = free_name(f"outer_{item.name}".replace(".", "_"), taken)
        return self.aliases[id(item)]


def _call_values(call: Call, in_cycle: bool) -> Iterator[tuple[Value, str]]:
    """Yield the values that a call makes, with their names: of an iteration, those with its number."""
    for index, outputs in enumerate([*call.earlier, call.outputs]):
        is_last = index == len(call.earlier)
        if (
            call.stem is not None
            and (call.times or in_cycle)
            and not (is_last and "$" not in call.name and not in_cycle)
        ):
            name = f"{call.stem}{call.start + index}"
        else:
            name = ""
        suffixes = call.block.suffixes
        if call.times and not name:  # the outputs of a repeat are numbered
            suffixes = [f".{number}" if number else "" for number in range(len(outputs))]
        for value, suffix in zip(outputs, suffixes, strict=True):
            yield value, (name or call.name) + suffix


def _is_spare(item: Step, in_sequence: bool) -> bool:
    """Return True for the name of a line without parameters, unless it keeps the place of a number."""
    return not item.line.parameters and not (in_sequence and item.name.isdigit())


def _noun(item: Step | Call | Turns) -> str:
    """Return a word for the value of an item, which is not the name that a line of its operation has without one."""
    if isinstance(item, Turns):
        return "repeated"
    if isinstance(item, Call):
        return f"{item.block.name}_output"
    return _NOUNS.get(item.line.operation, f"{item.line.operation}_output")


def with_branches(items: list[Item]) -> list[Item]:
    """Return items with those in branches, whose names stand beside theirs."""
    flat: list[Item] = []
    for item in items:
        if isinstance(item, Step):
            for branch in item.branches.values():
                flat += with_branches(branch)
        flat.append(item)
    return flat


def _suffixes(item: Step) -> list[str]:
    """Return what follows an item's name in the name of each output."""
    outputs = item.line.outputs
    if len(outputs) <= 1:
        return [""] * len(outputs)
    operation = operation_named(item.line.operation)
    if len(operation.outputs) >= len(outputs) and not operation.outputs[0].variadic:
        return [f".{port.name}" for port in operation.outputs[: len(outputs)]]
    return [f".{index}" for index in range(len(outputs))]


def _defines(sequence: Sequence, name: str) -> bool:
    """Return True if a sequence has an item with this name, or under this name; also one of a repeat."""
    names = (own_name for item in with_branches(sequence.items) for own_name in _names(item) if own_name)
    return any(f"{own_name}.".startswith(f"{name}.") or f"{name}.".startswith(f"{own_name}.") for own_name in names)


def _names(item: Item) -> Iterator[str]:
    """Yield the names of an item, and of its iterations."""
    yield item.name
    if isinstance(item, (Cycle, Turns)):
        for inner in with_branches(list(item.whole)):
            yield from _names(inner)
    elif isinstance(item, Call) and item.stem is not None:
        yield from (f"{item.stem}{item.start + index}" for index in range(item.times))
