"""Outputs that are absent where ``when`` omits their lines."""

from __future__ import annotations

import pytest

from netcalc.analysis.walk import parameters
from netcalc.engine.run import forward
from tests.spec.harness import problems, program, shapes

PAIR = """
vars: {both: true, inlined: false}
inputs: {x: [2, 8]}
blocks:
  pair:
    args: {both: bool}
    outputs: [first, second?, third]
    layers:
      - {name: first, linear: 4}
      - {when: both, name: second, from: first, linear: 3}
      - {name: third, from: first, linear: 5}
layers:
  - {from: x, inline: "${inlined}", pair: {both: "${both}"}, as: [a, b, c]}
"""
USES = PAIR + "  - {from: b, tanh: {}}\n"


@pytest.mark.parametrize("inlined", [False, True])
def test_outputs_of_a_block(inlined: bool) -> None:
    spec = PAIR + "outputs: {one: a, two: b?, three: c}\n"
    shown = {
        both: {name: array.shape for name, array in forward(program(spec, both=both, inlined=inlined)).outputs.items()}
        for both in (True, False)
    }
    assert shown[True] == {"one": (2, 4), "two": (2, 3), "three": (2, 5)}
    assert shown[False] == {"one": (2, 4), "three": (2, 5)}


def test_an_absent_output_cannot_be_used() -> None:
    assert shapes(program(USES))["tanh"] == "2×3"
    (found,) = problems(USES, both=False)
    assert found.code == "E303" and found.hint is not None and "absent" in found.hint
    assert found.span is not None and found.span.line == 15
    (found,) = problems(PAIR + "outputs: [a, b]\n", both=False)
    assert (found.code, found.message, found.hint) == ("E303", "the output 'b' is absent", "write `b?` if it may be")
    (found,) = problems(PAIR + "outputs: [b?]\n", both=False)
    assert (found.code, found.message) == ("E303", "outputs: all of them are absent")


def test_an_absent_output_goes_to_an_optional_input() -> None:
    called = PAIR.replace("layers:\n  - {from: x", LAST + "layers:\n  - {from: x") + "  - {from: [a, b], last: {}}\n"
    for both in (True, False):
        assert shapes(program(called, both=both))["last.fc"] == ("2×3" if both else "2×4")


LAST = """
  last:
    inputs: [x, other?]
    layers:
      - {when: other != null, from: other, name: fc, linear: "${other.features}"}
      - {when: other == null, from: x, name: fc, linear: "${x.features}"}
"""


def test_an_output_of_a_spec_that_when_omits() -> None:
    lines = "[{when: wide, name: w, linear: 9}, {name: n, linear: 3}]"
    spec = f"inputs: {{x: [2, 8]}}\nvars: {{wide: false}}\nlayers: {lines}\n"
    assert list(program(spec + "outputs: [n, w?]\n").output_names) == ["n"]
    assert list(program(spec + "outputs: [n, w?]\n", wide=True).output_names) == ["n", "w"]


def test_the_first_output_is_present() -> None:
    (found,) = problems(PAIR.replace("[first, second?, third]", "[second?, first, third]"))
    assert found.code == "E104" and "first output" in found.message


@pytest.mark.parametrize("kinds", [["a", "b", "a", "b"], ["b", "a", "b", "b"], ["b", "b"]])
def test_an_absent_output_before_another_is_carried_as_absent(kinds: list[str]) -> None:
    spec = f"""
inputs: {{x: [2, 8]}}
vars: {{kinds: {{type: "list[str]", default: {kinds}}}}}
blocks:
  step:
    args: {{kind: str, width: int}}
    inputs: [x, a?, b?]
    outputs: [y, a?, b?]
    layers:
      - {{when: kind == 'a', name: a, from: x, linear: "${{width}}"}}
      - {{when: kind == 'b', name: b, from: x, linear: "${{width}}"}}
      - {{name: y, from: x, relu: {{}}}}
      - {{when: a != null, name: of_a, from: a, linear: 1}}
      - {{when: b != null, name: of_b, from: b, linear: 1}}
layers:
  - name: steps
    from: {{x: x}}
    repeat: "${{len(kinds)}}"
    step: {{kind: "${{kinds[index]}}", width: "${{10 + index}}"}}
"""
    found = {instance.path: instance.param.shape for instance in parameters(program(spec))}
    for step in range(len(kinds)):
        for kind in "ab":
            last = next((i for i in range(step, -1, -1) if kinds[i] == kind), None)
            expected = None if last is None else (1, 10 + last)
            assert found.get(f"steps.{step}.of_{kind}.weight") == expected


def test_a_repeat_carries_the_outputs_that_are_present() -> None:
    spec = """
inputs: {x: [2, 8]}
vars: {both: false}
blocks:
  step:
    args: {both: bool}
    outputs: [y, extra?]
    layers:
      - {name: y, linear: 8}
      - {when: both, name: extra, linear: 3}
layers: [{name: steps, repeat: {times: 3, collect: %s}, step: {both: "${both}"}, as: [last, extras]}]
outputs: [last, extras?]
"""
    assert len(program(spec % "{extra: list}", both=True).output_names) == 4
    (found,) = problems(spec % "{extra: list}", both=False)
    assert (found.code, "no output 'extra'" in found.message) == ("E303", True)
    plain = (
        spec.replace("{times: 3, collect: %s}", "3")
        .replace(", as: [last, extras]", ", as: last")
        .replace(", extras?", "")
    )
    for times in (0, 3):
        assert list(program(plain.replace("repeat: 3", f"repeat: {times}")).output_names) == ["last"]
