"""The files of ``netcalc/data/schemes``: known keys, codecs that exist, recipes of schemes, and quick to read."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import pytest

import netcalc
from netcalc.schemes.files import entries, families
from netcalc.schemes.methods import method_names
from netcalc.schemes.scheme import is_scheme, scheme_named, scheme_names
from netcalc.spec.plain_yaml import plain_document
from netcalc.spec.yaml_document import parse_yaml

DATA = Path(netcalc.__file__).parent / "data"
FILES = sorted((DATA / "schemes").glob("*.yaml"))
#: Schemes whose codes need a search, which netcalc does not do, and those of which only the sizes are known.
WITHOUT_CODEC = re.compile(
    r"iq[123].*|tq[12]_0|q1_0|.*-gidx|.*-tensor-words(-zp)?"
    r"|(marlin24|aqlm|auto-round|bitnet|eetq|fpquant|gemma|higgs|hqq|mxfp6|onnx|quanto|sinq|spqr|torchao|vptq)\b.*"
)
KEYS = {
    "": "source fallback_source schemes blocks configuration checkpoint indices kinds classes",
    "schemes": (
        "about short source names settings casts dtype bits quantizes sizes remainders block flat sparse codec tensors"
    ),
    "blocks": "elements bytes holds fallback codec",
    "configuration": (
        "quant_method unnamed source dtype fields required without_effect nested variants targets plain modules"
        " by_module storage"
    ),
    "storage": "let that told_by settings schemes",
    "checkpoint": "layouts others mixed",
    "layouts": "when packed with sizes that gives flat padded shape decode",
    "companions": "axes types when unless",
}


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_a_file_is_read_without_a_parser_of_all_of_yaml(file: Path) -> None:
    assert plain_document(file.read_text(encoding="utf-8")) is not None


@pytest.mark.parametrize("name", families())
def test_keys_are_known(name: str) -> None:
    family = families()[name]
    configuration, checkpoint = family.get("configuration", {}), family.get("checkpoint", {})
    parts = [("", family), ("configuration", configuration), ("storage", configuration.get("storage", {}))]
    parts += [("checkpoint", checkpoint), *(("layouts", layout) for layout in checkpoint.get("layouts", ()))]
    companions = (each for layout in checkpoint.get("layouts", ()) for each in layout["with"].values())
    parts += [("companions", each) for each in companions if isinstance(each, dict)]
    parts += [(key, entry) for key in ("schemes", "blocks") for entry in family.get(key, {}).values()]
    for key, data in parts:
        assert set(data) <= set(KEYS[key].split()), key
    assert bool(configuration) == bool(checkpoint)


def test_names_are_declared_once() -> None:
    for key in ("schemes", "blocks", "indices", "kinds"):
        assert sum(len(family.get(key, ())) for family in families().values()) == len(entries(key))
    assert len(method_names()) == sum("configuration" in family for family in families().values())


@pytest.mark.parametrize("name", scheme_names())
def test_a_scheme_has_a_codec_with_these_arguments(name: str) -> None:
    codec = scheme_named(name).codec
    assert (codec is None) == bool(WITHOUT_CODEC.fullmatch(name))
    if codec is not None:
        module, _, class_name = codec.place.rpartition(".")
        made = getattr(import_module(f"netcalc.codecs.{module}"), class_name)(**codec.arguments)
        assert made.rows >= 0


def test_recipes_name_schemes() -> None:
    recipes = parse_yaml((DATA / "gguf_files.yaml").read_text(encoding="utf-8"), "gguf_files.yaml").data
    named = set(re.findall(r"'type': '([^']+)'", str([recipes["files"], recipes["always"]]))) | {recipes["plain_type"]}
    assert len(named) > 10
    assert [name for name in sorted(named) if not is_scheme(name)] == []
    assert [
        block["fallback"] for block in entries("blocks").values() if not is_scheme(block.get("fallback", "q4_0"))
    ] == []
