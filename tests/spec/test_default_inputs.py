"""Inputs of blocks and operations that are another input if they are not given (``key = query``)."""

from __future__ import annotations

import numpy as np
import pytest

import netcalc
from netcalc.arrays import Array
from tests.spec.harness import problems, program, shapes

_INPUTS = "inputs: {x: [2, 5, 8], m: [2, 3, 8], mask: {shape: [2, 1, 5, 5], dtype: bool}}\n"
#: Lines with fewer inputs than they use, and the same lines with all of them.
_CALLS = [
    ("multi_head_attention: {heads: 2}", "from: [_, _, _], multi_head_attention: {heads: 2}"),
    ("from: [_, m], multi_head_attention: {heads: 2}", "from: [_, m, m], multi_head_attention: {heads: 2}"),
    ("from: {key: m}, multi_head_attention: {heads: 2}", "from: [_, m, m], multi_head_attention: {heads: 2}"),
    ("from: {attn_mask: mask}, attend: {heads: 2}", "from: [_, _, _, mask], attend: {heads: 2}"),
    ("inline: true, attend: {heads: 2}", "inline: true, from: [_, _, _], attend: {heads: 2}"),
    ("scaled_dot_product_attention: {causal: true}", "from: [_, _, _], scaled_dot_product_attention: {causal: true}"),
    ("from: [_, m], scaled_dot_product_attention: {}", "from: [_, m, m], scaled_dot_product_attention: {}"),
    ("repeat: {times: 1, take: {key: [m]}}, attend: {heads: 2}", "from: [_, m, m], attend: {heads: 2}"),
]


def outputs(*lines: str) -> Array:
    """Return the output of lines on drawn inputs and weights."""
    text = f"netcalc: 1\n{_INPUTS}layers: [{', '.join(f'{{{line}}}' for line in lines)}]\n"
    return netcalc.loads(text).run(seed=3).outputs["output"]


@pytest.mark.parametrize(("short", "full"), _CALLS)
def test_a_call_without_inputs_that_have_defaults_is_the_full_call(short: str, full: str) -> None:
    np.testing.assert_array_equal(outputs("from: x, relu: {}", short), outputs("from: x, relu: {}", full))


@pytest.mark.parametrize("line", ["attend: {heads: 2}", "scaled_dot_product_attention: {}"])
def test_each_iteration_attends_to_the_output_of_the_iteration_before(line: str) -> None:
    np.testing.assert_array_equal(outputs(f"repeat: 3, {line}"), outputs(line, line, line))


def test_each_iteration_of_an_inlined_block_has_its_own_defaults() -> None:
    text = """
    inputs: {x: [1, 8]}
    blocks:
      doubled: {inputs: [a, b = a], layers: [{from: [a, b], concat: {axis: 1}}]}
    layers: [{repeat: 3, inline: true, doubled: {}}]
    """
    assert shapes(program(text)) == {"concat": "1×16", "concat_1": "1×32", "concat_2": "1×64"}


def test_equal_iterations_are_a_single_call() -> None:
    found = program(_INPUTS + "layers: [{name: layers, repeat: 3, multi_head_attention: {heads: 2}}]")
    (call,) = found.main.nodes
    assert (call.times, len([value for value in call.inputs if value is not None])) == (3, 1)  # type: ignore[union-attr]


def test_an_absent_value_is_not_the_default() -> None:
    """A step of decoding attends to the keys of a memory that it no longer has."""
    text = """
    inputs: {x: [1, 1, 8], keys: [1, 2, 3, 4], more: [1, 2, 3, 4]}
    blocks:
      step:
        inputs: [x, memory?, keys, more]
        layers:
          - {from: {query: x, LINE past_key: keys, past_value: more}, attend: {heads: 2}}
          - {name: attended, linear: 2}
    layers: [{name: step, from: [x, null, keys, more], step: {}}]
    """
    lines = ("key: memory, value: memory,", "key: null, value: null,", "")
    appended = ["step.attend.cache" in shapes(program(text.replace("LINE", line))) for line in lines]
    assert appended == [False, False, True]


def test_the_default_and_an_absent_value_have_bodies_of_their_own_at_all_sizes() -> None:
    """Bodies are kept, and computed from sketches after a few sizes."""
    for width in range(8, 18):
        text = f"""
        inputs: {{x: [1, {width}]}}
        blocks:
          total:
            inputs: [x, y? = x]
            layers: [{{when: y != null, from: [x, y], add: {{}}}}, {{linear: {width + 1}}}]
        layers:
          - {{name: a, from: x, total: {{}}}}
          - {{name: b, from: [x, null], total: {{}}}}
          - {{name: c, from: x, total: {{}}}}
        """
        assert list(shapes(program(text))) == ["a.add", "a.linear", "b.linear", "c.add", "c.linear"]


def test_defaults_follow_each_other_and_are_seen_by_arguments() -> None:
    text = """
    inputs: {x: [1, 8], w: [1, 6]}
    blocks:
      widest:
        args: {out: {default: "${c.features}", type: int}}
        inputs: [a, b = a, c = b]
        layers: [{linear: "${out}"}]
    layers: [{name: one, from: [x], widest: {}}, {name: two, from: [x, w], widest: {}}]
    """
    assert shapes(program(text)) == {"one.linear": "1×8", "two.linear": "1×6"}


def test_a_repeat_without_iterations_passes_on_the_defaults_of_the_first() -> None:
    text = """
    inputs: {x: [1, 8], y: [1, 6]}
    blocks:
      pair:
        inputs: [a, b = a]
        outputs: [p, q]
        layers: [{name: p, from: a, relu: {}}, {name: q, from: b, relu: {}}]
      taker:
        inputs: [t, a, b = t]
        outputs: [p, q]
        layers: [{name: p, from: a, relu: {}}, {name: q, from: b, relu: {}}]
    layers:
      - {name: none, repeat: 0, from: {a: y}, pair: {}, as: [p, q]}
      - {name: end, from: q, linear: 3}
      - {name: nothing, repeat: {times: 0, take: {t: []}}, from: {a: x}, taker: {}, as: [r, s]}
      - {name: last, from: r, linear: 3}
    """
    assert [str(node.inputs[0].type) for node in program(text).main.nodes] == ["1×6", "1×8"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ("[x, y = z, z]", "the default of 'y' should be an input before it, not 'z'"),
        ("[x, x?]", "'x' is declared twice"),
        ("[x, y z]", "is not in the expected format, not 'y z'"),
    ],
)
def test_malformed_declarations_of_inputs(declared: str, message: str) -> None:
    (found,) = problems(f"blocks: {{b: {{inputs: {declared}, layers: [relu]}}}}\ninputs: {{x: [1]}}\nlayers: [relu]\n")
    assert (found.code, found.span is not None and found.span.line) == ("E104", 2)
    assert message in found.message


def test_an_absent_value_for_an_input_that_may_not_be_absent() -> None:
    text = "inputs: {x: [1, 5, 8]}\nlayers: [{from: {key: null}, scaled_dot_product_attention: {}}]\n"
    (found,) = problems(text)
    assert (found.code, found.message) == (
        "E303",
        "scaled_dot_product_attention takes 1 to 6 inputs, got 1: key is missing",
    )


def test_a_decoder_layer_needs_a_memory() -> None:
    (found,) = problems("inputs: {x: [1, 5, 8]}\nlayers: [{transformer_decoder_layer: {heads: 2, hidden: 8}}]\n")
    assert (found.code, found.span is not None and found.span.line) == ("E108", 3)
    assert found.message.startswith("there should be a memory")
