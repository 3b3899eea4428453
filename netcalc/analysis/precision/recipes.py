"""Types of the files of llama.cpp: mixtures in which each tensor has a type by its place in the model.

The recipes are data, in ``data/gguf_files.yaml``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from netcalc.analysis.counting import require_visits
from netcalc.analysis.precision.places import Kinds
from netcalc.analysis.walk import instances
from netcalc.dims import equal
from netcalc.expressions import parse
from netcalc.ir import Program, join
from netcalc.ir.storage import Site
from netcalc.schemes.scheme import scheme_named

_FILE = Path(__file__).parent.parent.parent / "data" / "gguf_files.yaml"
_NUMBER = re.compile(r"\.([0-9]+)(?:\.|$)")
_STACKED = 3  # axes of the weights of several experts
_MIXED_EXPERTS = 1  # with more, the number of a tensor is the number of its layer


def is_file(name: str) -> bool:
    """Return True if a name stands for a type of file."""
    return name in _data()["files"] or name in _data()["aliases"]


def file_names() -> list[str]:
    """Return the names of the types of files."""
    return list(_data()["files"])


class Recipe:
    """The types of the tensors of a program in a file of one type."""

    def __init__(self, program: Program, kinds: Kinds, name: str) -> None:
        """Take the tensors of the program; ``name`` is the type of file."""
        data = _data()
        self._file: Mapping[str, Any] = data["files"][data["aliases"].get(name, name)]
        self._kinds = kinds
        self._places, self._counts, self._model = _tensors_of(program, kinds)

    @property
    def by_layer(self) -> bool:
        """True if types depend on the numbers of layers."""
        return any(_tell_numbers_apart(value) for value in self._file.values() if isinstance(value, list))

    def numbers_count(self, tensor: str) -> bool:
        """Return True if the types of a tensor depend on the numbers of layers."""
        return _tell_numbers_apart(self._file.get(_data()["like"].get(tensor, tensor), ()))

    @property
    def plain(self) -> str:
        """The element type of what is not quantized."""
        type_name: str = _data()["plain_type"]
        return type_name

    def type_of(self, site: Site) -> str | None:
        """Return the type of a parameter before its shape is considered; None if it is not quantized."""
        data = _data()
        tensor, number = self._places.get(site.owner, ("plain", 0))
        if tensor == "plain":
            return None
        chosen: str = self._file["type"]
        listed = data["like"].get(tensor, tensor)
        own, always = self._file.get(listed, ()), data["always"].get(listed, ())
        if not own and not always:
            return chosen
        count = self._counts.get(listed, 1)
        if (
            self._model["experts"] > _MIXED_EXPERTS
            and listed.startswith("ffn")
            and (match := _NUMBER.search(site.owner))
        ):
            number, count = int(match[1]), self._model["layers"]
        scope = {**self._model, "i": number, "n": count, "type": chosen}
        scope["unquantized"] = self._file.get("unquantized", False)
        scope["codebook"] = self._file.get("codebook", False)
        scope["stacked"] = len(site.param.shape) == _STACKED
        used = frozenset(name for rule in (*own, *always) for name in parse(rule.get("when", "0")).names())
        if "fills_blocks" in used:
            scope["fills_blocks"] = equal(site.param.shape[-1] % _columns(chosen), 0)
        for name in used & data["names"].keys():
            scope[name] = parse(data["names"][name]).evaluate(scope)
        chosen = next((rule["type"] for rule in own if _rule_holds(rule, scope)), chosen)
        for rule in always:
            if _rule_holds(rule, {**scope, "type": chosen}):
                chosen = rule["type"]
        return chosen


class _OfProgram(NamedTuple):
    """Tensors of a program, whatever the type of file: tensor and number by path, counts, and what conditions say."""

    places: Mapping[str, tuple[str, int]]
    counts: Mapping[str, int]
    model: Mapping[str, Any]


@lru_cache(maxsize=1)
def _tensors_of(program: Program, kinds: Kinds) -> _OfProgram:
    """Return the tensors of a program, in order; those of the last program are at hand for further types of files."""
    data, model = _data(), _model(program)
    places: dict[str, tuple[str, int]] = {}
    counts: dict[str, int] = {}
    require_visits(program)
    for instance in instances(program, with_parameters=True):
        for param in instance.node.params:
            path = join(instance.path, param.name)
            if param.is_buffer or instance.owners[param.name] != path:
                continue
            kind = kinds.kind(instance.node, param)
            if kind == "expert":
                model["experts"] = param.shape[0]
            tensor = "plain" if kind == "vector" or kind in data["plain_kinds"] else tensor_of(path)
            counted = data["like"].get(tensor, tensor)
            places[path] = tensor, counts.get(counted, 0)
            counts[counted] = counts.get(counted, 0) + 1
    if "output" not in counts:
        places = {p: ("output", 0) if t == "token_embd" else (t, i) for p, (t, i) in places.items()}
    return _OfProgram(places, counts, model)


def tensor_of(path: str) -> str:
    """Return the tensor of ggml that a parameter becomes; ``other`` if no pattern matches its path."""
    return next((tensor for tensor, pattern in _tensors() if pattern.match(path)), "other")


def tensors_of(program: Program, kinds: Kinds) -> Mapping[str, str]:
    """Return the tensors of ggml that the parameters of a program become, by path."""
    return {path: tensor for path, (tensor, _) in _tensors_of(program, kinds).places.items()}


def _tell_numbers_apart(rules: Iterable[Mapping[str, str]]) -> bool:
    return any(re.search(r"\b[in]\b|\bmore\b", rule.get("when", "")) for rule in rules)


def _rule_holds(rule: Mapping[str, str], scope: Mapping[str, Any]) -> bool:
    return "when" not in rule or bool(parse(rule["when"]).evaluate(scope))


def _columns(scheme: str) -> int:
    """Return the elements of a block of a type."""
    block = scheme_named(scheme).block
    return block[1].evaluate({}) if block else 1


def _model(program: Program) -> dict[str, Any]:
    """Return what conditions may say of a model; a var that it lacks is 1."""
    values = {name: _positive_or_one(program.vars.get(name)) for name in ("layers", "heads", "kv_heads")}
    gqa = values["heads"] // values["kv_heads"] if program.vars.get("kv_heads") else 1
    return {"layers": values["layers"], "gqa": gqa, "experts": 1, "falcon": program.name.startswith("falcon")}


def _positive_or_one(value: Any) -> int:
    return value if isinstance(value, int) and value > 0 else 1


@cache
def _tensors() -> tuple[tuple[str, re.Pattern[str]], ...]:
    entries: Iterable[tuple[str, list[str]]] = _data()["tensors"].items()
    return tuple((tensor, re.compile("|".join(map(translate, patterns)))) for tensor, patterns in entries)


@cache
def _data() -> Mapping[str, Any]:
    from netcalc.spec.yaml_document import parse_yaml

    data: Mapping[str, Any] = parse_yaml(_FILE.read_text(encoding="utf-8"), _FILE.name).data
    return data
