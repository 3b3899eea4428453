"""Places of errors in operations that are passed as arguments, vars or settings."""

from __future__ import annotations

import pytest

from netcalc.diagnostics import NetcalcError
from netcalc.spec import elaborate
from netcalc.spec.library import load_text

TEXT = """\
netcalc: 1
inputs: {x: [1, 8]}
vars: {act: {type: op, default: relu}}
blocks:
  layer:
    args: {norm: {type: op, default: layer_norm}, activation: {type: op, default: relu}}
    layers:
      - {name: norm, "${norm}": {eps: 1.0e-6}}
      - {name: act, "${activation}": {}}
  outer:
    args: {norm: op}
    layers:
      - {name: inner, layer: {norm: "${norm}"}}
layers:
  - LINE
"""


def place_and_code(text: str, **settings: object) -> tuple[str, str]:
    """Return the code of the only error and the text under its carets, or the option it is about."""
    with pytest.raises(NetcalcError) as caught:
        elaborate(load_text(text), settings)
    (problem,) = caught.value.diagnostics
    assert problem.span is not None
    span = problem.span
    return problem.code, span.text[span.column - 1 : span.end - 1] if span.line else span.file


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("layer: {norm: {layer_nrm: {}}}", ("E102", "layer_nrm")),
        ("layer: {norm: layer_nrm}", ("E102", "layer_nrm")),
        ("layer: {norm: {layer_norm: {epss: 3}}}", ("E103", "epss")),
        ("layer: {activation: {gelu: {aproximate: tanh}}}", ("E103", "aproximate")),
        ("layer: {activation: {gelu: {approximate: [tanh]}}}", ("E104", "[tanh]")),
        ("outer: {norm: {layer_norm: {epss: 3}}}", ("E103", "epss")),
        ("outer: {norm: {layer_norm: {bias: 3}}}", ("E104", "3")),
    ],
)
def test_an_error_points_at_the_argument(line: str, expected: tuple[str, str]) -> None:
    assert place_and_code(TEXT.replace("LINE", line)) == expected


def test_an_error_points_at_the_line_of_the_block_for_its_own_part() -> None:
    text = TEXT.replace("eps: 1.0e-6", "epss: 1.0e-6").replace("LINE", "layer: {norm: {layer_norm: {bias: true}}}")
    assert place_and_code(text) == ("E103", "epss")


def test_an_error_points_at_the_var() -> None:
    text = TEXT.replace("LINE", 'layer: {activation: "${act}"}')
    wrong = text.replace("default: relu}}\nblocks", "default: {gelu: {aproximate: tanh}}}}\nblocks")
    assert place_and_code(wrong) == ("E103", "aproximate")


@pytest.mark.parametrize(
    ("value", "code"),
    [("sillu", "E102"), ({"gelu": {"aproximate": "tanh"}}, "E103"), ({"gelu": {"approximate": 3}}, "E104")],
)
def test_an_error_points_at_the_option(value: object, code: str) -> None:
    text = TEXT.replace("LINE", 'layer: {activation: "${act}"}')
    assert place_and_code(text, act=value) == (code, "--set act")


def test_equal_operations_share_a_body() -> None:
    lines = (
        "{name: a, layer: {norm: layer_norm}}\n  - {name: b, layer: {}}\n  - {name: c, layer: {norm: {layer_norm: {}}}}"
    )
    bodies = {id(node.body) for node in elaborate(load_text(TEXT.replace("LINE", lines))).main.nodes}  # type: ignore[union-attr]
    assert len(bodies) == 1
