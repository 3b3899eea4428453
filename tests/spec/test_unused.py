"""Names that nothing uses: warnings in the spec that declares them, errors for misspelt vars of a child."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.spec import elaborate, load_document
from netcalc.spec.library import shipped
from tests.spec.harness import program

LLAMA = "extends: llama-3-8b\ndims: {length: 4}\nvars: {layers: 1, d_model: 64, heads: 2, kv_heads: 2, d_ff: 32%s}\n"


def warned(found: tuple[Diagnostic, ...]) -> list[str]:
    """Return the messages of W101, whose places start with the name."""
    assert {d.code for d in found} <= {"W101"}
    for warning in found:
        assert warning.span is not None
        assert warning.span.text[warning.span.column - 1 : warning.span.end - 1] in warning.message
    return [d.message for d in found]


def test_every_kind_of_name_is_warned_about() -> None:
    found = program(
        """
        dims: {batch: 1, lenght: 5}
        vars: {units: 4, unitz: 5, derived: "${units}"}
        inputs: {x: [batch, 8]}
        blocks:
          used:
            args: {size: int, unused: 3, twice: "${2 * size}"}
            layers: [{name: unused, linear: "${twice}"}]
          never: {layers: [{never: {}}]}
        layers: [{used: {size: 3}}, {linear: "${units}"}]
        """
    )
    assert warned(found.warnings) == [
        "dim 'lenght' is not used",
        "var 'unitz' is not used",
        "var 'derived' is not used",
        "argument 'unused' of 'used' is not used",
        "block 'never' is not used",
    ]


def test_a_name_is_used_under_any_condition_and_in_any_expression() -> None:
    found = program(
        """
        dims: {batch: 1}
        vars: {on: false, n: 0, kind: one, act: relu, widths: [3], limit: 4, s: 1, f: true, i: 1, low: 5}
        require: [{that: limit > 3, message: never}]
        inputs: {x: {shape: [batch, 8], range: [0, low]}}
        blocks:
          one: {args: {flag: true}, layers: [{when: flag, relu: {}}]}
          two: {layers: [relu]}
          three: {layers: [tanh]}
        layers:
          - "${kind}"
          - "${act}"
          - {when: on, two: {}}
          - {name: r, repeat: n, linear: 8}
          - {repeat: {each: widths, as: width}, linear: "${width}"}
          - {name: "a${s}", freeze: f, linear: "${[2, 3][i]}"}
          - {when: on, name: last, feed_forward: {hidden: 3, activation: three}}
        """
    )
    assert warned(found.warnings) == []


def test_a_block_that_replaces_another_is_used_where_that_is_called() -> None:
    text = """
        inputs: {x: [1, 4, 8]}
        blocks:
          gpt_attention: {args: {heads: int, dropout: 0.0}, inputs: [x, mask?], layers: [{linear: 8}]}
          gpt_mlp: {args: {hidden: int, activation: op, dropout: 0.0}, layers: [{linear: 8}]}
        layers: [%s]
        """
    assert warned(program(text % "{gpt_layer: {heads: 2}}").warnings) == []
    assert warned(program(text % "relu").warnings) == [
        "block 'gpt_attention' is not used",
        "block 'gpt_mlp' is not used",
    ]


def test_a_child_is_warned_about_what_it_sets_itself(tmp_path: Path) -> None:
    child = LLAMA % ""
    assert warned(program(child).warnings) == []
    own_layers = (
        child + "layers: [{name: lm_head, embedding: {num_embeddings: '${vocab}', embedding_dim: '${d_model}'}}]\n"
    )
    assert warned(program(own_layers).warnings) == [
        f"var '{name}' is not used" for name in ("layers", "heads", "kv_heads", "d_ff")
    ]


@pytest.mark.parametrize("key", ["blocks: {extra: {layers: [relu]}}", "layers: [{linear: 3}]"])
def test_a_misspelt_var_of_a_child_is_an_error(key: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        program(LLAMA % ", d_modle: 1024" + key)
    (found,) = caught.value.diagnostics
    assert found.code == "E101"
    assert "'d_modle'" in found.message
    assert found.hint == "did you mean 'd_model'?"


def test_a_child_may_declare_new_names_that_it_uses() -> None:
    found = program(
        LLAMA % ", base: 3, more: '${base + 1}'"
        + "layers: [{from: input_ids, cast: float32}, {name: lm_head, linear: '${more}'}]"
    )
    assert found.vars["more"] == 4


def test_a_child_that_sets_a_name_of_another_family_is_refused() -> None:
    with pytest.raises(NetcalcError) as caught:
        program("extends: resnet18\nvars: {hidden_size: 1024}\nblocks: {extra: {layers: [relu]}}\n")
    assert [d.code for d in caught.value.diagnostics] == ["E101"]


@pytest.mark.parametrize("name", sorted(shipped()))
def test_no_shipped_spec_warns(name: str) -> None:
    assert elaborate(load_document(name)).warnings == ()


#: Layers of one's own in place of those of a decoder, which take no caches.
REPLACED = """
name: own
extends: llama-2-7b
vars: {{layers: 2, d_model: 16, heads: 2, d_ff: 8, vocab: 9{vars}}}
dims: {{length: 4{dims}}}
layers:
  - {{name: embed, from: input_ids, embedding: {{num_embeddings: "${{vocab}}", embedding_dim: "${{d_model}}"}}}}
  - name: layers
    repeat: "${{layers}}"
    decoder_layer:
      norm: {{rms_norm: {{eps: "${{eps}}"}}}}
      attention: {{grouped_query_attention: {{heads: "${{heads}}", rope: {{rotary_embedding: {{}}}}}}}}
      mlp: {{gated_feed_forward: {{hidden: "${{d_ff}}"}}}}
  - {{name: lm_head, linear: {{out: "${{vocab}}", bias: false}}}}
"""
REASON = "your `layers` replace those of llama-2-7b, which read it"


def replaced(own_vars: str = "", own_dims: str = "") -> str:
    """Return a spec that extends a decoder, with lines, vars and dims of its own."""
    return REPLACED.format(vars=own_vars, dims=own_dims)


def test_what_only_replaced_lines_read_is_warned_about_when_it_is_set() -> None:
    assert program(replaced()).warnings == ()
    found = program(replaced(), past=3, tied=True, window=2, use_cache=True, heads=4, eps=0.1)
    names = ("dim 'past'", "var 'window'", "var 'tied'", "var 'use_cache'")
    *settings, inputs = found.warnings
    for warning, name in zip(settings, names, strict=True):
        bare = name.split()[1].strip("'")
        assert (warning.code, warning.message) == ("W101", f"--set {bare}: the {name} is not used")
        assert warning.hint is not None
        assert warning.hint.startswith(f"{REASON}; `without: [{bare}")
        without = program(replaced() + warning.hint.rpartition("; `")[2].partition("`")[0])
        assert bare not in {*without.dims, *without.vars}
    assert inputs.message == "inputs 'past_key_values.*.key', 'past_key_values.*.value' are not used"
    assert inputs.span is not None
    assert inputs.span.text.startswith("layers:")
    assert found.unread == tuple(f"past_key_values.{n}.{part}" for part in ("key", "value") for n in (0, 1))


def test_symbolic_dims_and_own_settings_that_nothing_reads_are_warned_about() -> None:
    messages = [d.message for d in program(replaced(), symbolic=("past",)).warnings]
    assert messages[0] == "--symbolic past: the dim 'past' is not used"
    found = program(replaced(", window: 3, tied: true", ", past: {default: 5, min: 0}")).warnings
    assert warned(found[:-1]) == [f"{name} is not used" for name in ("dim 'past'", "var 'window'", "var 'tied'")]
    assert {d.hint for d in found[:-1]} == {REASON}


def test_a_var_that_requirements_alone_read_may_be_set() -> None:
    assert program(replaced(), whole_heads=False).warnings == ()


def test_a_spec_that_inherits_replaced_lines_names_their_file(tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text("netcalc: 1\n" + replaced())
    (warning,) = program("extends: own\n", folder=tmp_path, tied=True).warnings
    assert warning.hint is not None
    assert warning.hint.startswith(
        f"the `layers` of {tmp_path / 'own.yaml'} replace those of llama-2-7b, which read it"
    )


@pytest.mark.parametrize(
    ("lines", "unread"),
    [
        ("[{from: a, relu: {}}]", ["b"]),
        ("[{from: b, relu: {}}]", ["a"]),
        ("[relu]", ["b"]),
        ("[{linear: '${b.features}'}]", []),
        ("[{from: b, linear: '${in.features}'}]", []),
        ("[{from: b, linear: '${a.features}'}]", []),
        ("[{name: b, relu: {}}]", ["b"]),
        ("[{from: [a, b], concat: {}}]", []),
        ("[relu, {when: false, from: [_, b], add: {}}]", []),
        ("[{name: s, repeat: 2, sequence: [{from: [_, b], add: {}}]}]", []),
    ],
)
def test_an_input_that_no_line_reads(lines: str, unread: list[str]) -> None:
    found = program(f"inputs: {{a: [2, 8], b: [2, 8]}}\nlayers: {lines}\n")
    assert list(found.unread) == unread
    assert warned(found.warnings) == [f"input {name!r} is not used" for name in unread]


def test_an_input_that_is_an_output_is_read() -> None:
    text = "inputs: {a: [2, 8], b: [2, 8]}\nlayers: [{name: c, from: a, relu: {}}]\noutputs: [c, b]\n"
    assert program(text).warnings == ()


@pytest.mark.parametrize(
    "line", ["{from: s.0, relu: {}}", "{from: s.*, concat: {}}", "{linear: \"${value('s.1').features}\"}"]
)
def test_lists_of_inputs_are_read_by_one_name_or_several(line: str) -> None:
    text = "inputs: {x: [2, 8], s.*: {repeat: 2, shape: [2, 8]}, t.*: {repeat: 2, shape: [2, 8]}}\n"
    found = program(text + f"layers: [{{from: x, relu: {{}}}}, {line}]\n")
    assert found.unread == ("t.0", "t.1")
    assert warned(found.warnings) == ["input 't.*' is not used"]


def test_a_name_that_is_used_by_a_former_name_is_used() -> None:
    text = "vars: {units: {default: 8, formerly: [width]}%s}\ninputs: {x: [2, 8]}\nlayers: [{linear: '${%s}'}]\n"
    assert [d.code for d in program(text % ("", "width")).warnings] == ["W102"]
    assert [d.code for d in program(text % (", more: '${width + 1}'", "more")).warnings] == ["W102"]
