"""Mutants of ONNX files: loaded, counted, explained, and some of them run; only NetcalcError may come out.

Graphs are changed before they are written (cycles, missing tensors, other shapes, attributes and operators, data in
other places), and files afterwards (cut off, with other bits and bytes).
"""

from __future__ import annotations

import argparse
import tempfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.formats import load_model
from tests.exhaustive.numbered import Cases
from tests.formats.onnx.drafts import DRAFTS, Draft
from tests.fuzz.exercise import exercise, refused
from tests.fuzz.mutation import other_bytes

SAMPLE = 150
#: Most MACs of a mutant that is run, and the part of these that are.
_SMALL, _RUN = 1_000_000, 0.3
_OPERATORS = ("Conv", "MatMul", "Gemm", "Add", "Reshape", "Concat", "Gather", "Slice", "Loop", "LSTM", "Fancy", "")
_SIZES = (0, 1, 2, 3, 5, 8, 64, 255, -1, 1 << 20, 1 << 31, 1 << 40, (1 << 63) - 1)
_PLACES = ("../data.bin", "/etc/passwd", "", ".", "data.bin", "a/../../data.bin", "\0", "missing.bin", "n" * 300)
_TEXTS = ("", "x", "NOTSET", "SAME_UPPER", "reverse", "bij,bjk->bik", "\u202e", "1e999", "n" * 300)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    MUTANTS.add_options(parser, 10_000)


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Run the mutants."""
    return MUTANTS.run(options)


def sample(result: dict[str, Any]) -> dict[str, Any]:
    """Rerun the first mutants of the recorded seed."""
    return MUTANTS.sample(result["seed"], SAMPLE)


def _exercised(seed: int, number: int) -> str:
    rng = Random(f"{seed}/{number}")
    path = _written(_mutant(rng))
    outcome = exercise(lambda: load_model(path), rng)
    if outcome.startswith("ok") and rng.random() < _RUN:
        outcome = _executed(path) or outcome
    return outcome


def _executed(path: Path) -> str | None:
    """Audit and run a small network with the numbers of its file; return the codes of an error."""
    try:
        net = netcalc.load(path)
        net.audit()
        if net.macs <= _SMALL:
            net.run(weights=net.own_weights)
    except NetcalcError as error:
        return "run:" + refused(error).replace(" ", ",")
    return None


@cache
def _folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="onnx-mutants-"))
    (folder / "models").mkdir()
    (folder / "data.bin").write_bytes(bytes(4096))
    (folder / "models" / "data.bin").write_bytes(bytes(4096))
    return folder


def _written(content: bytes) -> Path:
    path = _folder() / "models" / "net.onnx"
    path.write_bytes(content)
    return path


def _mutant(rng: Random) -> bytes:
    draft = rng.choice(DRAFTS)()
    kind = rng.randrange(4)
    if kind:
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            rng.choice(_CHANGES)(draft, rng)
    content = draft.encoded()
    return content if kind > 1 else other_bytes(content, rng)


def _renamed_input(draft: Draft, rng: Random) -> None:
    """Let a node read another value: of a later node, of nothing, or of itself, which makes a cycle."""
    node = rng.choice(draft.nodes)
    names = [name for other in draft.nodes for name in (*other.inputs, *other.outputs)]
    if node.inputs:
        node.inputs[rng.randrange(len(node.inputs))] = rng.choice([*names, *node.outputs, "nowhere", ""])


def _renamed_output(draft: Draft, rng: Random) -> None:
    node = rng.choice(draft.nodes)
    names = [name for other in draft.nodes for name in (*other.inputs, *other.outputs)]
    node.outputs[rng.randrange(len(node.outputs))] = rng.choice([*names, "x", "other", ""])


def _moved_node(draft: Draft, rng: Random) -> None:
    node = draft.nodes.pop(rng.randrange(len(draft.nodes)))
    if rng.random() < 0.7 or not draft.nodes:
        draft.nodes.insert(rng.randrange(len(draft.nodes) + 1), node)


def _other_operator(draft: Draft, rng: Random) -> None:
    node = rng.choice(draft.nodes)
    node.op = rng.choice([*_OPERATORS, rng.choice(draft.nodes).op])


def _other_attribute(draft: Draft, rng: Random) -> None:
    node = rng.choice(draft.nodes)
    if not node.attributes:
        return
    name = rng.choice([*node.attributes])
    values: list[Any] = [
        *(rng.choice(_SIZES), 0.5, -1.0, rng.choice(_TEXTS), [], [rng.choice(_SIZES)], [1] * rng.randrange(9)),
        *other_values(draft, rng),
    ]
    if rng.random() < 0.2:
        del node.attributes[name]
    else:
        node.attributes[name] = rng.choice(values)


def other_values(draft: Draft, rng: Random) -> list[Any]:
    """Return values of attributes elsewhere in a draft."""
    return [value for node in draft.nodes for value in node.attributes.values()][: rng.randrange(4)]


def _missing_tensor(draft: Draft, rng: Random) -> None:
    if draft.tensors:
        del draft.tensors[rng.choice([*draft.tensors])]


def _other_shape(draft: Draft, rng: Random) -> None:
    """Let a tensor claim another shape than its data have."""
    if draft.tensors:
        name = rng.choice([*draft.tensors])
        sizes = list(draft.shapes.get(name, draft.tensors[name].shape))
        if sizes and rng.random() < 0.7:
            sizes[rng.randrange(len(sizes))] = rng.choice(_SIZES)
        else:
            sizes.insert(0, rng.choice(_SIZES))
        draft.shapes[name] = sizes


def _other_input(draft: Draft, rng: Random) -> None:
    name = rng.choice([*draft.inputs])
    sizes = draft.inputs[name]
    if sizes and rng.random() < 0.8:
        sizes[rng.randrange(len(sizes))] = rng.choice([*_SIZES, "batch", "n", "\u202e", "1", "a+b"])
    else:
        draft.inputs[name] = [*sizes, rng.choice(_SIZES)]


def _data_elsewhere(draft: Draft, rng: Random) -> None:
    """Let the data of a tensor be in another file, which may lie outside of the folder or be too short."""
    if draft.tensors:
        name = rng.choice([*draft.tensors])
        numbers = [str(rng.choice((0, 8, 4096, -1, 1 << 40, 1 << 70))), str(draft.tensors[name].nbytes), "x", ""]
        draft.external[name] = {"location": rng.choice(_PLACES)} | {
            key: rng.choice(numbers) for key in ("offset", "length") if rng.random() < 0.7
        }


def _other_version(draft: Draft, rng: Random) -> None:
    draft.opset = rng.choice((0, 1, 6, 7, 8, 9, 10, 11, 12, 13, 17, 21, 25, 99, -1, 1 << 62))


_CHANGES = (
    *(_renamed_input, _renamed_output, _moved_node, _other_operator, _other_attribute, _other_attribute),
    *(_missing_tensor, _other_shape, _other_input, _data_elsewhere, _other_version),
)


def _shown(seed: int, number: int) -> str:
    content = _mutant(Random(f"{seed}/{number}"))
    return f"# mutant {number} of seed {seed}, {len(content)} bytes\n{content.hex()}"


MUTANTS = Cases("onnx-mutants", "mutants", _exercised, _shown)
