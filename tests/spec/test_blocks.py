"""Blocks, arguments, ties, freezing, files that extend and import."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from netcalc.analysis.walk import instances
from netcalc.diagnostics import NetcalcError
from netcalc.ir import CallNode
from netcalc.ops.activation import GELU
from netcalc.ops.norm import LayerNorm
from netcalc.spec.library import load_document
from tests.spec.harness import params, problems, program, shapes

BLOCK = """
inputs: {x: [2, 8]}
blocks:
  twice:
    args: {units: int, bias: true}
    layers:
      - {name: a, linear: {out: "${units}", bias: "${bias}"}}
      - {name: b, linear: {out: "${in.features}", bias: "${bias}"}}
layers:
"""


def test_equal_calls_share_a_body() -> None:
    found = program(BLOCK + "  - {name: p, twice: {units: 4}}\n  - {name: q, twice: {units: 4}}\n")
    p, q = found.main.nodes
    assert isinstance(p, CallNode)
    assert isinstance(q, CallNode)
    assert p.body is q.body
    assert list(shapes(found)) == ["p.a", "p.b", "q.a", "q.b"]


def test_true_and_one_are_different_arguments() -> None:
    (problem,) = problems(BLOCK + "  - twice: {units: 4, bias: true}\n  - twice: {units: 4, bias: 1}\n")
    assert (problem.code, problem.message) == ("E104", "argument 'bias' of twice should be true or false, not 1")


def test_a_bare_value_sets_the_only_argument() -> None:
    found = program(BLOCK.replace(", bias: true", "").replace(', bias: "${bias}"', "") + "  - {name: p, twice: 4}\n")
    assert shapes(found) == {"p.a": "2×4", "p.b": "2×8"}


@pytest.mark.parametrize(
    ("line", "hint"),
    [
        ("multi_head_attention: 4", "write `multi_head_attention: {heads: 4}`"),
        ("transformer_encoder_layer: [4, 32]", "write `transformer_encoder_layer: {heads: …, hidden: …}`"),
        ("vgg: 4", "write `vgg: {units: 4}`"),
    ],
)
def test_a_bare_value_of_several_arguments(line: str, hint: str) -> None:
    (problem,) = problems(BLOCK.replace("twice", "vgg") + f"  - {line}\n")
    assert (problem.code, problem.hint) == ("E107", hint)


def test_missing_and_unknown_arguments() -> None:
    (found,) = problems(BLOCK + "  - twice: {unit: 4}\n")
    assert (found.code, found.hint) == ("E103", "did you mean 'units'?")
    assert [(p.code, p.hint) for p in problems(BLOCK + "  - twice: {other: 4}\n")][1:] == [("E105", None)]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ("", [("E105", 8)]),
        ("first: a", [("E104", 8)]),
        ('first: "${a}", third: "${b}"', [("E202", 8), ("E202", 8)]),
        ("first: 1, third: a", [("E104", 8)]),
    ],
)
def test_a_default_that_follows_from_a_mistake_is_no_second_one(given: str, found: list[tuple[str, int]]) -> None:
    spec = """
        inputs: {x: [2, 3]}
        blocks:
          b:
            args: {first: int, second: "${first + 1}", third: 4}
            layers: [{linear: "${second + third}"}]
        layers:
          - b: {GIVEN}
        """
    errors = problems(spec.replace("GIVEN", given))
    assert [(e.code, e.span and e.span.line - 1) for e in errors] == found


def test_errors_in_a_block_have_the_chain_of_calls() -> None:
    text = BLOCK.replace('{out: "${units}", bias: "${bias}"}', "{out: 0}") + "  - {name: p, twice: {units: 4}}\n"
    (problem,) = problems(text)
    assert [r.text for r in problem.chain] == ["in block 'twice', called here"]
    assert problem.bindings == {"units": 4, "bias": True}


def test_an_error_in_a_repeated_block_is_reported_once() -> None:
    text = (
        BLOCK.replace('out: "${units}"', "out: 0")
        + "  - {name: p, repeat: 3, twice: {units: 4}}\n  - twice: {units: 4}\n"
    )
    assert len(problems(text)) == 1


def test_unbounded_recursion_is_an_error() -> None:
    found = problems("inputs: {x: [2, 3]}\nblocks: {loop: {layers: [loop]}}\nlayers: [loop]\n")
    assert found[0].code == "E204"


def test_bounded_recursion_is_elaborated() -> None:
    found = program(
        """
        inputs: {x: [2, 8]}
        blocks:
          nest:
            args: {depth: int}
            layers:
              - {name: a, linear: 8}
              - {name: inner, when: depth > 1, nest: {depth: "${depth - 1}"}}
        layers: [{name: top, nest: {depth: 3}}]
        """
    )
    assert list(shapes(found)) == ["top.a", "top.inner.a", "top.inner.inner.a"]


def test_optional_inputs_of_a_block() -> None:
    text = """
    inputs: {x: [2, 8], bias: [2, 8]}
    blocks:
      maybe:
        inputs: [x, extra?]
        layers:
          - {when: extra != null, from: [x, extra], add: {}}
          - relu
    layers:
      - {name: a, from: x, maybe: {}}
      - {name: b, from: [x, bias], maybe: {}}
    """
    assert list(shapes(program(text))) == ["a.relu", "b.add", "b.relu"]


def test_a_tied_parameter_has_one_owner() -> None:
    found = program(
        """
        inputs: {ids: {shape: [2, 3], dtype: int64, range: [0, 9]}}
        layers:
          - {name: embed, embedding: {num_embeddings: 9, embedding_dim: 4}}
          - {name: head, tie: {weight: embed.weight}, linear: {out: 9, bias: false}}
        """
    )
    assert params(found) == {"embed.weight": "embed.weight", "head.weight": "embed.weight"}


def test_a_tied_block_uses_all_weights_of_another() -> None:
    found = program(BLOCK + "  - {name: p, twice: {units: 4}}\n  - {name: q, tie: p, twice: {units: 4}}\n")
    assert params(found)["q.b.weight"] == "p.b.weight"


def test_a_tie_from_inside_a_block_to_the_top() -> None:
    found = program(
        """
        inputs: {x: [2, 8]}
        blocks:
          user: {layers: [{name: w, tie: {weight: /base.weight}, linear: {out: 8, bias: false}}]}
        layers:
          - {name: base, linear: {out: 8, bias: false}}
          - {name: u, repeat: 2, user: {}}
        """
    )
    assert params(found) == {
        "base.weight": "base.weight",
        "u.0.w.weight": "base.weight",
        "u.1.w.weight": "base.weight",
    }


@pytest.mark.parametrize(
    ("tie", "message"),
    [
        ("{weight: nowhere.weight}", "no earlier line has 'nowhere.weight' to tie to"),
        ("{weight: a.weight}", "cannot tie 'weight', which is 3×4, to 'a.weight', which is 4×8"),
        ("{wight: a.weight}", "linear has no parameter 'wight' to tie"),
    ],
)
def test_invalid_ties(tie: str, message: str) -> None:
    (problem,) = problems(
        f"inputs: {{x: [2, 8]}}\nlayers:\n  - {{name: a, linear: 4}}\n  - {{tie: {tie}, linear: 3}}\n"
    )
    assert (problem.code, problem.message) == ("E304", message)


def test_freeze_applies_inside_blocks() -> None:
    found = program(BLOCK + "  - {name: p, freeze: true, twice: {units: 4}}\n  - {name: q, twice: {units: 4}}\n")
    from netcalc.analysis.walk import parameters

    assert {p.path for p in parameters(found) if p.frozen} == {"p.a.weight", "p.a.bias", "p.b.weight", "p.b.bias"}


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text("netcalc: 1\n" + text)
    return path


def test_extends_changes_variables(tmp_path: Path) -> None:
    write(
        tmp_path,
        "base.yaml",
        "inputs: {x: [2, 8]}\nvars: {units: {default: 4, max: 9}}\nlayers: [{linear: '${units}'}]\n",
    )
    child = write(tmp_path, "child.yaml", "extends: base\nvars: {units: 7}\n")
    from netcalc.spec import elaborate

    assert shapes(elaborate(load_document(child))) == {"linear": "2×7"}
    with pytest.raises(NetcalcError, match="at most 9"):
        elaborate(load_document(child), {"units": 10})


def test_extends_rejects_a_variable_that_the_parent_lacks(tmp_path: Path) -> None:
    write(tmp_path, "base.yaml", "inputs: {x: [2, 8]}\nvars: {units: 4}\nlayers: [{linear: '${units}'}]\n")
    child = write(tmp_path, "child.yaml", "extends: base\nvars: {unit: 7}\n")
    with pytest.raises(NetcalcError) as caught:
        load_document(child)
    assert caught.value.diagnostics[0].hint == "did you mean 'units'?"


def test_circular_extends(tmp_path: Path) -> None:
    write(tmp_path, "a.yaml", "extends: b\n")
    with pytest.raises(NetcalcError) as caught:
        load_document(write(tmp_path, "b.yaml", "extends: a\n"))
    assert caught.value.diagnostics[0].code == "E006"


def test_imported_blocks(tmp_path: Path) -> None:
    write(tmp_path, "parts.yaml", "blocks: {thin: {layers: [{name: l, linear: 2}]}}\n")
    main = write(tmp_path, "main.yaml", "import: [parts]\ninputs: {x: [2, 8]}\nlayers: [{name: t, thin: {}}]\n")
    from netcalc.spec import elaborate

    assert shapes(elaborate(load_document(main))) == {"t.l": "2×2"}


def test_an_unknown_spec_gets_a_suggestion() -> None:
    with pytest.raises(NetcalcError) as caught:
        load_document("resnet43")
    assert caught.value.diagnostics[0].code == "E005"
    assert "resnet34" in (caught.value.diagnostics[0].hint or "")


CHOSEN = """
inputs: {x: [2, 8]}
blocks:
  layer:
    args: {act: op, norm: {type: op?, default: layer_norm}}
    layers:
      - {when: norm != null, name: norm, "${norm}": {bias: false}}
      - "${act}"
layers:
"""


def test_an_operation_with_arguments_is_an_argument() -> None:
    found = program(CHOSEN + "  - {name: a, layer: {act: {gelu: tanh}, norm: {layer_norm: {eps: 0.5, bias: true}}}}\n")
    norm, act = (i.node.op for i in instances(found))
    assert act == GELU(approximate="tanh")
    assert norm == LayerNorm(eps=0.5, bias=False)  # the line's own argument overrides


def test_an_optional_operation_may_be_null() -> None:
    assert list(shapes(program(CHOSEN + "  - {name: a, layer: {act: relu, norm: null}}\n"))) == ["a.relu"]


@pytest.mark.parametrize("act", ["3", "{relu: {}, tanh: {}}", "[relu]"])
def test_an_operation_argument_is_a_name_or_one_name_with_arguments(act: str) -> None:
    (problem,) = problems(CHOSEN + f"  - layer: {{act: {act}}}\n")
    assert problem.code == "E104"
    assert "should be an operation or block, by name or as {name: arguments}" in problem.message


def test_a_line_whose_expression_gives_no_operation() -> None:
    (problem,) = problems("inputs: {x: [2, 8]}\nvars: {act: [relu, tanh]}\nlayers: ['${act}']\n")
    assert problem.code == "E104"


def test_a_shipped_block_takes_a_block_of_the_spec() -> None:
    found = program(
        """
        inputs: {x: [2, 5, 8]}
        blocks: {own: {layers: [{name: scale, linear: {out: "${in.features}"}}]}}
        layers: [{name: mlp, feed_forward: {hidden: 4, activation: own}}]
        """
    )
    assert "mlp.own.scale" in shapes(found)


def test_a_default_may_refer_to_the_inputs() -> None:
    found = program(
        """
        inputs: {x: [2, 8], y: [2, 3]}
        blocks:
          wide:
            args: {hidden: "${4 * in.features}", extra: "${hidden + (0 if y == null else y.features)}"}
            inputs: [in, y?]
            layers: [{name: a, linear: "${extra}"}]
        layers: [{name: p, wide: {}}, {name: q, from: [x, y], wide: {hidden: 2}}]
        """
    )
    assert shapes(found) == {"p.a": "2×32", "q.a": "2×5"}


OVERRIDE = """
    {head}
    blocks:
      gpt_attention: {{args: {{heads: int, dropout: 0.0}}, inputs: [x, mask?], layers: [{{name: only, linear: 8}}]}}
"""


def test_a_block_of_the_spec_replaces_a_shipped_one_that_a_shipped_block_calls(tmp_path: Path) -> None:
    call = "inputs: {x: [1, 4, 8]}\nlayers: [{name: h, repeat: 2, gpt_layer: {heads: 2}}]\n"
    replaced = set(params(program(dedent(OVERRIDE.format(head="name: own")) + call)))
    assert {path for path in replaced if ".attn." in path} == {
        f"h.{i}.attn.only.{name}" for i in (0, 1) for name in ("weight", "bias")
    }
    assert set(params(program(call))).isdisjoint({path for path in replaced if ".attn." in path})
    library = tmp_path / "library.yaml"
    library.write_text("netcalc: 1\n" + dedent(OVERRIDE.format(head="name: library")))
    assert set(params(program("import: [library.yaml]\n" + call, folder=tmp_path))) == replaced
    middle = tmp_path / "middle.yaml"
    middle.write_text("netcalc: 1\nextends: library\n" + call)
    assert set(params(program("extends: middle\n", folder=tmp_path))) == replaced


def test_a_child_of_gpt2_replaces_its_attention() -> None:
    small = "extends: gpt2\nvars: {layers: 2, d_model: 8, heads: 2, vocab: 16, max_length: 8}\ndims: {length: 4}\n"
    found = set(params(program(dedent(OVERRIDE.format(head="name: child")) + small)))
    assert {path.rsplit(".", 2)[-2] for path in found if ".attn." in path} == {"only"}


def test_an_imported_block_keeps_the_blocks_of_its_own_file(tmp_path: Path) -> None:
    library = (
        "netcalc: 1\nblocks: {part: {layers: [{name: theirs, linear: 3}]}, whole: {layers: [{name: p, part: {}}]}}\n"
    )
    (tmp_path / "library.yaml").write_text(library)
    own = "import: [library.yaml]\ninputs: {x: [2, 8]}\nblocks: {part: {layers: [{name: mine, linear: 4}]}}\n"
    found = program(own + "layers: [{name: w, whole: {}}, {name: p, part: {}}]\n", folder=tmp_path)
    assert shapes(found) == {"w.p.theirs": "2×3", "p.mine": "2×4"}


# -- defaults, types and inputs ---------------------------------------------------------------------


def test_defaults_of_arguments_see_dims_and_vars() -> None:
    net = program("""
        dims: {batch: 3}
        vars: {width: 8}
        inputs: {x: [batch, 4]}
        blocks:
          unit:
            args: {out: "${width * 2}", twice: "${out * batch}", batch: "${batch + 1}"}
            layers: [{name: a, linear: "${out}"}, {name: b, linear: "${twice}"}, {name: c, linear: "${batch}"}]
        layers: [{name: u, unit: {}}]
        """)
    found = shapes(net)
    assert (found["u.a"], found["u.b"], found["u.c"]) == ("3×16", "3×48", "3×4")


def test_defaults_of_imported_blocks_do_not_see_vars(tmp_path: Path) -> None:
    (tmp_path / "other.yaml").write_text(
        "netcalc: 1\nblocks:\n  unit: {args: {out: '${width}'}, layers: [{linear: '${out}'}]}\n"
    )
    text = "import: [other]\nvars: {width: 8}\ninputs: {x: [2, 4]}\nlayers: [{linear: '${width}'}, {unit: {}}]\n"
    (problem,) = problems(text, folder=tmp_path)
    assert problem.code == "E202"


def test_blocks_without_inputs() -> None:
    net = program("""
        inputs: {x: [5, 8]}
        blocks:
          table:
            inputs: []
            args: {size: int}
            layers:
              - {name: positions, arange: {stop: "${size}"}}
              - {name: embed, embedding: {num_embeddings: 9, embedding_dim: 8}}
        layers:
          - {name: a, linear: 8}
          - {name: t, table: {size: 5}}
          - {name: none, when: false, table: {size: 5}}
          - {name: sum, add: {}, from: [a, t]}
        """)
    assert shapes(net)["t.embed"] == "5×8"
    assert shapes(net)["sum"] == "5×8"


def test_a_block_without_inputs_takes_none() -> None:
    text = "inputs: {x: [5]}\nblocks: {t: {inputs: [], layers: [%s]}}\nlayers: [{%s t: {}}]\n"
    (problem,) = problems(text % ("{arange: {stop: 3}}", "from: x,"))
    assert (problem.code, "takes no inputs" in problem.message) == ("E303", True)
    (problem,) = problems(text % ("relu", ""))
    assert problem.code == "E303"
    (problem,) = problems(text % ("{linear: '${in.features}'}", ""))
    assert problem.code in ("E202", "E303")
    (problem,) = problems(text % ("{arange: {stop: 3}}", "repeat: 2,"))
    assert problem.code == "E403"


def test_an_argument_of_one_of_several_types() -> None:
    text = """
        inputs: {x: [1, 3, 8, 8]}
        blocks:
          unit:
            args: {stride: %s}
            layers: [{conv2d: {out: 4, kernel: 1, stride: "${stride}"}}]
        layers: [{unit: {stride: %s}}]
        """
    (problem,) = problems(text % ("1", "[1, 2]"))
    assert problem.code == "E104"
    assert problem.hint is not None
    declared = problem.hint.partition("declare it as ")[2]
    for stride, shape in (("[1, 2]", "1×4×8×4"), ("2", "1×4×4×4")):
        assert shapes(program(text % (declared, stride)))["unit.conv2d"] == shape
    (problem,) = problems(text % (declared, "yes please"))
    assert "a whole number or a list of whole numbers" in problem.message
    (problem,) = problems(text % ('{type: [int, "list[itn]"]}', "2"))
    assert (problem.code, "list[itn]" in problem.message) == ("E104", True)


def test_two_outputs_of_one_name_are_an_error() -> None:
    spec = """
        inputs: {x: [2, 4]}
        blocks:
          pair:
            outputs: [one.first, two.first]
            layers:
              - {name: one, sequence: [{name: first, linear: 3}]}
              - {name: two, from: in, sequence: [{name: first, linear: 5}]}
        layers: [{name: both, pair: {}}]
    """
    (found,) = problems(spec)
    assert (found.code, found.message) == ("E106", "two outputs are called 'first'")
    assert found.span is not None and found.span.line == 6
