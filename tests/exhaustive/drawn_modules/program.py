"""Whole modules: the text of all classes, and of the arguments of a call."""

from __future__ import annotations

import linecache
import sys
from collections.abc import Sequence
from random import Random
from types import ModuleType
from typing import Any

from tests.exhaustive.drawn_modules import members, parts, steps
from tests.exhaustive.drawn_modules.draft import Class, Draft, Program, Value
from tests.exhaustive.drawn_modules.names import Palette
from tests.exhaustive.drawn_modules.steps import same_type
from tests.exhaustive.drawn_modules.structures import RECORDS, structured

__all__ = ["drawn_class", "drawn_text", "executed", "step"]

#: Name of the Python module that a drawn text is executed in.
DRAWN = "drawn"
HEAD = """from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint
"""
_STEPS = {**steps.STEPS, **members.STEPS, **parts.STEPS}
#: Inputs by kind: the text of a tensor, given batch, length and width.
_INPUTS = (
    *(
        "torch.randn({b}, {n})",
        "torch.randn({b}, {t}, {n})",
        "torch.randn({b}, {t}, {n})",
        "torch.randn({b}, 4, {h}, {h})",
    ),
    *(
        "torch.randn({b}, 3, {h}, {h})",
        "torch.randint(0, 10, ({b}, {t}))",
        "torch.ones({b}, {t}, dtype=torch.bool).triu()",
    ),
    *(
        "torch.randn({n})",
        "torch.randn(())",
        "torch.randint(0, 3, ({b},))",
        "torch.randn({b}, {n}, {t})",
        "torch.randn({b}, 2, 4, {t}, {t})",
    ),
)


def step(draft: Draft) -> bool:
    """Add a drawn step; False if none could be added, or the whole is long enough."""
    if draft.program.budget <= 0:
        return False
    for _ in range(8):
        if draft.rng.choices(list(_STEPS), [*_STEPS.values()])[0](draft):
            draft.program.budget -= 1
            return True
    return False


def drawn_class(
    program: Program, values: Sequence[Value], depth: int, *, keeps: bool = False, given: Any = None
) -> Class:
    """Add a class that takes tensors like some values.

    Args:
        program: the text that it is added to.
        values: what it is to be called with.
        depth: number of levels of classes below it.
        keeps: True for a single result of shape and type of the first tensor.
        given: a module that the constructor takes.
    """
    rng = program.rng
    draft = Draft(program, depth)
    for value in values:
        name = program.palette.plain({*draft.inputs, *program.names})
        draft.inputs.append(name)
        draft.names[name] = value.tensor.detach().clone()
        draft.add(Value(name, draft.names[name], value.exact))
    if given is not None:
        draft.names["given"] = given
        draft.member("given")
    for _ in range(rng.choice((1, 2, 2, 3, 4, 6)) if depth < 2 else rng.choice((2, 3, 4, 6, 8))):
        step(draft)
    returned, results = _kept(draft, values[0]) if keeps else _returned(draft)
    name = _class_name(program)
    text = draft.class_text(name, returned, given=", given" if given is not None else "")
    program.execute(text)
    shapes = tuple(value.shape for value in values)
    drawn = Class(name, shapes, results, keeps and results == ("",), draft.writes, given is not None)
    program.classes.append(drawn)
    return drawn


def _class_name(program: Program) -> str:
    number = len(program.classes)
    return program.rng.choice(
        (f"Part{number}", f"Block{number}", f"{program.palette.plain(()).title().strip('_')}{number}")
    )


def _kept(draft: Draft, like: Value) -> tuple[str, tuple[str, ...]]:
    """Return what a class returns whose result is like its input."""
    while len(rest := draft.unused()) > 1 or not rest:
        if not _folded(draft):
            break
    last = (draft.unused() or draft.values)[-1]
    last.used = True
    if same_type(like)(last):
        return last.text, ("",)
    first = draft.inputs[0]
    if not like.is_float:
        return last.text, ("",)
    scalar = last.text if last.is_float else f"{last.text}.float()"
    return f"{first} + {scalar}.mean().to({first}.dtype)", ("",)


def _folded(draft: Draft) -> bool:
    """Join two values that nothing reads."""
    unused = draft.unused() or draft.values[-1:]
    value = unused[0]
    others = [one for one in unused[1:] if one.is_float] or [
        one for one in draft.values if one.is_float and one is not value
    ]
    if not others:
        return False
    other = draft.rng.choice(others)
    if same_type(value)(other):
        text = f"{value.text} + {other.text}"
    else:
        text = f"{other.text} + {value.text}{'' if value.is_float else '.float()'}.mean()"
    if draft.assign(text, value, other) is None:
        value.used = True
    return True


def _returned(draft: Draft) -> tuple[str, tuple[str, ...]]:
    """Return what a class returns: all that nothing reads, in a structure, perhaps with inputs and other things."""
    rng = draft.rng
    while len(draft.unused()) > 4 and _folded(draft):
        pass
    leaves = draft.unused() or [draft.values[-1]]
    rng.shuffle(leaves)
    if len(leaves) > 1 and rng.random() < 0.2:
        leaves.pop()  # computed, and not returned
    if rng.random() < 0.1:
        leaves.append(rng.choice(draft.values))
    texts = [value.text for value in leaves]
    for value in leaves:
        value.used = True
    count = len(texts)
    if rng.random() < 0.1:
        texts.append(rng.choice(("None", "3", "'text'", "True", "0.5")))
    text, ways = structured(rng, draft.program.palette, texts)
    return text, tuple(ways[:count])


# -- the whole ----------------------------------------------------------------------------------------


def drawn_text(rng: Random) -> str:
    """Return the text of a module: its classes, and functions ``make`` and ``arguments``."""
    program = Program(rng, Palette(rng), rng.choice(("float32",) * 6 + ("float64", "bfloat16")))
    program.names = _namespace()
    program.execute(HEAD)
    program.execute(RECORDS)
    torch = program.names["torch"]
    torch.manual_seed(0)
    sizes = {
        "b": rng.choice((1, 2, 2, 3)),
        "t": rng.choice((2, 3, 5)),
        "n": rng.choice((4, 6, 8)),
        "h": rng.choice((4, 5, 8)),
    }
    arguments: list[str] = []
    values: list[Value] = []
    names: list[str] = []
    for number in range(rng.choice((1, 1, 1, 2, 2, 3))):
        leaves = [rng.choice(_INPUTS).format(**sizes) for _ in range(rng.choice((1, 1, 1, 1, 2, 3)))]
        if number == 0:
            leaves[0] = rng.choice(_INPUTS[:5]).format(**sizes)
        leaves = [
            f"{leaf}.to(torch.{program.dtype})" if "randn(" in leaf and program.dtype != "float32" else leaf
            for leaf in leaves
        ]
        text, ways = structured(rng, program.palette, leaves)
        name = program.palette.plain({*names, *program.names})
        names.append(name)
        arguments.append(text)
        program.names["_"] = given = eval(text, program.names)
        values += [Value(f"{name}{way}", eval(f"_{way}", program.names), exact=True) for way in ways]
        program.names[f"_{name}"] = given
    draft = Draft(program, 2)
    draft.inputs = names
    for name in names:
        draft.names[name] = program.names[f"_{name}"]
    draft.values = [*values]
    for _ in range(rng.choice((2, 4, 6, 8, 10))):
        step(draft)
    returned, _ = _returned(draft)
    keywords = rng.choice((0, 0, 1, len(names)))
    given = ", ".join(f"{text}," for text in arguments[: len(arguments) - keywords])
    named = ", ".join(
        f"{name!r}: {text}"
        for name, text in zip(names[len(names) - keywords :], arguments[len(names) - keywords :], strict=True)
    )
    cast = f".to(torch.{program.dtype})" if program.dtype != "float32" else ""
    text = draft.class_text("Root", returned)
    ending = f"def make():\n    torch.manual_seed(0)\n    return Root(){cast}.eval()\n\n\n"
    ending += f"def arguments():\n    torch.manual_seed(1)\n    return ({given.replace(',,', ',')}), {{{named}}}\n"
    return "\n\n".join([*_needed(program, text), ending])


def _needed(program: Program, root: str) -> list[str]:
    """Return the texts of the program with those classes that another one uses, and the root."""
    kept = [root]
    names = [kind.name for kind in program.classes]
    fixed = len(program.texts) - len(names)
    for name, text in reversed([*zip(names, program.texts[fixed:], strict=True)]):
        if any(f"{name}(" in other for other in kept):
            kept.insert(0, text)
    return [*program.texts[:fixed], *kept]


def _namespace() -> dict[str, Any]:
    """Return the names of a new module, in which dataclasses look for their types."""
    module = sys.modules[DRAWN] = ModuleType(DRAWN)
    return vars(module)


def executed(text: str, name: str) -> dict[str, Any]:
    """Return the names that a text defines; tracebacks show its lines."""
    names = _namespace()
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), names)
    return names
