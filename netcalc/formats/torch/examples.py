"""Arguments of a module as the command line writes them: ``image=float32:1,3,224,224``.

::

    image=float32:1,3,224,224         a tensor: its element type and sizes
    ids=int64:batch=1,length=16       sizes with names stay symbolic
    float32:1,3,224,224               a tensor by its position
    grid=int64:[[1, 16, 16]]          a tensor whose values count, a constant
    use_cache=false                   anything else is a constant, read as YAML
    added.time_ids=float32:1,6        an entry of an argument that is a dict, or a tuple for a number
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.dtypes import ITEMSIZE

_FORM = "write NAME=TYPE:SIZES, such as image=float32:1,3,224,224; a size may be batch=1; or NAME=VALUE"


class Example(NamedTuple):
    """An argument, or an entry of one: a tensor with an element type and sizes, or a constant.

    ``dims`` are names of sizes by axis.
    A constant with an element type is a tensor of these values.
    """

    name: str | None
    dtype: str | None = None
    sizes: tuple[int, ...] = ()
    dims: dict[int, str] = {}  # noqa: RUF012 - never changed
    value: Any = None

    @property
    def is_tensor(self) -> bool:
        """True for a tensor, False for a constant that is none."""
        return self.dtype is not None

    @property
    def has_values(self) -> bool:
        """True for a tensor whose values count."""
        return self.dtype is not None and self.value is not None


def read_examples(texts: Iterable[str]) -> list[Example]:
    """Return the arguments of a call; NetcalcError (E502) with every text that is not of the form."""
    examples: list[Example] = []
    problems: list[Diagnostic] = []
    for text in texts:
        try:
            example = read_example(text)
        except NetcalcError as error:
            problems += error.diagnostics
            continue
        if example.name is not None and any(example.name == other.name for other in examples):
            problems.append(Diagnostic("E502", f"--example {text}: {example.name!r} is given twice"))
        examples.append(example)
    if problems:
        raise NetcalcError(problems)
    return examples


def read_example(text: str) -> Example:
    """Return the argument that a text describes; NetcalcError (E502) for a text that is not of the form."""
    name, equals, rest = text.partition("=")
    if name.partition(":")[0] in ITEMSIZE:  # a tensor without a name, whose sizes may have names
        name, rest = "", text
    elif not equals or not _is_name(name):
        raise _invalid(text, "there is no name and no element type")
    dtype, colon, sizes = rest.partition(":")
    if dtype in ITEMSIZE and colon and sizes.lstrip().startswith("["):
        return Example(name or None, dtype, value=_numbers(text, sizes))
    if dtype in ITEMSIZE and colon:
        return _tensor(text, name or None, dtype, sizes)
    if colon and dtype.isidentifier():
        raise _invalid(text, f"{dtype!r} is no element type")
    from netcalc.spec.settings import parse_assignment

    return Example(name, value=parse_assignment(text)[1])


def _is_name(name: str) -> bool:
    """Return True for the name of an argument, or of an entry of one."""
    first, *keys = name.split(".")
    return first.isidentifier() and all(key.isidentifier() or key.isdecimal() for key in keys)


def _numbers(text: str, values: str) -> Any:
    """Return nested lists of numbers, all of one length at each level."""
    from netcalc.spec.settings import parse_assignment

    numbers = parse_assignment(f"values={values}")[1]
    level = [numbers]
    while any(isinstance(item, list) for item in level):
        if len({len(item) if isinstance(item, list) else -1 for item in level}) > 1:
            raise _invalid(text, "the lists are of several lengths")
        level = [item for items in level for item in items]
    if not all(isinstance(item, (int, float)) for item in level):
        raise _invalid(text, "the lists hold other things than numbers")
    return numbers


def _tensor(text: str, name: str | None, dtype: str, sizes: str) -> Example:
    shape: list[int] = []
    dims: dict[int, str] = {}
    for axis, size in enumerate(sizes.split(",") if sizes.strip() else ()):
        dim, equals, number = size.rpartition("=")
        if not number.strip().isdecimal() or (equals and not dim.strip().isidentifier()):
            raise _invalid(text, f"{size!r} is no size")
        shape.append(int(number))
        if equals:
            dims[axis] = dim.strip()
    return Example(name, dtype, tuple(shape), dims)


def _invalid(text: str, reason: str) -> NetcalcError:
    return NetcalcError(Diagnostic("E502", f"--example {text}: {reason}", hint=_FORM))
