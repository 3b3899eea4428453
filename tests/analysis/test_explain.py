"""``explain`` takes every path that reports print, and titles the explanation as the path is given."""

from __future__ import annotations

import pytest

from netcalc.analysis.conventions import CONVENTIONS
from netcalc.analysis.cost import Analysis, Row
from netcalc.analysis.explain import explain
from netcalc.diagnostics import NetcalcError
from netcalc.ir import Program
from netcalc.opdef import attribute_text
from netcalc.records import as_dict
from netcalc.spec import elaborate, load_document
from netcalc.spec.shipped import shipped
from tests.spec.harness import layers

NETCALC = CONVENTIONS["netcalc"]
#: Rows of each spec and view that are explained.
SAMPLE = 6


def rows_of(found: Program) -> list[Row]:
    analysis = Analysis(found, NETCALC)

    def below(rows: tuple[Row, ...]) -> list[Row]:
        return [r for row in rows for r in (row, *below(row.children))]

    return [*below(analysis.tree()), *analysis.leaves()]


def steps(found: Program, path: str) -> dict[tuple[str, str], object]:
    return {
        (section.title, s.label): s.value for section in explain(found, path, NETCALC).sections for s in section.steps
    }


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", shipped())
def test_every_row_of_a_report_is_explained(name: str) -> None:
    found = elaborate(load_document(name))
    rows = rows_of(found)
    seen: set[str] = set()
    for row in rows[:: max(len(rows) // SAMPLE, 1)]:
        explanation = explain(found, row.title, NETCALC)
        assert explanation.path == row.title
        figures = {(s.title, step.label): step.value for s in explanation.sections for step in s.steps}
        if row.title not in seen and ("counted", "MACs") in figures and not row.children:
            assert figures["counted", "MACs"] == row.cost.macs
        seen.add(row.title)


def test_a_path_is_titled_as_it_is_given() -> None:
    found = layers("- {name: f, repeat: 12, sequence: [{linear: {out: 8, bias: '${index % 2 == 0}'}}, relu]}")
    for path, times in {
        "f.3": 1,
        "f.0,2,…,10": 6,
        "f.0,2,...,10.0": 6,
        "f.3.0": 1,
        "f.1,3,...,11": 6,
        "f": 1,
    }.items():
        explanation = explain(found, path, NETCALC)
        assert (explanation.path, explanation.repeat) == (path, times)
    assert ("parameters", "f.3.0") in steps(found, "f.3")
    for path in ("f.12", "f.0-3", "f.0,2,…,12", "f.3.7", "g"):
        with pytest.raises(NetcalcError, match="has nothing at"):
            explain(found, path, NETCALC)


def test_instances_multiply_through_all_levels() -> None:
    found = layers("- {name: f, repeat: 4, sequence: [{name: g, repeat: 3, linear: 8}]}")
    assert explain(found, "f.0–3.g.0–2", NETCALC).repeat == 12
    assert explain(found, "f.1–2.g.1", NETCALC).repeat == 2
    assert steps(found, "f.0-3.g.0-2")["counted", "all 12"] == 12 * (2 * 2 * 8 * 8 + 2 * 8)


def test_keys_are_those_of_the_input() -> None:
    """A softmax over 197 keys takes 196 comparisons for each query."""
    found = elaborate(load_document("vit_b_16"))
    path = "encoder.layers.encoder_layer_3.self_attention.attention"
    work = next(section for section in explain(found, path, NETCALC).sections if section.title == "work")
    shown = {step.label: (step.formula, step.substituted) for step in work.steps}
    assert shown["softmax max: comparisons"] == ("heads·queries·(keys − 1)", "12·197·196")
    assert shown["softmax exp: transcendental functions"] == ("heads·queries·keys", "12·197·197")


def test_an_operation_as_attribute_is_shown() -> None:
    text = """
    - {name: r, top_k_router: {k: 2}, as: [w, i]}
    - {name: e, from: [x, w, i], experts: {experts: 4, hidden: 16, activation: {gelu: {approximate: tanh}}}}
    """
    assert attribute_text(explain(layers(text), "e", NETCALC).attributes["activation"]) == "gelu(approximate=tanh)"
    record = as_dict(explain(layers(text), "e", NETCALC))["attributes"]
    assert (record["activation"], record["bias"], record["capacity"]) == (
        {"gelu": {"approximate": "tanh"}},
        False,
        None,
    )
    plain = layers(text.replace("{gelu: {approximate: tanh}}", "silu"))
    assert as_dict(explain(plain, "e", NETCALC))["attributes"]["activation"] == "silu"


def test_numbers_are_written_in_one_format() -> None:
    found = layers("- {name: f, linear: {out: 2000}}", "[1234, 5000]")
    explanation = explain(found, "f", NETCALC)
    work = next(section for section in explanation.sections if section.title == "work")
    assert work.steps[0].substituted == "1,234·2,000·5,000"


def test_a_network_shows_the_formulas_of_its_main_layers() -> None:
    """Of each operation with a hundredth of the work or of the parameters, the layer with most: figures by hand."""
    explanation = explain(elaborate(load_document("llama-3-8b"), {}), None, CONVENTIONS["netcalc"])
    sections = {section.title: section for section in explanation.sections if ": " in section.rule}
    del sections["FLOPs"]
    operations = {title: section.rule.partition(":")[0] for title, section in sections.items()}
    assert operations == {
        "model.embed_tokens": "embedding",
        "model.layers.0–31.mlp.gate_proj ×32": "linear",
        "model.layers.0–31.self_attn.attention ×32": "scaled_dot_product_attention",
    }
    weight, product = sections["model.layers.0–31.mlp.gate_proj ×32"].steps
    assert (weight.substituted, weight.value) == ("14,336·4,096", 14336 * 4096)
    assert (product.formula, product.value) == ("rows·out features·in features", 2048 * 14336 * 4096)
