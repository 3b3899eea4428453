"""Names in letters of any script, and characters that only look right."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import netcalc
from netcalc.characters import is_name
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.spec.library import load_text
from netcalc.spec.mentions import mentioned_inputs
from tests.conftest import CommandResult

#: A spec with every kind of name; words in capitals are translated.
TEMPLATE = """
netcalc: 1
name: NETWORK
dims: {BATCH: 2, LENGTH: {default: 6, min: 2}}
vars: {WIDTH: 8, CLASSES: 5, WIDTHS: [8, 16], GATED: true}
require: [{that: WIDTH % 4 == 0, message: the width should be a multiple of 4}]
inputs:
  INPUT: [BATCH, LENGTH, "${WIDTH}"]
  PAST.*.KEY: {repeat: 2, shape: [BATCH, "${WIDTH * 2}"]}
blocks:
  BLOCK:
    args: {CHANNELS: int, SLOPE: 0.0}
    inputs: [VALUE, MASK?]
    layers:
      - {name: LAYER, from: VALUE, linear: "${CHANNELS}"}
      - {when: SLOPE == 0, relu: {}}
      - {when: MASK != null, from: [relu, MASK], add: {}}
layers:
  - {name: FIRST, linear: "${WIDTH * 2}", from: INPUT}
  - {name: STAGE, repeat: {each: "${WIDTHS}", as: ITEM, index: NUMBER}, BLOCK: {CHANNELS: "${ITEM + NUMBER}"}}
  - {name: LAST, when: GATED and WIDTH > 4, linear: "${CLASSES if WIDTH == 8 else 1}"}
  - {name: SUM, from: [PAST.0.KEY, PAST.1.KEY], add: {}}
outputs: {SCORES: LAST, TOTAL: SUM}
loss:
  inputs: {LABEL: {shape: [BATCH, LENGTH], dtype: int64, range: [0, "${CLASSES}"]}}
  layers:
    - {from: SCORES, transpose: [1, 2]}
    - {from: [transpose, LABEL], cross_entropy: {}}
"""
WORDS = {
    "latin": {},
    "chinese": {
        "NETWORK": "网络",
        "BATCH": "批量",
        "LENGTH": "长度",
        "WIDTHS": "各宽度",
        "WIDTH": "宽度",
        "CLASSES": "类别数",
        "GATED": "门控",
        "INPUT": "输入",
        "PAST": "过去",
        "KEY": "键",
        "BLOCK": "残差块",
        "CHANNELS": "通道",
        "SLOPE": "斜率",
        "VALUE": "值",
        "MASK": "掩码",
        "LAYER": "层",
        "FIRST": "第一层",
        "STAGE": "阶段",
        "ITEM": "项",
        "NUMBER": "序号",
        "LAST": "末层",
        "SUM": "和",
        "SCORES": "得分",
        "TOTAL": "总和",
        "LABEL": "标签",
    },
    "many": {
        "WIDTHS": "ширины",
        "WIDTH": "चौड़ाई",
        "LENGTH": "ความยาว_ทำ",
        "INPUT": "مدخل",
        "BLOCK": "블록",
        "CHANNELS": "チャネル",
        "CLASSES": "τάξεις",
        "LAST": "שכבה",
        "STAGE": "étage",
        "LABEL": "ẹ̀kọ́",
    },
}


def spec_in(language: str) -> str:
    """Return the spec with the names of a language; of those with one beginning the longer is replaced first."""
    text = TEMPLATE
    for word, name in sorted(WORDS[language].items(), key=lambda pair: -len(pair[0])):
        text = text.replace(word, name)
    return text


def problem(text: str) -> Diagnostic:
    """Return the first diagnostic of a spec."""
    with pytest.raises(NetcalcError) as caught:
        netcalc.loads(text)
    return caught.value.diagnostics[0]


@pytest.mark.parametrize("language", ["chinese", "many"])
def test_names_of_any_script_do_what_latin_ones_do(language: str) -> None:
    own, latin = (netcalc.loads(spec_in(name), set={}) for name in (language, "latin"))
    assert own.summary().totals == latin.summary().totals
    name = WORDS[language].get
    assert [row.path.split(".")[0] for row in own.summary().layers] == [
        name(row.path.split(".")[0], row.path.split(".")[0]) for row in latin.summary().layers
    ]
    width = name("WIDTH", "WIDTH")
    assert netcalc.loads(spec_in(language), set={width: 4}).summary().totals.params == (
        netcalc.loads(TEMPLATE, set={"WIDTH": 4}).summary().totals.params
    )
    length = name("LENGTH", "LENGTH")
    symbolic = netcalc.loads(spec_in(language), symbolic=[length]).summary().totals.macs
    latin_macs = netcalc.loads(TEMPLATE, symbolic=["LENGTH"]).summary().totals.macs
    assert str(symbolic) == str(latin_macs).replace("LENGTH", length)
    x = np.arange(96, dtype=np.float32).reshape(2, 6, 8)
    scores = [
        next(iter(network.run({x_name: x}, init="*=constant(value=0.1)").outputs.values()))
        for network, x_name in ((own, name("INPUT", "INPUT")), (latin, "INPUT"))
    ]
    assert np.array_equal(scores[0], scores[1])


def test_commands_take_and_print_names(
    netcalc: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("网络.yaml").write_text(spec_in("chinese"), encoding="utf-8")
    result = netcalc("shapes", "网络.yaml", "--symbolic", "批量", "--set", "宽度=16")
    assert result.code == 0 and "批量×6×16" in result.out
    assert (
        max(sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in line) for line in result.out.split("\n")) <= 80
    )
    explained = netcalc("explain", "网络.yaml", "阶段.1.层")
    assert explained.code == 0 and "16·8" not in explained.out and "17·8 = 136" in explained.out
    assert netcalc("run", "网络.yaml", "--backward", "--loss", "loss", "-o", "张量.npz").code == 0
    assert "第一层.weight" in np.load("张量.npz").files
    assert '"阶段' in netcalc("summary", "网络.yaml", "--format", "json").out
    assert netcalc("verify", "网络.yaml").code == 0


@pytest.mark.parametrize("language", ["chinese", "many"])
def test_names_in_expressions_are_seen(language: str) -> None:
    """A var, a dim or an input that a line mentions is no unused name, and an unmet requirement shows its value."""
    name = WORDS[language].get
    assert load_text(spec_in(language)).warnings == ()
    assert [str(warning) for warning in netcalc.loads(spec_in(language)).warnings] == []
    with pytest.raises(NetcalcError) as caught:
        netcalc.loads(spec_in(language), set={name("WIDTH", "WIDTH"): 6})
    lines = [{"from": "नाम", "relu": {}}, {"from": ["过去.0.键", "x"], "add": {}}]
    assert mentioned_inputs(["输入", "नाम", "过去.*.键"], lines) == {"नाम", "过去.*.键"}
    width = name("WIDTH", "WIDTH")
    assert f"{width} % 4 == 0 does not hold for {width} = 6 (--set)" in caught.value.diagnostics[0].message


def test_one_form_of_composed_letters() -> None:
    text = 'netcalc: 1\nvars: {"largeur_é": 4}\ninputs: {x: [1, "${largeur_é}"]}\nlayers: [linear: 2]\n'
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    assert forms[0] != forms[1]
    for form in forms:
        for name in ("largeur_é", unicodedata.normalize("NFD", "largeur_é")):
            assert netcalc.loads(form, set={name: 6}).summary().totals.params == 14


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("宽\u200b度", "leave out U+200B (zero width space)"),
        ("a\u202eb", "leave out U+202E (right-to-left override)"),
        ("x\ufe0f", "leave out U+FE0F (variation selector-16)"),
        ("\u3164", "leave out U+3164 (hangul filler)"),
        ("ｗidth", "write 'w' in place of 'ｗ' (U+FF57, fullwidth latin small letter w)"),
        ("d²", "write '2' in place of '²' (U+00B2, superscript two)"),
        ("𝒲", "write 'W' in place of '𝒲' (U+1D4B2, mathematical script capital w)"),
        ("宽，度", "leave out '，' (U+FF0C, fullwidth comma)"),
        ("😀", "leave out '😀' (U+1F600, grinning face)"),
    ],
)
@pytest.mark.parametrize("place", ["vars", "inputs", "blocks", "layer"])
def test_other_characters_are_refused(name: str, hint: str, place: str) -> None:
    data: dict[str, Any] = {"netcalc": 1, "inputs": {"x": [1, 2]}, "layers": [{"linear": 2}]}
    if place == "layer":
        data["layers"][0]["name"] = name
    else:
        data[place] = data.get(place, {}) | {name: {"layers": []} if place == "blocks" else [1, 2]}
    with pytest.raises(NetcalcError) as caught:
        netcalc.load_data(data)
    found = caught.value.diagnostics[0]
    assert found.code == "E104"
    assert found.hint == hint


def test_a_letter_that_looks_like_another_is_named() -> None:
    text = 'netcalc: 1\nvars: {channels: 2}\ninputs: {x: [1, 2]}\nlayers: [linear: "${сhannels}"]\n'
    assert problem(text).hint == "did you mean 'channels'? 'с' is U+0441, cyrillic small letter es"


def test_the_schema_admits_names_of_any_script() -> None:
    properties = json.loads((Path(netcalc.__file__).parent / "data/schemas/spec.json").read_text())["properties"]
    for kind in ("dims", "vars", "inputs", "outputs", "blocks"):
        entry = properties[kind]
        (pattern,) = next(part for part in (entry, *entry.get("anyOf", ())) if "patternProperties" in part)[
            "patternProperties"
        ]
        names = [*WORDS["chinese"].values(), *WORDS["many"].values(), "width"]
        assert all(re.search(pattern, name) for name in names)
        assert not any(re.search(pattern, name) for name in ("2x", "a b", "a-b", "", "¼"))


@given(st.text(st.characters(categories=["L", "M", "Nd"]), min_size=1, max_size=4))
def test_what_a_name_is_the_language_takes_in_every_place(text: str) -> None:
    if text.isascii() or not is_name(text):  # names of ASCII letters may be words of the language
        return
    spec = {"netcalc": 1, "vars": {text: 3}, "inputs": {"x": [1, 2]}, "layers": [{"linear": f"${{2 * {text}}}"}]}
    assert netcalc.load_data(spec).summary().totals.params == 18


@pytest.mark.parametrize(
    ("text", "line", "column", "ascii"),
    [
        ("netcalc: 1\nname： a\ninputs:\n  x: [1, 2]\nlayers: [relu]\n", 2, 5, ":"),
        ("netcalc: 1\ninputs： {x: [1, 2]}\nlayers: [relu]\n", 2, 7, ":"),
        ("netcalc: 1\ninputs: {x: [1，2]}\nlayers: [relu]\n", 2, 15, ","),
        ("netcalc: 1\ninputs: {x: [1, 2]}\nlayers:\n  - {name: 层， linear: 2}\n", 4, 13, ","),
        ("netcalc: 1\ninputs: {x: [1, 2]}\nlayers:\n  - linear： 2\n", 4, 11, ":"),
        ("netcalc: 1\ninputs: {x: [1, 2]}\nlayers:\n  - linear:\n      out：2\n", 5, 10, ":"),
        ('netcalc: 1\ninputs: {x: [1, 2]}\nlayers:\n  - linear: "${2 *（1 + 1）}"\n', 4, 19, "("),
        ('netcalc: 1\nvars: {宽度: 2}\ninputs: {x: [1, 2]}\nlayers:\n  - linear: "${宽度 － 1}"\n', 5, 19, "-"),
        ("netcalc: 1\ninputs: {x: ［1, 2］}\nlayers: [relu]\n", 2, 13, "["),
        ("netcalc: 1\ninputs: {x: [1, 2]}\nlayers:\n\u3000- relu\n", 4, 1, " "),
    ],
)
def test_full_width_punctuation_has_a_hint_at_its_place(text: str, line: int, column: int, ascii: str) -> None:
    found = problem(text)
    assert found.span is not None and found.hint is not None
    assert found.hint.startswith(f"write {ascii!r} of ASCII in place of {text.split(chr(10))[line - 1][column - 1]!r}")
    assert found.span.line == line
    assert f"in column {column}" in found.hint or found.span.column == column


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (("summary", "mlp", "--set", "batch＝2"), "write '=' of ASCII in place of '＝' (U+FF1D)"),
        (("summary", "mlp", "--set", "batch=２"), "write '2' of ASCII in place of '２' (U+FF12)"),
        (("run", "mlp", "--input", "x＝[1, 2]"), "write '=' of ASCII in place of '＝' (U+FF1D)"),
        (("run", "tutorial-layer-norm", "--input", "x=[1，2]"), "write ',' of ASCII in place of '，' (U+FF0C)"),
    ],
)
def test_full_width_punctuation_in_arguments_has_a_hint(
    arguments: tuple[str, ...], hint: str, netcalc: Callable[..., CommandResult]
) -> None:
    result = netcalc(*arguments)
    assert result.code == 2 and f"hint: {hint}" in result.err


def test_full_width_punctuation_in_texts_is_as_good_as_any() -> None:
    text = "netcalc: 1\nname: 网络：一\nabout: 卷积，步幅（2）\ninputs: {x: [1, 2]}\nlayers: [linear: 2]  # 线性：是\n"
    assert netcalc.loads(text).summary().totals.params == 6
    found = problem(text.replace("[1, 2]", "[1, 2"))
    assert found.code == "E001" and "ASCII" not in str(found.hint)


@pytest.mark.parametrize(
    ("encoding", "command"),
    [
        ("gbk", "iconv -f GB18030 -t UTF-8 net.yaml > net-utf8.yaml"),
        ("utf-16", "iconv -f UTF-16 -t UTF-8 net.yaml > net-utf8.yaml"),
        ("shift-jis", "iconv -f ENCODING -t UTF-8 net.yaml > net-utf8.yaml"),
    ],
)
def test_a_file_in_another_encoding_says_how_to_convert_it(
    encoding: str, command: str, netcalc: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    about = "小さなネットワークの例" if encoding == "shift-jis" else "一个小网络，两个卷积层，步幅为二"
    text = f"netcalc: 1\nabout: {about}\ninputs: {{x: [1, 2]}}\nlayers: [linear: 2]\n"
    Path("net.yaml").write_text(text, encoding=encoding)
    result = netcalc("summary", "net.yaml")
    assert result.code == 2 and "E004" in result.err
    assert command in result.err.replace("\n    ", " ")
    Path("net.yaml").write_text(Path("net.yaml").read_text(encoding=encoding), encoding="utf-8")
    assert netcalc("summary", "net.yaml").code == 0


def test_a_file_of_a_device_says_how_to_convert_it(
    netcalc: Callable[..., CommandResult], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("gpu.yaml").write_text("# 我的显卡，二十四吉字节显存\n", encoding="gbk")
    result = netcalc("fit", "mlp", "--device", "./gpu.yaml")
    assert result.code == 2 and "iconv -f GB18030 -t UTF-8 ./gpu.yaml" in result.err.replace("\n    ", " ")


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("explain", ["LAYER"]),
        ("shapes", ["--filter", "LAYER"]),
        ("run", ["--trace", "LAYER"]),
        ("run", ["--init", "LAYER*=zeros"]),
        ("params", ["--quantize", "LAYER*=int8"]),
        ("params", ["--lora", "LAYER=2"]),
    ],
)
def test_arguments_name_layers_in_another_normal_form(
    command: str, options: list[str], tmp_path: Path, netcalc: Callable[..., CommandResult]
) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("netcalc: 1\ninputs: {x: [2, 3]}\nlayers: [{name: é, linear: 4}]\n", encoding="utf-8")
    composed, parts = (
        netcalc(command, str(spec), *(word.replace("LAYER", unicodedata.normalize(form, "é")) for word in options))
        for form in ("NFC", "NFD")
    )
    assert parts.code == composed.code == 0, parts.err
    assert parts.out == composed.out
