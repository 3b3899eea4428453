"""Mutants of Keras models: loaded, counted, explained, and some of them run; only NetcalcError may come out.

Configurations are changed as trees (cycles, missing layers, other settings, shapes and classes) and as text, and
archives in their directories, sizes and bytes.  The models have nearly every layer that netcalc knows.
"""

from __future__ import annotations

import argparse
import copy
import gzip
import io
import json
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.formats import load_model
from tests.exhaustive.numbered import Cases
from tests.formats.keras import examples
from tests.fuzz.exercise import exercise, refused
from tests.fuzz.mutation import other_bytes

SAMPLE = 50
#: Most MACs of a mutant that is run, and the part of these that are.
_SMALL, _RUN = 1_000_000, 0.2
_SIZES = (0, 1, 2, 3, 5, 64, -1, -2, 1 << 20, 1 << 31, 1 << 63, 10**30, 0.5, 1e308, True)
_TEXTS = ("", "x", "same", "valid", "causal", "channels_first", "relu", "float16", "mixed_float16", "\u202e", "n" * 300)
_OTHERS: tuple[Any, ...] = (None, False, [], [None], {}, {"class_name": "Dense"}, [[[]]], {"class_name": "__tuple__"})
_CLASSES = ("Dense", "Conv2D", "Lambda", "Add", "LSTM", "InputLayer", "Functional", "Sequential", "TimeDistributed", "")
_MEMBERS = ("../config.json", "/etc/passwd", "config.json", "model.weights.h5", "C:/x", "", "\0", "a/" * 200)
#: Where the configurations of small models of Keras are, which ``tests/oracle/keras`` writes.
_MODELS = Path(examples.__file__).with_name("small_models.json.gz")


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
    name, content = _mutant(rng)
    path = _folder() / name
    path.write_bytes(content)
    outcome = exercise(lambda: load_model(path), rng)
    if outcome.startswith("ok") and rng.random() < _RUN:
        outcome = _executed(path) or outcome
    return outcome


def _executed(path: Path) -> str | None:
    """Run a small network, and audit the weights of its file; return the codes of an error."""
    try:
        net = netcalc.load(path)
        if net.macs <= _SMALL:
            net.run()
        if path.suffix == ".keras":
            net.audit(weights=net.own_weights)
    except NetcalcError as error:
        return "run:" + refused(error).replace(" ", ",")
    return None


@cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="keras-mutants-"))


@cache
def _models() -> list[str]:
    """Return the configurations that are changed, as text."""
    written: dict[str, Any] = json.loads(gzip.decompress(_MODELS.read_bytes()))
    del written["activations"]  # one layer 25 times, which takes as long as all others
    for model in written.values():  # most of their text, which has no effect
        for holder, key in _places(model):
            if str(key).endswith("_initializer"):
                holder[key] = None
    return [_text(config) for config in (*written.values(), examples.image_net())]


def _text(config: Any) -> str:
    return json.dumps(config, separators=(",", ":"))


def _mutant(rng: Random) -> tuple[str, bytes]:
    """Return the name of a file and its bytes."""
    text, kind = rng.choice(_models()), rng.randrange(6)
    if kind < 4:
        tree = json.loads(text)
        for _ in range(rng.choice((1, 1, 1, 2, 4))):
            rng.choice(_CHANGES)(tree, rng)
        text = _text(tree)
    if kind < 2:
        return "net.json", text.encode()
    if kind == 4:
        return "net.json", other_bytes(text.encode(), rng)
    archive = _archive(text, rng)
    return "net.keras", other_bytes(archive, rng) if kind == 5 else archive


def _archive(text: str, rng: Random) -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as archive:
        archive.writestr("metadata.json", "{}")
        archive.writestr("config.json", text)
        archive.writestr("model.weights.h5", rng.choice((b"", b"\x89HDF\r\n\x1a\n", rng.randbytes(300))))
        if rng.random() < 0.1:
            archive.writestr(zipfile.ZipInfo(rng.choice(_MEMBERS[:2] + _MEMBERS[4:])), b"x")
    return content.getvalue()


def _places(data: Any, *, lists: bool = False) -> list[tuple[Any, Any]]:
    """Return the containers of all values with the key or index of each; ``lists`` those in lists alone."""
    found: list[tuple[Any, Any]] = []
    waiting = [data]
    while waiting:
        holder = waiting.pop()
        items = [*holder.items()] if isinstance(holder, dict) else [*enumerate(holder)]
        found += [(holder, key) for key, _ in items if not lists or isinstance(holder, list)]
        waiting += [value for _, value in items if isinstance(value, (dict, list))]
    return found


def _keyed(tree: Any, key: str) -> list[Any]:
    return [holder for holder, name in _places(tree) if name == key]


def _other_value(tree: Any, rng: Random) -> None:
    holder, key = rng.choice(_places(tree))
    kind = holder[key]
    if isinstance(kind, (bool, int, float)) and rng.random() < 0.8:
        holder[key] = rng.choice(_SIZES)
    else:
        holder[key] = copy.deepcopy(rng.choice((*_OTHERS, rng.choice(_TEXTS), rng.choice(_SIZES))))


def _other_size(tree: Any, rng: Random) -> None:
    """Change a number, which is a setting, an axis or part of a shape."""
    places = [(holder, key) for holder, key in _places(tree) if type(holder[key]) in (int, float)]
    if places:
        holder, key = rng.choice(places)
        holder[key] = rng.choice(_SIZES)


def _missing_value(tree: Any, rng: Random) -> None:
    holder, key = rng.choice(_places(tree))
    del holder[key]


def _value_of_another(tree: Any, rng: Random) -> None:
    """Put a copy of one part of the tree in place of another one, often of the same key."""
    places = _places(tree)
    holder, key = rng.choice(places)
    same = [place for place in places if place[1] == key]
    source, name = rng.choice(same if rng.random() < 0.7 else places)
    holder[key] = copy.deepcopy(source[name])


def _repeated_item(tree: Any, rng: Random) -> None:
    places = _places(tree, lists=True)
    if places:
        holder, key = rng.choice(places)
        holder.insert(rng.randrange(len(holder) + 1), copy.deepcopy(holder[key]))


def _moved_item(tree: Any, rng: Random) -> None:
    places = _places(tree, lists=True)
    if places:
        holder, key = rng.choice(places)
        holder.insert(rng.randrange(len(holder)), holder.pop(key))


def _other_class(tree: Any, rng: Random) -> None:
    holders = _keyed(tree, "class_name")
    if holders:
        names = [holder["class_name"] for holder in holders]
        rng.choice(holders)["class_name"] = rng.choice((*_CLASSES, rng.choice(names), rng.choice(names)))


def _other_source(tree: Any, rng: Random) -> None:
    """Let a layer take the result of another one: of a later one or itself, which makes a cycle, or of none."""
    holders = _keyed(tree, "keras_history")
    names = [holder["name"] for holder in _keyed(tree, "name") if isinstance(holder["name"], str)]
    if holders and names:
        rng.choice(holders)["keras_history"] = [rng.choice((*names, "nowhere")), rng.choice((0, 0, 1, 5)), 0]


def _nested(tree: Any, rng: Random) -> None:
    """Put a value into lists or mappings, up to deeper than Python calls itself."""
    holder, key = rng.choice(_places(tree))
    for _ in range(rng.choice((1, 3, 30, 400))):
        holder[key] = [holder[key]] if rng.random() < 0.5 else {"config": holder[key], "class_name": "Sequential"}


def _unshaped(tree: Any, rng: Random) -> None:
    """Drop the recorded shapes, so that only those that follow from settings are left to disagree."""
    for holder in _keyed(tree, "shape"):
        holder["shape"] = None
    _other_size(tree, rng)


_CHANGES = (
    *(_other_value, _other_value, _other_size, _other_size, _missing_value, _value_of_another, _value_of_another),
    *(_repeated_item, _moved_item, _other_class, _other_source, _nested, _unshaped, _unshaped),
)


def _shown(seed: int, number: int) -> str:
    name, content = _mutant(Random(f"{seed}/{number}"))
    shown = content.decode(errors="backslashreplace") if name.endswith(".json") else content.hex()
    return f"# mutant {number} of seed {seed}, {name}, {len(content)} bytes\n{shown}"


MUTANTS = Cases("keras-mutants", "mutants", _exercised, _shown)
