"""Names of the items of a body: those that others refer to, and those whose paths another line would have."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from netcalc.formats.graph.items import Call, Cycle, Item, Sequence, Step, Turns, free_name

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


def give_names(
    items: list[Item],
    needed: Collection[int],
    visible: Iterable[str],
    outside: Collection[str] = (),
    *,
    in_sequence: bool = False,
) -> None:
    """Give each needed item a name of its own, and drop the names that nothing needs.

    The path of a line without a name is its operation, with a number if an earlier line has it, or its number in a
    sequence.  A line gets a name if another one has this path.

    Args:
        items: the items of a body or sequence.
        needed: the identities of items that others refer to.
        visible: names that have a meaning around the items.
        outside: paths of items that lead into the body or sequence, also from around it.
        in_sequence: True for the items of a named sequence.
    """
    flat = with_branches(items)
    numbered = in_sequence and _are_numbered(items)
    naming = _Naming(flat, needed, {*visible}, outside, in_sequence=in_sequence)
    number = 0
    for item in flat:
        if not isinstance(item, Step) or id(item) in needed:
            continue
        if numbered and item.name == str(number):
            item.name, number = "", number + 1
        elif not numbered and not item.given and not item.line.parameters:
            item.name = ""
    _drop_in_turns(flat)
    naming.run(numbered=numbered)
    for item in flat:
        if isinstance(item, Sequence):
            start = f"{item.name}."
            inner = [path.removeprefix(start) for path in naming.paths if path.startswith(start)]
            give_names(item.items, needed, naming.taken, inner, in_sequence=True)


class _Naming:
    """The names and paths of the items of one list, taken in their order.

    Attributes:
        taken: names with a meaning, and the operations of lines without a name.
        paths: the paths of items that have a name from the start, and of those outside.
        claimed: the paths of the items up to the present one.
    """

    def __init__(
        self,
        flat: list[Item],
        needed: Collection[int],
        visible: set[str],
        outside: Collection[str],
        *,
        in_sequence: bool,
    ) -> None:
        self.flat, self.needed, self.outside, self.in_sequence = flat, needed, outside, in_sequence
        unnamed = [item for item in flat if isinstance(item, Step) and not item.name and id(item) not in needed]
        self.paths: set[str] = set()
        self.claimed: set[str] = set()
        named = {item.name.partition(".")[0] for item in flat if item.name}
        self.taken = visible | named | {item.line.operation for item in unnamed}

    def run(self, *, numbered: bool) -> None:
        """Name the items that need a name; ``numbered`` if lines have the numbers that they are to have."""
        self.paths = {name for item in self.flat for name in names_of(item) if name} | {*self.outside}
        self.taken |= {name.partition(".")[0] for name in self.paths}
        names = {*(item.name for item in self.flat), *(path.partition(".")[0] for path in self.outside)}
        digits = self.in_sequence and not numbered and any(name.isdigit() or name == "${index}" for name in names)
        for item in self.flat:
            if isinstance(item, Step) and item.name and self._says_nothing(item):
                item.name = ""
                self.claimed.add(self._path(item))
            elif item.name:
                self.claimed.update(names_of(item))
            elif id(item) in self.needed or (digits and isinstance(item, Step)):  # lines without a name are numbered
                self._name(item)
            elif isinstance(item, Step):
                self._leave(item)
            if isinstance(item, Turns):
                self._turns(item, digits=digits)

    def _name(self, item: Item) -> None:
        assert isinstance(item, (Step, Call, Turns))
        item.name = free_name(_noun(item), self.taken | self.claimed)
        self.taken.add(item.name)
        self.claimed.add(item.name)

    def _leave(self, item: Step) -> None:
        """Leave a line without a name, unless another one has the path that it would have."""
        path = self._path(item)
        if path in self.paths:
            self._name(item)
        elif path:
            self.claimed.add(path)

    def _says_nothing(self, item: Step) -> bool:
        """Return True for the name that a line has without one."""
        return not item.line.parameters and id(item) not in self.needed and item.name == self._path(item)

    def _path(self, item: Step) -> str:
        """Return the path of a line without a name; an empty text for a number, which no name is then."""
        if self.in_sequence and not item.branches:
            return ""
        return free_name(item.line.operation, self.claimed)

    def _turns(self, turns: Turns, *, digits: bool) -> None:
        """Claim the paths of the lines of all turns; those that need a name get one with the number of the turn."""
        unnamed = [item for item in with_branches(turns.items) if isinstance(item, Step) and not item.name]
        trial = set(self.claimed)
        clashing: set[int] = {id(item) for item in unnamed} if digits else set()
        for item in unnamed * turns.times:
            path = "" if self.in_sequence and not item.branches else free_name(item.line.operation, trial)
            if path in self.paths:
                clashing.add(id(item))
            trial.add(path)
        for item in unnamed:
            if id(item) in clashing:
                self._name_by_turn(item, turns)
        for item in (item for item in unnamed * turns.times if id(item) not in clashing):
            self.claimed.add(self._path(item))

    def _name_by_turn(self, item: Step, turns: Turns) -> None:
        stem = f"{item.line.operation}_in_turn_"
        while any(f"{stem}{turn}" in self.taken | self.claimed for turn in range(turns.times)):
            stem += "_"
        turns.names[id(item)] = f"{stem}${{turn}}"
        self.taken |= {f"{stem}{turn}" for turn in range(turns.times)}
        self.claimed |= {f"{stem}{turn}" for turn in range(turns.times)}


def names_of(item: Item) -> Iterator[str]:
    """Yield the names of an item, and of its iterations."""
    yield item.name
    if isinstance(item, (Cycle, Turns)):
        for inner in with_branches(list(item.whole)):
            yield from names_of(inner)
    elif isinstance(item, Call) and item.stem is not None:
        yield from (f"{item.stem}{item.start + index}" for index in range(item.times))


def with_branches(items: list[Item]) -> list[Item]:
    """Return items with those in branches, whose names stand beside theirs."""
    flat: list[Item] = []
    for item in items:
        if isinstance(item, Step):
            for branch in item.branches.values():
                flat += with_branches(branch)
        flat.append(item)
    return flat


def _drop_in_turns(flat: list[Item]) -> None:
    """Drop the names of lines without parameters in repeats that would be the same in each turn.

    A line that is a module, which all turns call, says so.
    """
    for turns in (item for item in flat if isinstance(item, Turns)):
        firsts = with_branches(turns.items)
        for number, item in enumerate(with_branches(list(turns.whole))):
            if (
                isinstance(item, Step)
                and not item.line.parameters
                and id(firsts[number % len(firsts)]) not in turns.names
            ):
                item.module = item.module or (item.place if item.path else "")
                item.name = ""


def _are_numbered(items: list[Item]) -> bool:
    """Return True if the names of items are the numbers that lines without a name have in a sequence.

    Entries of the checkpoint name their lines.
    """
    return all(
        isinstance(item, Step) and item.name == str(index) and not (item.entries or item.branches)
        for index, item in enumerate(items)
    )


def _noun(item: Step | Call | Turns) -> str:
    """Return a word for the value of an item, which is not the name that a line of its operation has without one."""
    if isinstance(item, Turns):
        return "repeated"
    if isinstance(item, Call):
        return f"{item.block.name}_output"
    return _NOUNS.get(item.line.operation, f"{item.line.operation}_output")
