"""Hovers, completions, definitions, references, renaming and the tree of a text."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.language import Document, Part, Position, applied
from netcalc.spec.shipped import specs_dir
from tests.language.marked import marked

SPEC = """\
netcalc: 1
dims: {batch: 1}
vars:
  width: {default: 8, min: 1, about: channels of the stem}
inputs: {image: [batch, 3, 32, 32]}
blocks:
  pair:
    about: a convolution and what follows it
    args: {w: int, act: {type: op, default: relu}}
    layers:
      - {name: a, conv2d: {out: "${w}", kernel: 3}}
      - "${act}"
layers:
  - {name: stem, conv2d: {out: "${width}", kernel: 3}}
  - name: body
    repeat: 2
    pair: {w: "${width * 2}"}
  - {name: both, from: [body, body.1.a], concat: {axis: 1}}
  - name: head
    sequence:
      - flatten
      - {name: fc, linear: "${10 if stem.channels == width else 20}"}
  - {when: width > 4, tie: head.fc, from: head.0, linear: 10}
outputs: [head.fc]
"""


def _at(target: str, number: int = 0, text: str = SPEC) -> tuple[Document, Position]:
    """The document, and the first place in the n-th occurrence of a text."""
    start = -1
    for _ in range(number + 1):
        start = text.index(target, start + 1)
    return marked(f"{text[: start + 1]}|{text[start + 1 :]}")


@pytest.mark.parametrize(
    ("target", "number", "parts"),
    [
        ("conv2d", 1, ["**stem**: conv2d", "1×3×32×32 → 1×8×30×30", "weight: 8·3·3·3 = 216", "⌊(32 + 2·0 − 3)/1⌋ + 1"]),
        ("conv2d", 0, ["**body.0.a**: conv2d", "1×8×30×30 → 1×16×28×28"]),
        ("kernel", 0, ["`kernel`: int ≥ 1 or 2 of int ≥ 1; required"]),
        ("width", 1, ["var **width** = `8`", "channels of the stem"]),
        ("batch", 1, ["dim **batch** = `1`"]),
        ("body, ", 0, ["**body**: 1×16×26×26 float32"]),
        ('pair: {w: "', 0, ["**body**", "body.0: 1,168", "sum: 3,488"]),  # 8·16·9 + 16 and 16·16·9 + 16
        ("w}", 0, ["argument of `pair`", "`w`: int; required"]),
        ("repeat", 0, ["**repeat** — number of iterations"]),
        ("outputs", 0, ["**outputs**"]),
    ],
)
def test_hover(target: str, number: int, parts: list[str]) -> None:
    document, position = _at(target, number)
    found = document.hover(position)
    assert found is not None
    assert [part for part in parts if part not in found.markdown] == []


def test_hover_of_a_line_without_a_result_is_the_page_of_its_operation() -> None:
    document, position = marked("netcalc: 1\nlayers:\n  - {con|v2d: {out: 3}}\n  - {basic|")
    found = document.hover(position)
    assert found is not None and "**conv2d** — Convolution over height and width" in found.markdown


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("  - |", ["conv2d", "basic_block", "pair", "sequence"]),
        ("  - {name: x, |", ["from", "when", "conv2d", "pair"]),
        ("  - {name: x, co|}", ["conv2d"]),
        ("  - conv2d: {out: 3, |", ["kernel", "stride"]),
        ("  - conv2d:\n      |", ["out", "kernel"]),
        ("  - conv2d:\n      out: 3\n      ke|", ["kernel"]),
        ("  - pair: {|", ["w", "act"]),
        ("  - pair: {act: |", ["relu", "gelu"]),
        ("  - gelu: {approximate: |}", ["tanh", "none"]),
        ("  - relu: {inplace: |", []),
        ("  - {from: [stem, |], add: {}}", ["_", "image", "stem", "body"]),
        ("  - {from: |", ["stem", "head"]),
        ('  - linear: "${wi|', ["width", "batch", "stem", "in", "max"]),
        ('  - linear: "${stem.|}"', ["stem.channels", "stem.shape"]),
        ("  - {when: |, relu: {}}", ["width", "batch"]),
        ("  - {repeat: {|}, relu: {}}", ["times", "each", "collect"]),
        ("  - add:\n      one:\n        - |", ["relu"]),
        ("loss:\n  layers:\n    - |", ["mean"]),
        ("exte|", ["extends"]),
        ("published:\n  - {|", ["figure", "value"]),
        ("# a |", []),
    ],
)
def test_completion(text: str, expected: list[str]) -> None:
    document, position = marked(f"{SPEC.partition('outputs')[0]}{text}")
    labels = [item.label for item in document.complete(position)]
    assert [label for label in expected if label not in labels] == []
    assert expected or labels == []


@pytest.mark.parametrize(
    ("text", "expected", "absent"),
    [
        ("extends: |", ["resnet18", "llama-3-8b"], []),
        ("extends: resnet18\nvars: {|}", ["classes"], ["height"]),
        ("extends: resnet18\ndims:\n  |", ["height"], ["classes"]),
        ("inputs: {x: {shape: [1], dtype: |}}", ["int64"], []),
        ("import: [blocks/|]", ["blocks/basic_block"], []),
    ],
)
def test_completion_of_sections(text: str, expected: list[str], absent: list[str]) -> None:
    document, position = marked(f"netcalc: 1\n{text}\n")
    labels = [item.label for item in document.complete(position)]
    assert [label for label in expected if label not in labels] == []
    assert [label for label in absent if label in labels] == []


def test_completed_attributes_of_an_operation_have_places() -> None:
    document, position = marked("netcalc: 1\nlayers:\n  - con|")
    conv = next(item for item in document.complete(position) if item.label == "conv2d")
    assert (conv.edit.text, conv.snippet) == ("conv2d: {out: , kernel: }", "conv2d: {out: $1, kernel: $2}")
    assert "kernel" in document.describe("conv2d")
    assert applied(document.text, [conv.edit]).endswith("  - conv2d: {out: , kernel: }")


def test_names_of_one_block_are_not_offered_in_another() -> None:
    text = SPEC.replace('"${w}"', '"${|"')
    document, position = marked(text.replace("blocks:\n", "blocks:\n  other: {args: {other_arg: 1}, layers: [relu]}\n"))
    labels = {item.label for item in document.complete(position)}
    assert {"w", "act", "width"} <= labels
    assert not {"stem", "other_arg"} & labels


def _texts(document: Document, position: Position) -> list[tuple[int, str]]:
    lines = document.text.split("\n")
    return [
        (at.range.start.line, lines[at.range.start.line][at.range.start.character : at.range.end.character])
        for at in document.references(position)
    ]


def test_references() -> None:
    width = [(3, "width"), (13, "width"), (16, "width"), (21, "width"), (22, "width")]
    assert _texts(*_at("width", 2)) == width
    assert _texts(*_at("stem", 1)) == [(13, "stem"), (21, "stem")]
    assert _texts(*_at("pair", 1)) == [(6, "pair"), (16, "pair")]
    assert _texts(*_at("fc", 1)) == [(21, "fc"), (22, "fc"), (23, "fc")]
    assert _texts(*_at("a, conv2d", 0)) == [(10, "a"), (17, "a")]  # of `body.1.a`
    assert _texts(*_at("head.0")) == [(18, "head"), (22, "head"), (22, "head"), (23, "head")]


def test_definition_of_a_name() -> None:
    document, position = _at("pair", 1)
    (place,) = document.definitions(position)
    assert (place.path, place.range.start) == (None, Position(6, 2))


def test_definitions_in_other_files() -> None:
    document, position = marked("netcalc: 1\nextends: resnet|18\nlayers: [{basic_block: {channels: 4}}]\n")
    (place,) = document.definitions(position)
    assert Path(place.path or "").name == "resnet18.yaml"
    document, position = marked("netcalc: 1\ninputs: {x: [1, 4, 8, 8]}\nlayers:\n  - basic_|block: {channels: 4}\n")
    (place,) = document.definitions(position)
    assert Path(place.path or "").name == "basic_block.yaml"
    document, position = marked('netcalc: 1\nextends: resnet18\nlayers:\n  - linear: "${class|es}"\n')
    (place,) = document.definitions(position)
    line = Path(place.path or "").read_text(encoding="utf-8").split("\n")[place.range.start.line]
    assert line[place.range.start.character : place.range.end.character] == "classes"


@pytest.mark.parametrize(
    ("target", "number", "name", "count"), [("width", 1, "channels", 5), ("body", 0, "trunk", 3), ("fc", 0, "out", 3)]
)
def test_renaming_leaves_the_network_as_it_is(target: str, number: int, name: str, count: int) -> None:
    document, position = _at(target, number)
    edits = document.rename(position, name)
    assert len(edits) == count
    before = document.analyze().totals
    document.edit(edits)
    after = document.analyze().totals
    assert before is not None and after is not None
    assert (after.params, after.macs) == (before.params, before.macs)
    assert document.analyze().problems == ()


def test_renaming_is_refused() -> None:
    document, position = _at("width", 1)
    for name in ("batch", "stem", "a b", "2"):
        with pytest.raises(NetcalcError):
            document.rename(position, name)
    document, position = _at("conv2d")
    with pytest.raises(NetcalcError):
        document.rename(position, "x")


def test_tree() -> None:
    def shown(parts: tuple[Part, ...]) -> list[object]:
        return [[part.name, *shown(part.children)] if part.children else part.name for part in parts]

    document = Document(SPEC)
    assert shown(document.symbols()) == [
        ["dims", "batch"],
        ["vars", "width"],
        ["inputs", "image"],
        ["blocks", ["pair", "a", "${act}"]],
        ["layers", "stem", "body", "both", ["head", "flatten", "fc"], "linear"],
    ]
    layers = document.symbols()[-1]
    assert layers.children[0].detail == "conv2d → 1×8×30×30 · 224"
    for part in layers.children:
        assert part.range.start <= part.selection.start <= part.selection.end <= part.range.end


def test_a_linear_map_of_an_image_is_remarked_with_the_line_that_is_missing() -> None:
    text = "netcalc: 1\ninputs: {image: [1, 3, 8, 8]}\nlayers:\n  - conv2d: {out: 4, kernel: 3}\n  - linear: 2\n"
    document = Document(text)
    (problem,) = document.analyze().problems
    assert problem.severity == "information"
    document.edit(problem.fixes[0].edits)
    assert document.text.endswith("  - flatten\n  - linear: 2\n")
    assert document.analyze().problems == ()


MESSY = """\
netcalc: 1
# head


vars:
    a:   1 # one
    # about b
    b:  {default: 2,min:  1 }
inputs: { x: [1,8] }
about: >
   long   text
     more
layers:
-  {name:  fc , linear: "${ a+1 }" } # x
-   name: b
    # inner
    linear:
         out: 4
- add:
    one: []
    two:
    - relu
    -  {linear:
         4}
"""
NEAT = """\
netcalc: 1
# head

vars:
  a: 1 # one
  # about b
  b: {default: 2, min: 1}
inputs: {x: [1, 8]}
about: >
   long   text
     more
layers:
  - {name: fc, linear: "${ a+1 }"} # x
  - name: b
    # inner
    linear:
      out: 4
  - add:
      one: []
      two:
        - relu
        - {linear:
             4}
"""


def test_formatting_keeps_comments_and_data() -> None:
    (edit,) = Document(MESSY).format()
    assert edit.text == NEAT
    assert Document(NEAT).format() == ()
    assert Document("netcalc: 1\nlayers: [").format() == ()


def test_shipped_specs_have_the_usual_form() -> None:
    for path in sorted(specs_dir().glob("resnet/*.yaml")):
        assert Document(path.read_text(encoding="utf-8")).format() == ()
