"""Lists of inputs, their caches, and numbered outputs."""

from __future__ import annotations

import pytest

from netcalc.ir.caches import Cache
from tests.spec.harness import problems, program, request

#: A decoder in which every other layer has a window, and only layers with attention have a cache.
DECODER = """
dims: {past: {default: 0, min: 0, precedes: length}, length: 4}
vars: {layers: 4, window: 3, use_cache: false}
inputs:
  x: [1, 2, length, 8]
  past_key_values.*.key:
    repeat: layers
    shape: [1, 2, "${past if index % 2 else min(past, window - 1)}", 8]
    when: upper_bound(past) > 0 and index < 3
    cache: {next: present.*.key, axis: 2, window: "${null if index % 2 else window}"}
blocks:
  layer:
    args: {attends: bool, window: int?, use_cache: bool}
    inputs: [x, past?]
    outputs: [y, present_key?]
    layers:
      - when: attends and (past != null or use_cache)
        inline: true
        from: [x, x, past, past]
        cached: {window: "${window}", use_cache: "${use_cache}"}
        as: [keys, values, present_key]
      - {name: y, from: x, relu: {}}
layers:
  - name: layers
    from: x
    repeat: {times: "${layers}", take: {past: past_key_values.*.key}, collect: {present_key?: list}}
    layer: {attends: "${index < 3}", window: "${null if index % 2 else window}", use_cache: "${use_cache}"}
outputs: {y: layers, present.*.key: layers.present_key?}
"""


def test_without_a_past_there_are_no_caches() -> None:
    alone = program(DECODER)
    assert [spec.name for spec in alone.inputs] == ["x"]
    assert alone.output_names == ("y",)
    assert alone.caches.entries == ()


def test_a_step_takes_and_gives_numbered_caches() -> None:
    step = request(DECODER).at_step(past=5, new=1).program
    shapes = {spec.name: spec.type.shape for spec in step.inputs}
    assert shapes == {
        "x": (1, 2, 1, 8),
        "past_key_values.0.key": (1, 2, 2, 8),
        "past_key_values.1.key": (1, 2, 5, 8),
        "past_key_values.2.key": (1, 2, 2, 8),
    }
    outputs = dict(zip(step.output_names, (value.known_type.shape for value in step.main.outputs), strict=True))
    assert outputs == {
        "y": (1, 2, 1, 8),
        "present.0.key": (1, 2, 2, 8),
        "present.1.key": (1, 2, 6, 8),
        "present.2.key": (1, 2, 2, 8),
    }
    assert step.caches.entries == (
        Cache("past_key_values.0.key", "present.0.key", 2, 3),
        Cache("past_key_values.1.key", "present.1.key", 2, None),
        Cache("past_key_values.2.key", "present.2.key", 2, 3),
    )


def test_a_symbolic_past_decides_nothing() -> None:
    symbolic = request(DECODER, symbolic=("past",), use_cache=True)
    assert symbolic.program.assumptions == ()
    for past in (0, 1, 2, 3, 9):
        sized = symbolic.with_sizes({"past": past})
        assert [value.known_type.shape[2] for value in sized.program.main.outputs[1:]] == [
            min(past + 4, 2),
            past + 4,
            min(past + 4, 2),
        ]
        assert sized.at_step(past=past + 1, new=1).program.dims["past"] == past + 1


INPUTS = "inputs: {x: [1, 4], %s}\nlayers: [relu]\n"


@pytest.mark.parametrize(
    ("text", "code", "message"),
    [
        (INPUTS % "past.*: [1]", "E104", "should have repeat"),
        (INPUTS % "past: {shape: [1], repeat: 2}", "E104", "should have one * in its name"),
        (INPUTS % "past.*.*: {shape: [1], repeat: 2}", "E104", "should have one * in its name"),
        (INPUTS % "past.*: {shape: [1], repeat: many}", "E202", "unknown name 'many'"),
        (INPUTS % "past.*: {shape: [1], repeat: '0.5'}", "E104", "repeat: should be a whole number from 0 to 10,000"),
        (INPUTS % "past.*: {shape: [1], repeat: 20000}", "E104", "repeat: should be a whole number from 0 to 10,000"),
        (INPUTS % "past.*: {shape: [1], repeat: 2}, past.1: [1]", "E106", "duplicate input 'past.1'"),
        (INPUTS % "past.*: {shape: [1], repeat: 2, cache: {next: y}}", "E104", "next: 'y' should have a *"),
        (INPUTS % "past: {shape: [1], cache: {next: y.*}}", "E104", "next: 'y.*' should have a * only if"),
        (
            INPUTS % "past: {shape: [1], cache: {next: y, window: wide}}",
            "E202",
            "unknown name 'wide'",
        ),
        (
            INPUTS % "past: {shape: [1], cache: {next: y, window: '0.5'}}",
            "E104",
            "window: should be a whole number or null, not 0.5",
        ),
        (
            "dims: {past: {default: 0, min: 0, precedes: lenght}, length: 2}\n"
            + INPUTS % "past: {shape: [length, past], cache: {next: y}}",
            "E202",
            "precedes: the spec has no dim 'lenght'",
        ),
        ("inputs: {x: [1]}\nlayers: [relu]\noutputs: {y.*: relu}\n", "E303", "'y.*' has a * for the number"),
        (
            "inputs: {x.*: {repeat: 2, shape: [1]}}\nlayers: [{from: x.0, relu: {}}]\noutputs: {y.*: x.*, y.1: relu}\n",
            "E106",
            "duplicate output 'y.1'",
        ),
    ],
)
def test_malformed_lists_and_caches(text: str, code: str, message: str) -> None:
    found = problems(text)
    assert [d.code for d in found] == [code], [d.message for d in found]
    assert message in found[0].message
    assert found[0].span is not None
