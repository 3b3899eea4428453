"""Nested structures of inputs and results."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from tests.exhaustive.drawn_modules.names import Palette

__all__ = ["RECORDS", "structured"]

#: Classes that hold two tensors.
RECORDS = """
Pair = namedtuple("Pair", "first second")


@dataclass
class Record:
    sum: Any
    second: Any = None
"""


def structured(rng: Random, palette: Palette, leaves: Sequence[str], depth: int = 2) -> tuple[str, list[str]]:
    """Return the text of a structure with leaves, and what follows it in the expression for each leaf."""
    if len(leaves) == 1 and (depth == 0 or rng.random() < 0.6):
        return leaves[0], [""]
    kind = rng.choice(("tuple", "tuple", "tuple", "list", "dict", "dict", "pair", "record"))
    parts: list[Sequence[str]] = [[leaf] for leaf in leaves]
    if depth > 0 and len(leaves) > 1 and rng.random() < 0.4:
        cut = rng.randrange(1, len(leaves))
        parts = [leaves[:cut], leaves[cut:]]
    if kind in ("pair", "record") and len(parts) != 2:
        kind = "tuple"
    inner = [structured(rng, palette, part, depth - 1) if depth else (part[0], [""]) for part in parts]
    if kind == "dict":
        keys: list[str] = []
        for _ in parts:
            keys.append(palette.key(keys))
        text = "{" + ", ".join(f"{key!r}: {part}" for key, (part, _) in zip(keys, inner, strict=True)) + "}"
        ways = [f"[{key!r}]" for key in keys]
    elif kind in ("pair", "record"):
        text = f"{kind.title()}({', '.join(part for part, _ in inner)})"
        ways = [".first" if kind == "pair" else ".sum", ".second"]
    else:
        marks = "[]" if kind == "list" else "()"
        text = marks[0] + ", ".join(part for part, _ in inner) + ("," * (kind == "tuple")) + marks[1]
        ways = [f"[{number}]" for number in range(len(parts))]
    return text, [way + deeper for way, (_, paths) in zip(ways, inner, strict=True) for deeper in paths]
