"""``take`` and ``collect``: values that a repeat takes and returns iteration by iteration, also executed."""

from __future__ import annotations

import numpy as np
import pytest

import netcalc
from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis
from netcalc.ir import Program
from netcalc.ir.specialize import specialize
from tests.spec.harness import problems, program, shapes

#: A decoder with a cache: each layer appends its input to the rows that it kept.
CACHE = """
dims: {past: 3, depth: 4}
inputs:
  x: [1, 2, 8]
  a: [1, past, 8]
  b: [1, past, 8]
  c: [1, past, 8]
  d: [1, past, 8]
blocks:
  decoder_layer:
    inputs: [x, past]
    outputs: [y, present]
    layers:
      - {name: present, from: [past, x], concat: {axis: 1}}
      - {name: mean, mean: {axis: 1, keepdim: true}}
      - {name: mixed, from: [mean, x], add: {}}
      - {name: y, linear: 8}
layers:
  - name: layers
    from: x
    repeat: {times: depth, take: {past: [a, b, c, d]}, collect: {present: list}}
    decoder_layer: {}
outputs: {y: layers, present: layers.present}
"""
#: RAFT's scheme: a state and an estimate are refined, and every estimate is an output.
FLOWS = """
inputs: {state: [2, 4], flow: [2, 3], context: [2, 5]}
blocks:
  refine:
    inputs: [state, flow, context]
    outputs: [hidden, flow, upsampled]
    layers:
      - {name: joined, from: [state, flow, context], concat: {axis: 1}}
      - {name: hidden, linear: 4}
      - {name: delta, linear: 3}
      - {name: flow_sum, from: [flow, delta], add: {}, as: flow}
      - {name: upsampled, linear: 6}
layers:
  - name: update
    from: [state, flow, context]
    repeat: {times: 3, collect: {upsampled: {stack: 0}}}
    share: true
    refine: {}
    as: [last, estimate, flows]
outputs: [last, estimate, flows]
"""
#: Hidden states of every layer, with the input in front, as transformers returns them.
HIDDEN = """
inputs: {x: [2, 8]}
layers:
  - {name: h, repeat: {times: 3, collect: {out: list}}, sequence: [{linear: 8}, {name: out, relu: {}}]}
  - {name: all, from: [x, h.out], stack: {axis: 0}}
outputs: [all, h.out.1, h]
"""


def outputs(found: Program) -> dict[str, str]:
    return {name: str(value.type) for name, value in zip(found.output_names, found.main.outputs, strict=True)}


def executed(text: str, **settings: object) -> dict[str, np.ndarray]:
    """Return the outputs of a planned run, after comparison with the reference path and verification."""
    net = netcalc.loads("netcalc: 1\n" + text, set=settings)
    assert not net.verify().failures
    inputs = {
        spec.name: np.random.default_rng(i).standard_normal([int(n) for n in spec.type.shape]).astype("float32")
        for i, spec in enumerate(net.program.inputs)
    }
    planned, reference = (net.run(inputs, seed=0, plan=plan).outputs for plan in ("fast", "reference"))
    for name, array in planned.items():
        np.testing.assert_allclose(array, reference[name], rtol=1e-5, atol=1e-6)
    return {**inputs, **planned}


def test_a_cache_is_taken_and_collected_by_layer() -> None:
    found = program(CACHE)
    assert outputs(found) == {"y": "1×2×8", **{f"present.{i}": "1×5×8" for i in range(4)}}
    assert list(shapes(found))[:5] == [f"layers.0.{name}" for name in ("present", "mean", "mixed", "y")] + [
        "layers.1.present"
    ]
    values = executed(CACHE)
    np.testing.assert_array_equal(values["present.0"], np.concatenate([values["a"], values["x"]], 1))
    np.testing.assert_array_equal(values["present.2"][:, :3], values["c"])


def test_layers_that_differ_only_in_their_values_are_one_row() -> None:
    tree = Analysis(program(CACHE), CONVENTIONS["netcalc"]).tree()
    assert [row.label for row in tree[0].children] == ["0–3"]


def test_symbolic_sizes_pass_through() -> None:
    found = program(CACHE, symbolic=("past",))
    assert "past" in outputs(found)["present.3"]
    assert outputs(specialize(found, {"past": 3})) == outputs(program(CACHE))


def test_outputs_are_stacked_by_an_operation() -> None:
    found = program(FLOWS)
    assert outputs(found) == {"last": "2×4", "estimate": "2×3", "flows": "3×2×6"}
    assert list(shapes(found))[-1] == "update_upsampled"
    values = executed(FLOWS)
    assert not np.array_equal(values["flows"][0], values["flows"][1])


def test_hidden_states_of_every_layer() -> None:
    assert outputs(program(HIDDEN)) == {"all": "4×2×8", "h.out.1": "2×8", "h": "2×8"}
    values = executed(HIDDEN)
    np.testing.assert_array_equal(values["all"][0], values["x"])
    np.testing.assert_array_equal(values["all"][2], values["h.out.1"])
    np.testing.assert_array_equal(values["all"][3], values["h"])


def test_a_collected_list_is_taken_by_another_repeat() -> None:
    """A decoder with skip connections takes the outputs of the encoder in turn."""
    text = """
    inputs: {x: [2, 8]}
    layers:
      - {name: down, repeat: {times: 2, collect: {out: list}}, sequence: [{name: out, linear: "${_.features // 2}"}]}
      - name: up
        repeat: {times: 2, take: {skip: [down.out.1, down.out.0]}}
        sequence: [{from: [_, skip], concat: {axis: 1}}, {linear: 4}]
      - {name: same, repeat: {times: 2, take: {skip: down.out}}, sequence: [{from: [_, skip], concat: {axis: 1}}]}
    """
    assert list(shapes(program(text)).values()) == ["2×4", "2×2", "2×4", "2×4", "2×8", "2×4", "2×8", "2×10"]


def test_a_tensor_is_taken_slice_by_slice() -> None:
    text = """
inputs: {x: [2, 8], steps: [3, 2, 8]}
layers:
  - {name: f, repeat: {times: 3, take: {step: steps}}, sequence: [{from: [_, step], add: {}}]}
outputs: [f]
"""
    assert list(shapes(program(text))) == ["f_step.0", "f_step.1", "f_step.2", "f.0.0", "f.1.0", "f.2.0"]
    values = executed(text)
    np.testing.assert_allclose(values["f"], values["x"] + values["steps"].sum(0), rtol=1e-5)


def test_an_operation_takes_and_collects_by_port() -> None:
    text = """
    inputs: {x: [5, 2, 8], a: [1, 2, 8], b: [1, 2, 8]}
    layers:
      - {name: g, from: x, repeat: {times: 2, take: {initial: [a, b]}, collect: {PORT: list}}, gru: {hidden: 8}}
    outputs: [g, g.PORT]
    """
    from netcalc import ops

    declared = ops.find("gru")
    assert declared is not None
    taken, port = declared.inputs[1].name, declared.outputs[1].name
    found = program(text.replace("initial", taken).replace("PORT", port))
    assert list(outputs(found)) == ["g", f"g.{port}.0", f"g.{port}.1"]


@pytest.mark.parametrize("inline", ["inline: true, ", ""])
def test_unnamed_repeats_name_their_lists_by_as(inline: str) -> None:
    text = """
    inputs: {x: [2, 8]}
    blocks:
      layer:
        outputs: [y, kept]
        layers: [{name: kept, linear: 4}, {name: y, linear: 8}]
    layers:
      - {INLINEname: l, repeat: {times: 2, collect: {kept: list}}, layer: {}, as: [last, kept]}
      - {from: kept, concat: {axis: 1}}
    """
    text = text.replace("INLINEname: l, ", inline) if inline else text.replace("INLINE", "")
    text = text.replace("{name: kept, linear: 4}", "{name: kept, linear: 4}")
    if inline:  # two calls in one place need other names
        text = text.replace("name: kept, linear", "as: kept, linear").replace("name: y, linear", "as: y, linear")
    found = program(text)
    assert list(outputs(found).values()) == ["2×8"]


def test_a_block_returns_a_list() -> None:
    text = """
    inputs: {x: [2, 8]}
    blocks:
      stack_of_layers:
        outputs: [layers, layers.out]
        layers: [{name: layers, repeat: {times: 2, collect: {out: list}}, sequence: [{name: out, linear: 8}]}]
    layers:
      - {name: model, stack_of_layers: {}}
      - {name: all, from: model.out, concat: {axis: 1}}
    outputs: {hidden: model.out, all: all, width: "model.out.1"}
    """
    assert list(outputs(program(text))) == ["hidden.0", "hidden.1", "all", "width"]


def test_expressions_see_lists_of_types() -> None:
    text = HIDDEN.replace("outputs:", "  - {name: n, from: x, linear: '${len(h.out) + 1}'}\noutputs:")
    text = text.replace("h.out) + 1", "collected) + collected[0].features").replace(
        "sequence: [", "as: [last, collected], sequence: ["
    )
    assert shapes(program(text))["n"] == "2×11"


def test_no_iterations_collect_an_empty_list() -> None:
    text = """
    inputs: {x: [2, 8]}
    layers:
      - {name: h, repeat: {times: 0, collect: {out: MODE}}, sequence: [{name: out, linear: 8}]}
      - {name: all, from: [x, h.out], concat: {axis: 0}}
    outputs: [all, h.out]
    """
    assert outputs(program(text.replace("MODE", "list"))) == {"all": "2×8"}
    (problem,) = problems(text.replace("MODE", "{stack: 0}").replace(", h.out]", "]"))
    assert (problem.code, problem.message) == ("E303", "collect: out cannot be stacked, as there are no iterations")


def test_absent_caches_are_taken_as_absent() -> None:
    text = """
    inputs: {x: [2, 8], cache: {shape: [2, 2, 8], when: "false"}}
    blocks:
      layer:
        inputs: [x, past?]
        layers: [{when: past != null, name: used, linear: 3}, {linear: 8}]
    layers: [{name: l, repeat: {times: 2, take: {past: cache}}, layer: {}}]
    """
    assert list(shapes(program(text))) == ["l.0.linear", "l.1.linear"]


@pytest.mark.parametrize("made", [True, False])
def test_values_of_a_line_that_when_omits_are_taken_as_absent(made: bool) -> None:
    text = """
    inputs: {x: [2, 8]}
    vars: {made: false}
    blocks:
      layer:
        inputs: [x, step?]
        layers: [{when: step != null, name: used, from: step, linear: 3}, {from: x, linear: 8}]
    layers:
      - {when: made, sequence: [{linear: 12}, {reshape: [3, 2, 4]}], as: steps}
      - {name: l, from: {x: x}, repeat: {times: 3, take: {step: steps?}}, layer: {}}
    """
    used = [path for path in shapes(program(text, made=made)) if path.endswith("used")]
    assert used == ([f"l.{i}.used" for i in range(3)] if made else [])
    # without the question mark it stands for the input of the line, as elsewhere
    (problem,) = problems(text.replace("steps?", "steps"))
    assert problem.code == "E303" and "of 2 slices along axis 0" in problem.message


LINE = """
dims: {n: }
inputs: {x: [2, 8], s: [3, 2, 8], t: [n, 2, 8]}
blocks: {layer: {inputs: [x, past], outputs: [y, past], layers: [{name: y, from: [x, past], add: {}}]}}
layers:
  - {name: l, REPEAT, layer: {}}
"""


@pytest.mark.parametrize(
    ("repeat", "code", "message"),
    [
        ("repeat: {times: 2, take: {past: s}}", "E303", "past takes a value for each of 2 iterations"),
        ("repeat: {times: 2, take: {past: [x]}}", "E303", "is 1 values"),
        ("repeat: {times: 2, take: {past: t}}", "E303", "a length of n along axis 0"),
        ("repeat: {times: 2, take: {past: nothing}}", "E301", "unknown value 'nothing'"),
        ("repeat: {times: 3, take: {post: s}}", "E303", "layer has no input 'post'"),
        ("repeat: {times: 3, take: [s]}", "E107", "take: should be a mapping"),
        ("repeat: {times: 3, take: {past: 4}}", "E107", "should be the name of a list or tensor"),
        ("repeat: {times: 3, take: {past: s}, collect: {z: list}}", "E303", "has no output 'z'"),
        ("repeat: {times: 3, take: {past: s}, collect: {past: all}}", "E107", "should be list or {stack: axis}"),
        ("repeat: {times: 3, take: {past: s}, collect: {past: {stack: 7}}}", "E401", "stack"),
    ],
)
def test_what_cannot_be_taken_or_collected(repeat: str, code: str, message: str) -> None:
    found = problems(LINE.replace("REPEAT", repeat))
    assert found[0].code == code
    assert message in found[0].message
    assert found[0].span is not None


def test_a_list_is_not_a_single_value() -> None:
    text = HIDDEN.replace("from: [x, h.out], stack: {axis: 0}", "from: h.out, linear: 3")
    assert problems(text)[0].code == "E303"
    (problem,) = problems(HIDDEN.replace("outputs: [all, h.out.1, h]", "outputs: [all, h.out.7]"))
    assert problem.code in ("E301", "E303")


MANY = """
inputs:
  x: [2, 8]
  past.*: {repeat: 12_000, shape: [2, 8], when: "%s", cache: {next: present.*, axis: 0}}
blocks:
  step:
    inputs: [x, past?]
    args: {use: false}
    outputs: [y, present?]
    layers: [{name: y, relu: {}}, {when: use, name: present, from: x, identity: {}}]
layers:
  - name: steps
    repeat: {times: 12_000, take: {past: past.*}, collect: {present?: list}}
    step: {use: %s}
outputs: {y: steps, present.*: steps.present?}
"""


def test_absent_caches_may_be_of_any_number() -> None:
    found = program(MANY % ("false", "false"))
    assert [(node.name, node.times) for node in found.main.nodes] == [("steps", 12_000)]
    assert list(outputs(found)) == ["y"]


@pytest.mark.parametrize("past, use", [("true", "false"), ("false", "true"), ("index == 3", "false")])
def test_caches_have_a_limit(past: str, use: str) -> None:
    assert [problem.code for problem in problems(MANY % (past, use))][:1] == ["E104"]


def test_a_cache_may_stand_alone() -> None:
    text = """
    inputs: {x: [2, 8], state: {shape: [2, 8], when: "%s", cache: {next: next_state}}}
    layers: [{name: y, relu: {}}, {name: z, identity: {}}]
    outputs: {y: y, next_state: z}
    """
    for present in ("false", "true"):
        assert [entry[:2] for entry in program(text % present).caches.entries] == [("state", "next_state")]
