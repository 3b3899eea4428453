"""A grammar of whole specs, over any source of choices: a random generator, bytes of a fuzzer, or Hypothesis.

Most documents are valid.  They use every part of the language: dims, vars, requirements, blocks with arguments,
sequences, branches, repeats with ``each``, ``collect`` and ``take``, conditions, shared weights, patches, inlining.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Protocol, TypeVar

__all__ = ["ByteSource", "RandomSource", "Source", "document"]

T = TypeVar("T")


class Source(Protocol):
    """A source of choices."""

    def integer(self, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, both included."""


class RandomSource:
    """Choices of a random generator."""

    def __init__(self, rng: Random) -> None:
        self.integer = rng.randint


class ByteSource:
    """Choices read from bytes, each from the next two; the first option where there are no more."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def integer(self, low: int, high: int) -> int:
        """Return a whole number from ``low`` to ``high``, both included."""
        taken = self._data[self._at : self._at + 2]
        self._at += 2
        return low + int.from_bytes(taken, "little") % (high - low + 1)


class _Grammar:
    """Choices, the names in scope, and the blocks that can be called."""

    def __init__(self, source: Source) -> None:
        self.integer = source.integer
        self.blocks: dict[str, list[str]] = {}  # arguments by block
        self.lines = 0
        self.names: list[str] = []  # of values at hand
        self.tied: list[str] = []  # of linear layers whose weights can be tied

    def choose(self, options: Sequence[T]) -> T:
        return options[self.integer(0, len(options) - 1)]

    def often(self, of: int) -> bool:
        """Return False once in ``of`` times."""
        return self.integer(1, of) < of

    def seldom(self, of: int) -> bool:
        """Return True once in ``of`` times."""
        return self.integer(1, of) == of


def document(source: Source) -> dict[str, Any]:
    """Return a spec as data."""
    g = _Grammar(source)
    if g.seldom(12):
        return _extension(g)
    spec: dict[str, Any] = {"netcalc": 1, "name": "generated"}
    spec["dims"] = {"batch": g.choose((2, 1, {"default": 4, "min": 0}, {"default": 4, "multiple_of": 2}))}
    spec["dims"]["length"] = g.choose((4, 6, {"default": 8, "max": 64}, {"default": 3, "about": "positions"}))
    spec["vars"] = {"width": g.choose((8, 4, {"default": 8, "min": 1}, {"default": 16, "choices": [8, 16]}))}
    spec["vars"] |= {"depth": g.choose((2, 3, 0, "${1 + 1}")), "flag": g.choose((True, False))}
    spec["vars"]["widths"] = g.choose(([8, 4], [8, 8, 8], [2, 4], "${[width, width]}"))
    if g.seldom(4):
        that = g.choose(
            ("width % 2 == 0", "length > 2", "depth >= 0 and width > 1", "width > 4", "width > 1", "flag or width > 2")
        )
        spec["require"] = [{"that": that, "message": "not met"}]
    last = g.choose((8, "${width}", "width"))
    spec["inputs"] = {"x": g.choose((["batch", "length", last], ["batch", last], {"shape": ["batch", "length", 8]}))}
    if g.seldom(3):
        spec["inputs"]["y"] = {"shape": ["batch", "length", 8], **g.choose(({}, {"default": 0}, {"when": "flag"}))}
    spec["blocks"] = {name: _block(g, name) for name in ("alpha", "beta", "gamma")[: g.integer(0, 3)]}
    g.names, g.tied = list(spec["inputs"]), []
    spec["layers"] = _lines(g, 0, g.integer(1, 6))
    if g.seldom(4):
        spec["outputs"] = g.choose(([g.choose(g.names)], {"out": g.choose(g.names)}, [g.names[-1], g.names[0]]))
    for key, values in _EXTRAS.items():
        if g.seldom(8):
            spec[key] = g.choose(values)
    return spec


_EXTRAS: dict[str, Sequence[Any]] = {
    "init": ({"*.weight": "normal(std=0.02)"}, {"*": "zeros"}),
    "checkpoint": (
        {"prefix": "model"},
        {"n1.*": {"optional": True}},
        {"n*.weight": {"from": "stored.*", "transpose": True}},
    ),
    "dtype": ("float32", "bfloat16"),
    "published": ([{"figure": "params", "value": "1 k", "where": "Table 1"}],),
}


def _extension(g: _Grammar) -> dict[str, Any]:
    parent = g.choose(("mlp", "seed_cnn", "rnn", "lstm"))
    paths = ("hidden", "hidden.0", "hidden.*", "output", "hidden.0.0", "conv1", "fc", "*", "rnn", "embed")
    patches: list[Any] = []
    for _ in range(g.integer(0, 3)):
        path = g.choose(paths)
        patches.append(
            g.choose(
                (
                    {"at": path, "replace": "identity"},
                    {"at": path, "replace": {"linear": g.choose((8, 10, 256))}},
                    {"at": path, "set": {"out": g.choose((8, "${classes}", "${2 * in.features}"))}},
                    {"remove": path},
                    {"after": path, "insert": [_simple(g), {"relu": {}}]},
                    {"before": path, "insert": [{"dropout": 0.1}]},
                    {"at": path, "set": {"freeze": True}},
                )
            )
        )
    spec: dict[str, Any] = {"netcalc": 1, "name": "extended", "extends": parent}
    if patches:
        spec["patch"] = patches
    if g.seldom(3):
        spec["vars"] = g.choose(({"classes": 3}, {"classes": 4}, {"hidden": [8]}, {"nothing": 1}))
    return spec


def _block(g: _Grammar, name: str) -> dict[str, Any]:
    arguments = {"size": g.choose(("int", 8, {"type": "int", "default": 8, "min": 1}, {"default": "${in.features}"}))}
    if g.seldom(3):
        arguments["activation"] = g.choose(("op", {"type": "op", "default": "relu"}))
    block: dict[str, Any] = {"args": arguments}
    if g.seldom(4):
        block["inputs"] = [
            "in",
            *g.choose(((), ("other?",), ("more",), ("more = in",), ("other? = in", "more = other"))),
        ]
    if g.seldom(5):
        block["require"] = [{"that": g.choose(("size > 0", "in.features == size", "size % 2 == 0")), "message": "size"}]
    g.names, g.tied = [text.split("?")[0].split(" ")[0] for text in block.get("inputs", ["in"])], []
    block["layers"] = _lines(g, 1, g.integer(1, 3), inside=list(arguments))
    if g.seldom(4):
        block["outputs"] = [g.choose(g.names) for _ in range(g.integer(1, 2))]
    g.blocks[name] = list(arguments)
    return block


def _lines(g: _Grammar, depth: int, count: int, inside: Sequence[str] = ()) -> list[Any]:
    """Return lines; their names can be used among them only, unless they are those of the spec or of a block."""
    names, tied = list(g.names), list(g.tied)
    lines = [_line(g, depth, inside) for _ in range(count)]
    if depth > (1 if inside else 0):
        g.names, g.tied = names, tied
    return lines


def _line(g: _Grammar, depth: int, inside: Sequence[str]) -> Any:
    g.lines += 1
    number = g.lines
    kinds: list[Callable[..., dict[str, Any]]] = [_simple, _simple, _simple, _joined, _tied, _several]
    if depth < 3:
        kinds += [_sequence, _branches, _repeated, _repeated, _collected]
    if g.blocks and depth < 3:
        kinds += [_call, _call]
    kind = g.choose(kinds)
    line = kind(g, depth, inside) if kind in (_sequence, _branches, _repeated, _collected) else kind(g)
    if kind is _simple and g.seldom(4):
        return next(iter(line)) if line in ({"relu": {}}, {"layer_norm": {}}, {"identity": {}}) else line
    if g.seldom(6):
        line["when"] = g.choose(("flag", "not flag", "in.features > 4", "depth > 1", True, "in.rank == 3"))
    if g.seldom(10):
        line["freeze"] = True
    if "name" not in line and "inline" not in line and g.often(3):
        line["name"] = f"n{number}"
    if isinstance(name := line.get("name"), str) and "${" not in name:
        g.names.append(name)
        if "linear" in line and "repeat" not in line and "tie" not in line:
            g.tied.append(name)
    return line


def _width(g: _Grammar) -> Any:
    return g.choose((8, 8, "${width}", "${in.features}", "${_.features}", "${2 * width // 2}", "${widths[0]}", 3))


def _simple(g: _Grammar) -> dict[str, Any]:
    return g.choose(
        (
            {"linear": _width(g)},
            {"linear": {"out": _width(g), "bias": g.choose((True, False))}},
            {"relu": {}},
            {"layer_norm": {}},
            {"identity": {}},
            {"gelu": {"approximate": g.choose(("none", "tanh"))}},
            {"dropout": g.choose((0.1, 0.0, "${0.5 if flag else 0}"))},
            {"mul": {"value": g.choose((2, 0.5, "${1 / width}"))}},
            {"flatten": {"start_axis": g.choose((1, -2))}},
            {"transpose": {"axes": [-1, -2]}},
            {"max": {"axis": g.choose((-1, 1)), "keepdim": True}},
            {"slice": {"axis": 1, "start": 0, "stop": g.choose((2, -1, "${depth}"))}},
            {"lstm": {"hidden": _width(g), "layers": g.choose((1, 2))}},
            {"conv1d": {"out": _width(g), "kernel": g.choose((1, 3)), "padding": g.choose((0, 1, "same"))}},
            {"batch_norm": {}},
            {"softmax": {}},
            {"pad": {"padding": [[0, g.choose((1, 0, 2))]]}},
            {"parameter": {"shape": [g.choose((8, "${width}"))]}},
            {"reshape": [g.choose(("${_.batch}", -1)), g.choose((8, "${width}"))]},
        )
    )


def _joined(g: _Grammar) -> dict[str, Any]:
    operands = [g.choose((*g.names, "_")) for _ in range(2)]
    return {"from": operands, **g.choose(({"add": {}}, {"concat": {"axis": -1}}, {"mul": {}}, {"stack": {"axis": 0}}))}


def _tied(g: _Grammar) -> dict[str, Any]:
    if not g.tied:
        return {"linear": _width(g)}
    other = g.choose(g.tied)
    return {"tie": g.choose((other, {"weight": f"{other}.weight"})), "linear": _width(g)}


def _several(g: _Grammar) -> dict[str, Any]:
    names = [f"p{g.lines}", f"q{g.lines}"]
    line: dict[str, Any] = {"chunk": {"chunks": 2, "axis": -1}, "as": names}
    g.names += names
    return line


def _sequence(g: _Grammar, depth: int, inside: Sequence[str]) -> dict[str, Any]:
    return {"sequence": _lines(g, depth + 1, g.integer(0, 3), inside)}


def _branches(g: _Grammar, depth: int, inside: Sequence[str]) -> dict[str, Any]:
    left, right = (_lines(g, depth + 1, g.integer(0, 2), inside) for _ in range(2))
    return g.choose(({"add": {"left": left, "right": right}}, {"concat": {"axis": -1, "left": left, "right": right}}))


def _repeated(g: _Grammar, depth: int, inside: Sequence[str]) -> dict[str, Any]:
    times = g.choose((2, 3, "${depth}", "depth", 1, 0, 1000, {"times": 2, "start": 1}, {"times": 2, "index": "i"}))
    each = g.seldom(3)
    repeat = {"each": g.choose(([8, 8], "widths", [1, 2, 3])), "as": "item"} if each else times
    body = g.choose(
        (
            {
                "linear": g.choose(
                    (8, "${in.features}", "${_.features}", "${8 if _.rank == 2 else 4}", "${item}" if each else 8)
                )
            },
            {"sequence": _lines(g, depth + 1, g.integer(1, 2), inside)},
            _simple(g),
            _call(g) if g.blocks else {"relu": {}},
        )
    )
    line = {**body, "repeat": repeat}
    if g.seldom(5):
        line["share"] = g.choose((True, "flag"))
    if g.seldom(8):
        line["name"] = g.choose((f"r{g.lines}_", "stage${index}", f"r{g.lines}"))
    return line


def _collected(g: _Grammar, depth: int, inside: Sequence[str]) -> dict[str, Any]:
    name = f"c{g.lines}"
    outer = list(g.names)
    lines = [{"name": "kept", "linear": 8}, *_lines(g, depth + 1, g.integer(0, 1), inside)]
    repeat: dict[str, Any] = {"times": 2, "collect": {"kept": g.choose(("list", {"stack": 0}))}}
    if g.seldom(2):
        value = g.choose(outer)
        repeat["take"] = {"other": g.choose(([value, value], [value, value], value))}
        lines.append({"from": ["_", "other"], "add": {}})
    g.names += [f"{name}.kept", f"{name}.kept.1"]
    return {"name": name, "repeat": repeat, "sequence": lines}


def _call(g: _Grammar) -> dict[str, Any]:
    name = g.choose(list(g.blocks))
    arguments: dict[str, Any] = {}
    for argument in g.blocks[name]:
        if g.often(4):
            arguments[argument] = g.choose(("relu", {"gelu": {}})) if argument == "activation" else _width(g)
    line: dict[str, Any] = {name: arguments}
    if g.seldom(5):
        line["inline"] = True
    return line
