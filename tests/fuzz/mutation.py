"""Random changes of shipped specs, as text and as trees, and of the bytes of files, all drawn from one generator."""

from __future__ import annotations

import copy
import json
import math
import random
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

from ruamel.yaml import YAML

from netcalc.spec.shipped import shipped

__all__ = ["as_text", "draw_name", "folder_of", "mutated_text", "mutated_tree", "other_bytes"]

#: Words, whitespace and single other characters.
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
WORDS = (
    *(
        "",
        "0",
        "-1",
        "1",
        "2.5",
        "1e9",
        "null",
        "true",
        ".nan",
        ".inf",
        "[]",
        "{}",
        "''",
        "~",
        "!!int",
        "*a",
        "&a",
        "é",
    ),
    *("\t", "\n", "${", "}", "[", "]", "{", "index", "in", "x", "_", "name", "from", "repeat", "share", "tie", "when"),
    *("as", "freeze", "inline", "collect", "take", "each", "times", "start", "linear", "conv2d", "relu", "add"),
    *("sequence", "layers", "inputs", "outputs", "blocks", "extends", "import", "vars", "dims", "patch", "require"),
)
NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 3, 7, 64, 65, 255, 1000, 10**5, 10**9, 2**31, 2**63, 2**64, 10**30, 10**400, -(10**30)),
    *(0.0, -0.0, 0.5, 1.5, 1e9, 1e308, 5e-324, float("inf"), float("-inf"), float("nan"), True, False, None),
)
TEXTS = (
    *("", " ", "0", "-1", "a", "_", ".", "*", "x.y", "../x", "é\u202e", "\x1b[31m", "\x00", "\ud800", "n" * 300),
    *("${", "${}", "${1", "${1/0}", "${9**9**9}", "${in}", "${in.shape}", "${_.features}", "${index}", "${nothing}"),
    *("${'a' * 10 ** 9}", "${range(10 ** 9)}", "${[0] * 9999}", "${value('x')}", "$", "null", "int", "list[int]?"),
    *("same", "float16", "int64", "bool", "linear", "relu", "sequence", "basic_block", "__class__", "1e999"),
)
#: Operators and names by which parts of an expression are replaced.
EXPRESSION_PARTS = (
    *("+", "-", "*", "//", "/", "%", "**", "==", "<", "and", "or", "not", "if", "else", "in", "(", ")", "[", "]", ","),
    *("0", "1", "-1", "2.5", "10**9", "in", "_", "index", "range", "min", "sum", "len", "str", "value", "'a'", "[1]"),
)


#: Most mutants have few changes, so that they are read further than to the first error.
_NUMBER_OF_CHANGES = (1, 1, 1, 1, 2, 2, 3, 4)


#: Keys whose values describe the network, and are rarely changed: an error there ends a mutant early.
_DESCRIPTION = ("netcalc", "name", "about", "source", "family", "aliases", "published")


@cache
def _texts() -> dict[str, str]:
    """Texts of the shipped specs that are small; each takes some milliseconds to load."""
    return {name: path.read_text(encoding="utf-8") for name, path in shipped().items() if path.stat().st_size < 3000}


@cache
def _small() -> tuple[str, ...]:
    return tuple(sorted(_texts()))


@cache
def _tokens(name: str) -> list[str]:
    return TOKEN.findall(_texts()[name])


@cache
def _tree(name: str) -> Any:
    return YAML(typ="safe", pure=True).load(_texts()[name])


def folder_of(name: str) -> str:
    """Return the folder of a shipped spec, to which what it extends is relative."""
    return str(shipped()[name].parent)


def draw_name(rng: random.Random) -> str:
    """Return the name of a small shipped spec."""
    return rng.choice(_small())


def mutated_text(name: str, rng: random.Random) -> str:
    """Return the text of a shipped spec after one to four changes of its words."""
    found = list(_tokens(name))
    for _ in range(rng.choice(_NUMBER_OF_CHANGES)):
        place, other = rng.randrange(len(found)), rng.randrange(len(found))
        match rng.randrange(6):
            case 0:
                del found[place : place + rng.randint(1, 5)]
            case 1:
                found[place:place] = found[place : place + rng.randint(1, 30)]
            case 2:
                found[place] = rng.choice(WORDS)
            case 3:
                found[place], found[other] = found[other], found[place]
            case 4:
                source = _tokens(draw_name(rng))
                start = rng.randrange(len(source))
                found[place:place] = source[start : start + rng.randint(1, 40)]
            case 5:
                found[place] = str(rng.choice(NUMBERS[:17]))
        if not found:
            break
    return "".join(found)


def mutated_tree(name: str, rng: random.Random) -> Any:
    """Return a shipped spec as data, after one to four changes of its tree."""
    tree = copy.deepcopy(_tree(name))
    for _ in range(rng.choice(_NUMBER_OF_CHANGES)):
        places = list(_places(tree))
        if isinstance(tree, dict) and rng.random() < 0.9:
            places = [place for key, value in tree.items() if key not in _DESCRIPTION for place in _places(value)]
        if not places:
            break
        container, key = rng.choice(places)
        rng.choice(_CHANGES)(container, key, rng)
    return tree


def as_text(tree: Any) -> str:
    """Return data as a YAML document in flow style, which is that of JSON."""
    return json.dumps(tree, ensure_ascii=False)


def _places(tree: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every container below a node with each of its keys or indices."""
    keys: Any = tree if isinstance(tree, dict) else range(len(tree)) if isinstance(tree, list) else ()
    for key in keys:
        yield tree, key
        yield from _places(tree[key])


def _delete(container: Any, key: Any, rng: random.Random) -> None:
    del container[key]


def _duplicate(container: Any, key: Any, rng: random.Random) -> None:
    value = copy.deepcopy(container[key])
    if isinstance(container, list):
        container.insert(key, value)
    else:
        container[f"{key}_{rng.randint(0, 3)}"] = value


def _swap(container: Any, key: Any, rng: random.Random) -> None:
    other = rng.choice(list(container) if isinstance(container, dict) else range(len(container)))
    container[key], container[other] = container[other], container[key]


def _number(container: Any, key: Any, rng: random.Random) -> None:
    container[key] = rng.choice(NUMBERS)


def _text(container: Any, key: Any, rng: random.Random) -> None:
    container[key] = rng.choice(TEXTS)


def _scale(container: Any, key: Any, rng: random.Random) -> None:
    value = container[key]
    if isinstance(value, int) and not isinstance(value, bool):
        container[key] = rng.choice((value + 1, value - 1, value * 2, -value, value // 2, value * 1000, _float(value)))
    else:
        _number(container, key, rng)


def _float(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _retype(container: Any, key: Any, rng: random.Random) -> None:
    value = container[key]
    container[key] = rng.choice(
        ([value], {"a": value}, {str(value)[:20]: {}}, str(value), [value, value], [], {}, None)
    )


def _rename(container: Any, key: Any, rng: random.Random) -> None:
    if isinstance(container, list):
        return _retype(container, key, rng)
    items = list(container.items())
    container.clear()
    new = rng.choice((*WORDS, *TEXTS, *(other for other, _ in items)))
    container.update((new if name == key else name, value) for name, value in items)
    return None


def _splice(container: Any, key: Any, rng: random.Random) -> None:
    """Replace a value by one that stands under the same key in some spec, or by another line."""
    alike = _values_by_key().get(key if isinstance(key, str) else _ITEM, ())
    if alike:
        container[key] = copy.deepcopy(rng.choice(alike))
    else:
        source, place = rng.choice(list(_places(_tree(draw_name(rng)))))
        container[key] = copy.deepcopy(source[place])


def _insert(container: Any, key: Any, rng: random.Random) -> None:
    """Insert an item or a key with its value from some spec beside the place."""
    known = _values_by_key()
    if isinstance(container, list):
        container.insert(key, copy.deepcopy(rng.choice(known[_ITEM])))
    else:
        other = rng.choice(sorted(known.keys() - {_ITEM}))
        container[other] = copy.deepcopy(rng.choice(known[other]))


#: Key of the items of lists among the values by key.
_ITEM = "[]"


@cache
def _values_by_key() -> dict[str, list[Any]]:
    """Return the values in all small specs by the key under which they stand; those of lists if they are lines."""
    found: dict[str, list[Any]] = {}
    for name in _small():
        for container, key in _places(_tree(name)):
            value = container[key]
            if isinstance(key, str):
                found.setdefault(key, []).append(value)
            elif isinstance(value, dict):
                found.setdefault(_ITEM, []).append(value)
    return found


def _break_expression(container: Any, key: Any, rng: random.Random) -> None:
    value = container[key]
    if not isinstance(value, str):
        return _text(container, key, rng)
    tokens = TOKEN.findall(value) or [""]
    place = rng.randrange(len(tokens))
    tokens[place] = rng.choice(EXPRESSION_PARTS)
    container[key] = "".join(tokens) if "${" in value or rng.random() < 0.5 else "${" + "".join(tokens) + "}"
    return None


def _modify_line(container: Any, key: Any, rng: random.Random) -> None:
    """Give a mapping a modifier of lines."""
    value = container[key]
    target = value if isinstance(value, dict) else container if isinstance(container, dict) else None
    if target is not None:
        modifier, values = rng.choice(_MODIFIERS)
        target[modifier] = copy.deepcopy(rng.choice(values))


_MODIFIERS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("repeat", (0, 1, 2, 3, 1000, 10**7, "in.features", {"times": 2, "start": 5}, {"each": [1, 2], "as": "i"})),
    ("repeat", ({"times": 2, "collect": {"out": "list"}}, {"times": 2, "take": {"in": "x"}}, {"each": "range(3)"})),
    ("share", (True, False, "index < 1")),
    ("inline", (True,)),
    ("when", (True, False, "in.features > 8", "index == 0", "1 // 0")),
    ("freeze", (True, "index < 2")),
    ("name", ("a", "a.b", "x", "n_", "${index}", "0")),
    ("from", ("x", "_", ["x", "x"], [], {"in": "x"}, "a.0", "in")),
    ("as", ("a", ["a", "b"], [])),
    ("tie", ("a", {"weight": "a.weight"}, "/a")),
    ("module", ("a", "a.b", "/a", "0", 1)),
)
_CHANGES: tuple[Callable[[Any, Any, random.Random], None], ...] = (
    *(_delete, _duplicate, _swap, _number, _text, _scale, _scale, _scale, _retype, _rename, _splice, _splice, _insert),
    *(_break_expression, _break_expression, _modify_line, _modify_line),
)


def other_bytes(content: bytes, rng: random.Random) -> bytes:
    """Return a file cut off, without some bytes, with some twice, or with other bits or bytes."""
    changed = bytearray(content)
    kind = rng.randrange(5)
    if kind == 0:
        return content[: rng.randrange(len(content))]
    if kind == 1:
        start = rng.randrange(len(changed))
        del changed[start : start + rng.choice((1, 2, 7, 64))]
        return bytes(changed)
    if kind == 2:
        start = rng.randrange(len(changed))
        return content[:start] + content[start : start + rng.choice((1, 9, 80))] * 2 + content[start:]
    for _ in range(rng.choice((1, 1, 2, 8, 32))):
        place = rng.randrange(len(changed))
        changed[place] = changed[place] ^ 1 << rng.randrange(8) if kind == 3 else rng.choice((0, 1, 127, 128, 255))
    return bytes(changed)
