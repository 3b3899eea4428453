"""Patches: changes of inherited lines by their path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from netcalc.analysis.cost import analyze
from netcalc.analysis.walk import instances
from netcalc.engine.run import forward
from netcalc.ir import Program
from tests.spec.harness import params, problems, program, shapes

BASE = """
netcalc: 1
name: base
vars: {width: 8}
inputs: {x: [2, 8]}
blocks:
  unit:
    args: {out: int}
    layers: [{name: fc, linear: "${out}"}, {name: norm, layer_norm: {}}, relu]
  stage:
    args: {out: int}
    layers:
      - {name: first, unit: {out: "${out}"}}
      - name: sum
        add: [[], [{name: second, unit: {out: "${out}"}}]]
layers:
  - {name: stem, linear: 8}
  - tanh
  - {name: stages, repeat: 4, stage: {out: "${width}"}}
  - tanh
  - {name: head, sequence: [{linear: 6}, relu, {linear: 4}]}
"""
STAGE = """
- {name: first, unit: {out: 8}}
- name: sum
  add: [[], [{name: second, unit: {out: 8}}]]
"""


def patched(tmp_path: Path, patch: str, base: str = BASE, **settings: object) -> Program:
    (tmp_path / "base.yaml").write_text(base)
    return program(f"extends: base\npatch:\n  {patch.strip()}\n", folder=tmp_path, **settings)


def described(net: Program) -> list[tuple[object, ...]]:
    return [(i.path, i.node.op, i.node.input_types, i.node.output_types, dict(i.owners)) for i in instances(net)]


def assert_same(one: Program, other: Program) -> None:
    """The networks are the same, and compute the same."""
    assert described(one) == described(other)
    assert analyze(one).total.values == analyze(other).total.values
    np.testing.assert_allclose(
        forward(one, seed=5).outputs["output"], forward(other, seed=5).outputs["output"], rtol=1e-5, atol=1e-6
    )


def by_hand(old: str, new: str, base: str = BASE) -> Program:
    """Return the base with one change of its text."""
    assert base.count(old) == 1
    return program(base.replace(old, new).replace("netcalc: 1\n", ""))


#: (patch, text that it replaces, its replacement): the same network by hand.
EQUAL = [
    ("- {at: stem, set: {bias: false}}", "stem, linear: 8}", "stem, linear: {out: 8, bias: false}}"),
    ("- {at: stages, set: {repeat: 2}}", "repeat: 4", "repeat: 2"),
    ("- {at: 'stages.*.first.fc', set: {bias: false}}", 'name: fc, linear: "${out}"', ""),
    ("- {at: stem, replace: {rms_norm: {}}}", "linear: 8}", "rms_norm: {}}"),
    ("- {at: stem, replace: identity}", "linear: 8}", "identity: {}}"),
    ("- {remove: stem}", "  - {name: stem, linear: 8}\n", ""),
    ("- {after: stem, insert: [sigmoid, {name: b, linear: 8}]}", "8}\n  - tanh\n", ""),
    ("- {before: stem, insert: [{name: b, linear: 5}]}", "layers:\n  - {name: stem", ""),
    ("- {remove: stages}", '  - {name: stages, repeat: 4, stage: {out: "${width}"}}\n', ""),
    ("- {at: head, replace: {linear: 3}}", "sequence: [{linear: 6}, relu, {linear: 4}]", "linear: 3"),
    ('- {at: head.2, set: {out: "${width + _.features}"}}', "{linear: 4}]", "{linear: 14}]"),
    ("- {at: head.1, replace: gelu}", "relu, {linear: 4}", ""),
    ("- {at: stages, set: {out: 8}}\n  - {at: stages, set: {repeat: 1}}", "repeat: 4", "repeat: 1"),
    ("- {append: [{name: b, linear: 9}, relu]}\n  - {at: b, set: {out: 5}}", "{linear: 4}]}\n", ""),
]
WRITTEN = {
    2: ("unit: {out: \"${out}\"}}\n      - name: sum", "sequence: [{name: fc, linear: {out: 8, bias: false}}, "
        "{name: norm, layer_norm: {}}, {name: relu, relu: {}}]}\n      - name: sum"),
    6: ("8}\n  - tanh\n", "8}\n  - sigmoid\n  - {name: b, linear: 8}\n  - tanh\n"),
    7: ("layers:\n  - {name: stem", "layers:\n  - {name: b, linear: 5}\n  - {name: stem"),
    11: ("relu, {linear: 4}", "gelu, {linear: 4}"),
    13: ("{linear: 4}]}\n", "{linear: 4}]}\n  - {name: b, linear: 5}\n  - relu\n"),
}  # fmt: skip


@pytest.mark.parametrize("number", range(len(EQUAL)))
def test_a_patched_network_is_the_one_written_by_hand(number: int, tmp_path: Path) -> None:
    patch, old, new = EQUAL[number]
    old, new = WRITTEN.get(number, (old, new))
    assert_same(patched(tmp_path, patch), by_hand(old, new))


def test_other_lines_keep_their_paths(tmp_path: Path) -> None:
    plain = shapes(program(BASE.replace("netcalc: 1\n", "")))
    for path in ("tanh", "tanh_1", "head.0", "head.1", "stages.1.first.relu", "stages.0.second.norm", "stem"):
        net = shapes(patched(tmp_path, f"- {{remove: {path}}}"))
        assert set(plain) - set(net) == {path}, path
        assert set(net) <= set(plain), path
        assert net == shapes(patched(tmp_path, f"- {{at: {path}, set: {{when: false}}}}"))
        if path != "stem":
            net = shapes(patched(tmp_path, f"- {{at: {path}, replace: {{name: other, silu: {{}}}}}}"))
            assert set(plain) - set(net) == {path}, path
            assert {p.rpartition(".")[2] for p in set(net) - set(plain)} == {"other"}, path


def test_one_iteration_stands_alone_and_the_others_stay_folded(tmp_path: Path) -> None:
    net = patched(tmp_path, "- {at: stages.2.first.fc, set: {bias: false}}")
    assert [(n.start, n.times) for n in net.main.nodes if n.name == "stages"] == [(0, 2), (2, 1), (3, 1)]
    plain = program(BASE.replace("netcalc: 1\n", ""))
    assert set(params(plain)) - set(params(net)) == {"stages.2.first.fc.bias"}
    calls = [n for n in net.main.nodes if n.name == "stages"]
    assert calls[0].body is calls[2].body
    assert calls[0].body is not calls[1].body


@pytest.mark.parametrize(
    ("patch", "lines"),
    [
        ("{at: stages.2, set: {out: 5}}", {2: "{stage: {out: 5}}"}),
        ("{at: stages.0, replace: {linear: 8}}", {0: "{linear: 8}"}),
        ("{at: stages.3, replace: {sequence: [{linear: 8}, tanh]}}", {3: "{sequence: [{linear: 8}, tanh]}"}),
        ("{at: stages.1, replace: silu}", {1: "silu"}),
        ("{at: stages.1, replace: {unit: {out: 8}}}", {1: "{unit: {out: 8}}"}),
    ],
)
def test_one_iteration_is_changed(patch: str, lines: dict[int, str], tmp_path: Path) -> None:
    base = BASE.replace("      - name: sum\n        add: [[], [{name: second", "      - {name: second").replace(
        '{out: "${out}"}}]]', '{out: "${out}"}}'
    )
    if "out: 5" in patch:
        base = base.replace('{name: second, unit: {out: "${out}"}}', "{name: second, unit: {out: 8}}")
    items = []
    for i in range(4):
        line = lines.get(i, "{stage: {out: 8}}")
        items.append(f"{{name: '{i}', {line[1:-1] if line.startswith('{') else line + ': {}'}}}")
    text = base.replace(
        '{name: stages, repeat: 4, stage: {out: "${width}"}}', f"{{name: stages, sequence: [{', '.join(items)}]}}"
    )
    assert_same(patched(tmp_path, f"- {patch}", base), program(text.replace("netcalc: 1\n", "")))


def test_iterations_are_removed_and_lines_inserted_between_them(tmp_path: Path) -> None:
    net = patched(
        tmp_path,
        """- {remove: stages.1}
  - {after: stages.2, insert: [{name: adapter, linear: 8}]}
  - {before: stages.0, insert: [{name: entry, linear: 8}]}""",
    )
    order = list(dict.fromkeys(".".join(i.path.split(".")[:2]) for i in instances(net)))
    assert order[2:7] == ["stages.entry", "stages.0", "stages.2", "stages.adapter", "stages.3"]
    assert forward(net).outputs["output"].shape == (2, 4)
    rows = {row.path: row.array for row in forward(net, trace=["stages.*"], keep=True).trace}
    kept = ["stages.0", "stages.2", "stages.3"]
    assert [row for row in rows if row in kept] == kept


def test_patches_apply_in_order_and_to_what_earlier_ones_made(tmp_path: Path) -> None:
    net = patched(
        tmp_path,
        """- {at: stem, replace: {name: stem, sequence: [{name: a, linear: 8}, {name: b, linear: 8}]}}
  - {at: stem.b, set: {out: 7}}
  - {after: stem.b, insert: [{name: c, linear: 8}]}
  - {after: stem.b, insert: [{name: d, linear: 9}]}
  - {remove: stem.a}
  - {at: stem.c, set: {bias: false}}""",
    )
    found = shapes(net)
    assert [path for path in found if path.startswith("stem")] == ["stem.b", "stem.d", "stem.c"]
    assert (found["stem.b"], found["stem.d"]) == ("2×7", "2×9")
    assert "stem.c.bias" not in params(net)
    (problem,) = problems(
        "extends: base\npatch: [{remove: new}, {after: stem, insert: [{name: new, relu: {}}]}]", folder=tmp_path
    )
    assert problem.code == "E503"


def test_chains_of_specs(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(BASE)
    (tmp_path / "middle.yaml").write_text(
        "netcalc: 1\nextends: base\npatch: [{at: stem, set: {out: 5}}, {remove: tanh}]\n"
    )
    net = program("extends: middle\npatch: [{at: stem, set: {out: 8, bias: false}}]", folder=tmp_path)
    assert (shapes(net)["stem"], "stem.bias" in params(net), "tanh" in shapes(net)) == ("2×8", False, False)
    assert "tanh" not in shapes(program("extends: middle\nname: same", folder=tmp_path))
    (tmp_path / "more.yaml").write_text("netcalc: 1\nextends: middle\npatch: [{append: [{name: a, linear: 3}]}]\n")
    net = program("extends: more\npatch: [{append: [{name: b, linear: 2}]}, {at: a, set: {out: 7}}]", folder=tmp_path)
    assert (shapes(net)["a"], shapes(net)["b"]) == ("2×7", "2×2")
    assert list(shapes(program("extends: middle\nlayers: [tanh]", folder=tmp_path))) == ["tanh"]


def test_expressions_see_the_line_and_the_spec(tmp_path: Path) -> None:
    net = patched(tmp_path, '- {at: stages.*.first.fc, set: {out: 8, bias: "${out != width}"}}', width=8)
    assert "stages.3.first.fc.bias" not in params(net)
    assert "stages.3.second.fc.bias" in params(net)
    net = patched(
        tmp_path,
        '- {at: "stages", replace: {repeat: 3, sequence: [{name: fc, linear: 8}]}}\n'
        '  - {at: stages.*.fc, set: {out: "${4 * (index + 1)}"}}',
    )
    assert [shapes(net)[f"stages.{i}.fc"] for i in range(3)] == ["2×4", "2×8", "2×12"]


def test_blocks_of_the_spec_replace_lines_inside_shipped_blocks(tmp_path: Path) -> None:
    net = program("""
        extends: gpt2
        vars: {layers: 3, d_model: 16, heads: 2, vocab: 50, max_length: 8, rank: 4}
        dims: {length: 8}
        blocks:
          low_rank: {args: {to: int}, layers: [{name: a, linear: "${rank}"}, {name: b, linear: "${to}"}]}
        patch:
          - {at: "transformer.h.1.mlp.c_fc", replace: {low_rank: {to: "${hidden}"}}}
          - {at: "transformer.h.*.attn.dropout", set: {p: "${rank / 10}"}}
        """)
    assert shapes(net)["transformer.h.1.mlp.c_fc.a"] == "1×8×4"
    assert [n.times for n in net.main.nodes if n.name == "transformer.h"] == [1, 1, 1]
    dropped = [i.node.op.p for i in instances(net) if i.path.endswith("attn.dropout")]
    assert dropped == [0.4] * 3


def test_skipped_lines(tmp_path: Path) -> None:
    base = BASE.replace(
        "- {name: stem, linear: 8}",
        "- {name: stem, when: width > 8, linear: 8}\n  - {name: stem, when: width <= 8, linear: {out: 8, bias: false}}",
    )
    net = patched(tmp_path, "- {after: stem, insert: [{name: b, linear: 8}]}\n  - {at: stem, set: {out: 9}}", base)
    assert shapes(net)["stem"] == "2×9"
    assert list(shapes(net))[:2] == ["stem", "b"]
    only = BASE.replace("- {name: stem,", "- {name: stem, when: false,")
    assert "stem" not in shapes(patched(tmp_path, "- {at: stem, replace: silu}", only))
    assert "stem" in shapes(patched(tmp_path, "- {at: stem, set: {when: true}}", only))


# -- shipped networks -------------------------------------------------------------------------------

RESNET = "extends: resnet50\ndims: {height: 64, width: 64}\n"


@pytest.mark.parametrize(
    ("patch", "flops"),
    [
        (
            """
          - {at: layer4.0, set: {stride: 1}}
          - {at: "layer4.[12]", set: {dilation: 2}}
            """,
            12_417_236_992,
        ),
        (
            """
          - {at: "layer[34].0", set: {stride: 1}}
          - {at: layer3.*.conv2, set: {dilation: 2, padding: 2}}
          - {at: layer3.0.conv2, set: {dilation: 1, padding: 1}}
          - {at: layer4.*.conv2, set: {dilation: 4, padding: 4}}
          - {at: layer4.0, set: {dilation: 2}}
          - {at: layer4.0.conv2, set: {dilation: 2, padding: 2}}
            """,
            38_158_729_216,
        ),
    ],
    ids=["layer4", "layer3 and layer4"],
)
def test_dilation_in_place_of_stride_in_resnet50(patch: str, flops: int) -> None:
    """FLOPs of torchvision 0.28 by torch.utils.flop_counter, on 224×224.

    The models are resnet50 with replace_stride_with_dilation [False, False, True] and [False, True, True].
    """
    net = program(f"extends: resnet50\npatch:\n{patch}")
    assert analyze(net, "torch").total.flops == flops
    assert params(net) == params(program("extends: resnet50\nname: plain"))


def test_head_and_pool_of_resnet50() -> None:
    net = program(
        RESNET + "patch: [{remove: avgpool}, {at: fc, replace: {conv2d: {out: 7, kernel: 1}}}, {remove: flatten}]\n"
    )
    assert str(net.main.outputs[0].type) == "1×7×2×2"
    assert "fc.weight" in params(net)


def test_attention_of_one_layer_of_gpt2() -> None:
    tiny = "vars: {layers: 4, d_model: 16, heads: 2, vocab: 50, max_length: 8}\ndims: {length: 8}\n"
    net = program("extends: gpt2\n" + tiny + "patch: [{at: transformer.h.2.attn, set: {heads: 4}}]")
    plain = program("extends: gpt2\n" + tiny + "name: plain")
    assert params(net) == params(plain)
    assert shapes(net)["transformer.h.2.attn.attend.q.transpose"] == "1×4×8×4"
    assert shapes(net)["transformer.h.3.attn.attend.q.transpose"] == "1×2×8×8"


# -- errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patch", "code", "hint"),
    [
        ("{at: stemm, set: {out: 3}}", "E503", "did you mean 'stem'?"),
        ("{at: stages.*.first.fcc, set: {out: 3}}", "E503", "did you mean 'stages.*.first.fc'?"),
        ("{at: stages.4, set: {out: 3}}", "E503", "did you mean 'stages"),
        ("{remove: stagse.0.first.fc}", "E503", "did you mean 'stages.0.first.fc'?"),
        ("{at: stem, set: {outt: 3}}", "E103", "did you mean 'out'?"),
        ("{at: stages, set: {outt: 3}}", "E103", "did you mean 'out'?"),
        ("{at: stem, set: {out: -3}}", "E104", None),
        ("{at: stem, set: {name: other}}", "E104", "replace the line"),
        ("{at: stages.1, set: {when: false}}", "E104", "without a number"),
        ("{at: head, set: {out: 3}}", "E103", "one of its lines"),
        ("{at: stages.1, replace: {repeat: 3, tanh: {}}}", "E104", None),
        ("{at: stem, replace: {linaer: 3}}", "E102", "did you mean 'linear'?"),
        ("{at: stem, replace: 3}", "E104", None),
        ("{at: stem}", "E104", None),
        ("{remove: stem, at: stem}", "E104", None),
        ("{at: 3, set: {}}", "E104", None),
        ("{att: stem, set: {}}", "E101", "did you mean 'at'?"),
        ("{at: stem, set: null}", "E104", None),
        ("{after: stem, insert: []}", "E104", None),
        ("{after: stem, insert: [{linear: 0}]}", "E104", None),
        ("{append: []}", "E104", None),
        ("{append: [{linaer: 4}]}", "E102", "did you mean 'linear'?"),
        ("{append: [tanh], at: stem}", "E104", None),
    ],
)
def test_errors_point_at_the_patch(patch: str, code: str, hint: str | None, tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(BASE)
    found = problems(f"extends: base\npatch:\n  - {patch}\n", folder=tmp_path)
    problem = found[0]
    assert problem.code == code
    assert problem.span is not None
    assert (problem.span.file, problem.span.line) == ("spec.yaml", 4)
    assert hint is None or hint in (problem.hint or "")


def test_an_error_names_the_line_and_the_patch(tmp_path: Path) -> None:
    (tmp_path / "base.yaml").write_text(BASE)
    (problem,) = problems("extends: base\npatch:\n  - {at: stem, set: {out: -1}}\n", folder=tmp_path)
    assert [(item.text, item.span and item.span.file.rpartition("/")[2]) for item in problem.chain] == [
        ("in a line that a patch changes", "base.yaml"),
        ("changed here", "spec.yaml"),
    ]
    (problem,) = problems(
        "extends: base\npatch:\n  - {at: head.2, replace: {conv2d: {out: 3, kernel: 1}}}\n", folder=tmp_path
    )
    assert (problem.code, problem.span and problem.span.file) == ("E401", "spec.yaml")


def test_a_patch_of_a_line_that_is_omitted_is_no_error(tmp_path: Path) -> None:
    base = """
netcalc: 1
name: base
inputs: {x: [2, 4]}
vars: {deep: true}
layers:
  - {name: first, linear: 4}
  - when: deep
    sequence: [{name: stem, linear: 8}, {sequence: [{name: inner, sequence: [{name: fc, linear: 8}]}]}]
  - {when: deep, name: named, sequence: [{name: fc, linear: 8}]}
"""
    (tmp_path / "base.yaml").write_text(base)
    patch = "extends: base\npatch:\n" + "".join(
        f"  - {{at: {at}, set: {{bias: false}}}}\n" for at in ("stem", "inner.fc", "named.fc")
    )
    first = {"first.weight", "first.bias"}
    assert set(params(program(patch, folder=tmp_path))) == first | {"stem.weight", "inner.fc.weight", "named.fc.weight"}
    assert set(params(program(patch, folder=tmp_path, deep=False))) == first
    (problem,) = problems(patch + "  - {remove: named.fd}\n", folder=tmp_path)
    assert problem.code == "E503"
