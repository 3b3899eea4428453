"""The element type of a published checkpoint: counting has it, and runs have the element type of the spec."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from ml_dtypes import bfloat16

import netcalc
from netcalc import NetcalcError

SPEC = """
netcalc: 1
dims: {batch: 2}
inputs: {x: [batch, 8]}
layers: [{name: first, linear: 16}, relu, {name: second, linear: 4}]
loss: {layers: [{mean: {axis: [0, 1]}}]}
checkpoint: {dtype: bfloat16}
"""
PARAMS = 8 * 16 + 16 + 16 * 4 + 4


def test_bytes_are_counted_in_the_type_of_the_checkpoint() -> None:
    net = netcalc.loads(SPEC)
    assert (net.params, net.cost().weight_bytes) == (PARAMS, 2 * PARAMS)
    report = net.memory()
    assert (report.weights, report.dtype, report.checkpoint_dtype) == (2 * PARAMS, "bfloat16", "bfloat16")
    assert {type_.dtype for type_ in report.inputs.values()} == {"bfloat16"}
    activations = netcalc.loads(SPEC, dtype="float32").memory().ideal
    assert report.ideal is not None
    assert activations is not None
    assert 2 * report.ideal.peak == activations.peak


@pytest.mark.parametrize(("dtype", "size"), [("float32", 4), ("float16", 2), ("float64", 8)])
def test_an_option_replaces_it(dtype: Any, size: int) -> None:
    net = netcalc.loads(SPEC, dtype=dtype)
    assert net.memory().weights == size * PARAMS
    assert {array.dtype.name for array in net.run().outputs.values()} == {dtype}


def test_work_is_the_same() -> None:
    assert netcalc.loads(SPEC).cost() != netcalc.loads(SPEC, dtype="float32").cost()
    assert netcalc.loads(SPEC).flops == netcalc.loads(SPEC, dtype="float32").flops


def test_what_is_executed_has_the_type_of_the_spec() -> None:
    net = netcalc.loads(SPEC)
    assert net.run().outputs["output"].dtype == np.float32
    assert net.compile()(x=np.zeros((2, 8), np.float32))["output"].dtype == np.float32
    assert {array.dtype for array in net.gradients().parameters.values()} == {np.dtype(np.float32)}
    assert {array.dtype.name for array in net.train(1).parameters.values()} == {"float32"}
    assert net.verify(backward=True).ok
    assert net.signal(seeds=1).layers
    assert net.run().outputs["output"].tolist() == netcalc.loads(SPEC, dtype="float32").run().outputs["output"].tolist()


def test_the_type_of_the_spec_is_executed_too() -> None:
    net = netcalc.loads(SPEC + "dtype: float64\n")
    assert net.memory().weights == 2 * PARAMS
    assert net.run().outputs["output"].dtype == np.float64


@pytest.mark.parametrize(
    ("lines", "counted"),
    [
        ("", "bfloat16"),
        ("checkpoint: {ignore: [x]}", "bfloat16"),
        ("checkpoint: {dtype: float16}", "float16"),
        ("dtype: float32", "float32"),
        ("{dtype: float32, checkpoint: {dtype: float16}}", "float16"),
    ],
)
def test_a_spec_inherits_it_unless_it_has_an_element_type(lines: str, counted: str, tmp_path: Any) -> None:
    (tmp_path / "parent.yaml").write_text(SPEC)
    own = lines.removeprefix("{").removesuffix("}}").replace(", checkpoint", "\ncheckpoint")
    own += "}" if lines.startswith("{") else ""
    net = netcalc.loads(f"netcalc: 1\nextends: parent\n{own}\n", folder=tmp_path)
    assert net.program.dtype == counted
    assert netcalc.loads(net.to_yaml()).program.dtype == counted


def test_the_text_of_a_network_has_the_type_that_was_asked_for() -> None:
    again = netcalc.loads(netcalc.loads(SPEC, dtype="float64").to_yaml())
    assert (again.program.dtype, again.run().outputs["output"].dtype) == ("float64", np.float64)


def weights(dtype: Any) -> dict[str, Any]:
    """Return weights of an element type."""
    shapes = {"first.weight": (16, 8), "first.bias": (16,), "second.weight": (4, 16), "second.bias": (4,)}
    rng = np.random.default_rng(1)
    return {name: rng.normal(size=shape).astype(dtype) for name, shape in shapes.items()}


def test_weights_of_the_checkpoint_are_converted() -> None:
    net = netcalc.loads(SPEC)
    published = weights(bfloat16)
    assert net.audit(weights=published).ok
    x = np.ones((2, 8), np.float32)
    wide = {name: array.astype(np.float32) for name, array in published.items()}
    assert np.array_equal(
        net.run({"x": x}, weights=published).outputs["output"], net.run({"x": x}, weights=wide).outputs["output"]
    )


@pytest.mark.parametrize(("stored", "dtype"), [(np.float16, None), (bfloat16, "float16"), (np.float64, None)])
def test_weights_of_another_type_are_not(stored: Any, dtype: Any) -> None:
    with pytest.raises(NetcalcError, match="--cast"):
        netcalc.loads(SPEC, dtype=dtype).run(weights=weights(stored))


def test_pages_and_records_name_it() -> None:
    net = netcalc.loads(SPEC)
    line = "element type bfloat16, as in the published checkpoint; --dtype replaces it"
    for result in (net.summary(), net.memory(), net.explain()):
        assert line in str(result).splitlines()[:4]
        record = netcalc.as_dict(result)
        assert (record["dtype"], record["checkpoint_dtype"]) == ("bfloat16", "bfloat16")
    assert line not in str(netcalc.loads(SPEC, dtype="float16").summary())


@pytest.mark.parametrize(("spec", "scheme"), [("deepseek-v3", "float8_e4m3-b128"), ("gpt-oss-20b", "mxfp4")])
def test_packed_checkpoints_are_remarked_upon(spec: str, scheme: str) -> None:
    note = f"the published checkpoint packs most parameters as {scheme}, which --quantize {scheme} counts"
    for view in ("params", "summary"):
        assert note in " ".join(str(netcalc.load(spec).summary(view=view)).split())
    assert not netcalc.load("llama-3-8b").summary(view="params").notes


def test_gpt_oss_is_as_large_as_published() -> None:
    """openai/gpt-oss-20b, total_size of model.safetensors.index.json."""
    assert netcalc.load("gpt-oss-20b", quantize=["mxfp4"]).cost().weight_bytes == 13_761_264_768


def test_other_checkpoints_are_not_packed(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text(SPEC.replace("{dtype: bfloat16}", "{dtype: bfloat16, packed: mxfp4}"))
    (tmp_path / "child.yaml").write_text("netcalc: 1\nextends: parent.yaml\ncheckpoint: {prefix: model}\n")
    parent, child = (netcalc.load(tmp_path / f"{name}.yaml").summary() for name in ("parent", "child"))
    assert parent.notes and not child.notes
    assert (child.dtype, child.checkpoint_dtype) == ("bfloat16", "bfloat16")


def test_comparisons_name_it() -> None:
    comparison = netcalc.compare(netcalc.loads(SPEC), netcalc.loads(SPEC, dtype="float32"), "mlp")
    text = " ".join(str(comparison).split())
    assert text.count("element type") == 1
    assert "(1): element type bfloat16, as in the published checkpoint; --dtype replaces it" in text
    record = netcalc.as_dict(comparison)
    assert record["dtypes"] == ["bfloat16", "float32", "float32"]
    assert record["checkpoint_dtypes"] == ["bfloat16", "bfloat16", None]
    assert record["totals"]["weight_bytes"]["values"][:2] == [2 * PARAMS, 4 * PARAMS]


def test_an_unknown_type_is_an_error() -> None:
    with pytest.raises(NetcalcError, match="fp8"):
        netcalc.loads(SPEC.replace("bfloat16", "fp8"))
