"""Equal sequences as calls of one block, with the attributes in which they differ as arguments."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Mapping
from itertools import pairwise

from netcalc.formats.graph.arguments import arguments_of
from netcalc.formats.graph.items import Block, Call, Item, Sequence, Step, free_name
from netcalc.formats.graph.model import Value
from netcalc.formats.graph.structure import Structure, structure_of
from netcalc.formats.graph.uses import use_counts
from netcalc.ops import find
from netcalc.spec.line_syntax import MODIFIERS, SEQUENCE


def fold_blocks(root: Sequence, outputs: tuple[Value, ...]) -> list[Block]:
    """Replace equal sequences of a tree by calls of blocks; return the blocks, inner ones before outer ones."""
    structures: dict[int, Structure] = {}
    alike: dict[Hashable, list[Sequence]] = defaultdict(list)
    sites: dict[Hashable, set[Hashable]] = defaultdict(set)
    _survey(root, use_counts([root], outputs), structures, alike, sites)
    names: set[str] = set()
    blocks: dict[Hashable, Block] = {}
    calls: dict[int, Call] = {}
    for key, group in alike.items():  # inner ones come first
        if len(sites[key]) < 2 or not _is_worthwhile(group[0]):
            continue
        parts: dict[tuple[int, ...], list[Sequence]] = defaultdict(list)
        for sequence in group:
            sequence.items = _with_calls(sequence.items, calls)
            parts[_blocks_in(sequence.items)].append(sequence)
        for calling, part in parts.items():  # shared modules in some of them can be calls of another block
            places = {sequence.place for sequence in part}
            part = [sequence for sequence in part if sequence.shares.removeprefix("/") in {"", *places}]
            if len(part) > 1:
                blocks[key, calling] = _block(part, structures, names, calls)
    root.items = _with_calls(root.items, calls)
    return list(blocks.values())


def _survey(
    sequence: Sequence,
    used: Mapping[Value, int],
    structures: dict[int, Structure],
    alike: dict[Hashable, list[Sequence]],
    sites: dict[Hashable, set[Hashable]],
) -> None:
    """Find the structure of each sequence, those that are alike, and the places where these stand."""
    inner = [(index, item) for index, item in enumerate(sequence.items) if isinstance(item, Sequence)]
    for _, item in inner:
        _survey(item, used, structures, alike, sites)
    structure = structures[id(sequence)] = structure_of(sequence, used)
    if sequence.name and not _is_stored_elsewhere(sequence):
        alike[structure.key].append(sequence)
    for index, item in inner:
        sites[structures[id(item)].key].add((structure.key, index))


def _is_stored_elsewhere(sequence: Sequence) -> bool:
    """Return True for a module whose parameters have other paths in the source, which a block could not name.

    Names in a block are relative to the place of its call.  A further call of a module names that as a whole.
    """
    if sequence.path == sequence.place or sequence.shares:
        return False
    return any(map(_has_entries, sequence.items))


def _has_entries(item: Item) -> bool:
    if isinstance(item, Sequence):
        return any(map(_has_entries, item.items))
    return isinstance(item, Step) and bool(item.entries)


def _is_worthwhile(sequence: Sequence) -> bool:
    """Return True for a sequence of more than one line."""
    return len(sequence.items) > 1 or isinstance(sequence.items[0], (Sequence, Call))


def _with_calls(items: list[Item], calls: dict[int, Call]) -> list[Item]:
    """Return items with calls in place of the sequences that have become blocks."""
    result: list[Item] = []
    for item in items:
        if isinstance(item, Sequence) and id(item) in calls:
            result.append(calls[id(item)])
            continue
        if isinstance(item, Sequence):
            item.items = _with_calls(item.items, calls)
        result.append(item)
    return result


def _blocks_in(items: list[Item]) -> tuple[int, ...]:
    """Return which blocks the items call, in order."""
    blocks: list[int] = []
    for item in items:
        if isinstance(item, Sequence):
            blocks += (-1, *_blocks_in(item.items))
        elif isinstance(item, Call):
            blocks.append(id(item.block))
    return tuple(blocks)


def _block(group: list[Sequence], structures: dict[int, Structure], names: set[str], calls: dict[int, Call]) -> Block:
    """Return the block of equal sequences, and add its calls."""
    members = [structures[id(sequence)] for sequence in group]
    exported = _exported(members, group[0].items[-1])
    if len(exported) > 1:
        exported.sort(key=lambda number: not _is_passed_on(members, number))
    order = _input_order(members, exported)
    arguments, passed = arguments_of(group)
    first, shown = group[0], members[0]
    block = Block(
        _name(first.kind, names),
        first.items,
        tuple(shown.inputs[index] for index in order),
        tuple(shown.made[index] for index in exported),
        first.path,
        first.place,
        tuple(sequence.place for sequence in group),
        arguments,
    )
    for sequence, structure, values in zip(group, members, passed, strict=True):
        inputs = tuple(structure.inputs[index] for index in order)
        outputs = tuple(structure.made[index] for index in exported)
        calls[id(sequence)] = Call(
            sequence.name, block, inputs, outputs, values, sequence.place, sequence.shares, sequence.module
        )
    return block


def _exported(structures: list[Structure], item: Item) -> list[int]:
    """Return the numbers of the values that any of the sequences gives; the value of the last item comes first."""
    numbers = {index for structure in structures for index in structure.given}
    last = len(structures[0].made) - 1
    if isinstance(item, Step) and item.line.outputs:
        last = structures[0].made.index(item.line.outputs[0])
    return [*([last] if last in numbers or not numbers else []), *sorted(numbers - {last})]


def _is_passed_on(structures: list[Structure], number: int) -> bool:
    """Return True for a value that the next sequence takes from the one before."""
    return any(earlier.made[number] in later.inputs for earlier, later in pairwise(structures))


def _input_order(structures: list[Structure], outputs: list[int]) -> list[int]:
    """Return the order of the inputs: first those that the outputs of an earlier sequence go to, in their order."""
    order: list[int] = []
    for output in outputs:
        chained = [
            sum(later.inputs[index] is earlier.made[output] for earlier, later in pairwise(structures))
            for index in range(len(structures[0].inputs))
        ]
        best = max(range(len(chained)), key=lambda index: chained[index], default=None)
        if best is not None and chained[best] and best not in order:
            order.append(best)
    return [*order, *(index for index in range(len(structures[0].inputs)) if index not in order)]


def _name(kind: str, names: set[str]) -> str:
    """Return a name for a block after the class of its module: ``BasicBlock`` becomes ``basic_block``."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", kind).lower()
    words = re.sub(r"\W", "_", words).strip("_") or "block"
    if find(words) is not None or words in MODIFIERS or words == SEQUENCE or words[0].isdigit():
        words = f"{words}_block" if not words[0].isdigit() else f"block_{words}"
    name = free_name(words, names)
    names.add(name)
    return name
