"""Receptive fields against published ones, and against the propagation of NaNs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st

import netcalc
from netcalc import load
from netcalc.analysis.receptive_field import AxisField, Extent, traced
from netcalc.arrays import numpy_dtype
from netcalc.ops.conv import Conv2d
from tests.conftest import CommandResult

#: Araujo et al. 2019, https://distill.pub/2019/computing-receptive-fields, table 1 (size and effective stride).
#: Its ResNets stride in another convolution of a block than torchvision's, and are no oracle for these.
PUBLISHED = {
    "alexnet": ("features.12", 195, 32),
    "vgg16": ("features.30", 212, 32),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_fields(name: str) -> None:
    path, size, stride = PUBLISHED[name]
    for field in netcalc.load(name).receptive_fields()[path]:
        assert (field.size, field.stride) == (size, stride)


@pytest.mark.parametrize(
    ("name", "settings_"),
    [
        ("resnet18", {"height": 48, "width": 40}),
        ("mobilenet_v2", {"height": 48, "width": 40}),
        ("densenet121", {"height": 48, "width": 40}),
        ("unet", {"height": 80, "width": 64, "channels": 4, "padding": 1}),
    ],
)
def test_nans_reach_the_predicted_positions(name: str, settings_: dict[str, Any]) -> None:
    net = netcalc.load(name, set=settings_)
    report = net.verify(receptive_field=True)
    assert report.ok, report.failures[:3]
    assert report.counts["receptive fields"] > 100


def test_a_wrong_window_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = Conv2d.reach

    def wrong(self: Conv2d, inputs: Any, output: Any, training: bool) -> Any:
        reach = right(self, inputs, output, training)
        assert reach is not None
        return [(*reach[0][:3], reach[0][3]._replace(last=reach[0][3].last + 1)), *reach[1:]]  # type: ignore[union-attr]

    monkeypatch.setattr(Conv2d, "reach", wrong)
    net = netcalc.loads("netcalc: 1\nname: n\ninputs: {x: [1, 1, 9, 9]}\nlayers: [{conv2d: {out: 1, kernel: 3}}]\n")
    report = net.verify(receptive_field=True)
    assert {check.what for check in report.failures} == {"field along axis 3"}


_PAD = st.tuples(st.integers(0, 2), st.integers(0, 2)).map(list)


@st.composite
def _line(draw: st.DrawFn) -> dict[str, Any]:
    kind = draw(st.sampled_from(["conv1d", "max_pool1d", "avg_pool1d", "conv_transpose1d", "interpolate", "branches"]))
    if kind == "interpolate":
        return {kind: {"scale_factor": 2}}
    if kind == "branches":
        arms = [
            [{"conv1d": {"out": 2, "kernel": k, "padding": k // 2}}] for k in draw(st.sampled_from([(1, 5), (3, 7)]))
        ]
        return {"concat": arms}
    kernel = draw(st.integers(2, 5))
    if kind.endswith("pool1d"):
        return {kind: {"kernel": kernel, "stride": draw(st.integers(1, 3)), "padding": kernel // 2}}
    stride = draw(st.integers(1, min(kernel, 3)))
    attrs = {"out": 2, "kernel": kernel, "stride": stride, "padding": [draw(_PAD)]}
    if kind == "conv1d":
        attrs["dilation"] = draw(st.integers(1, 2))
    return {kind: attrs}


@settings(max_examples=60, deadline=None)
@given(st.lists(_line(), min_size=1, max_size=5))
def test_fields_of_drawn_stacks_equal_those_of_nans(lines: list[dict[str, Any]]) -> None:
    """The field of an inner position of the last layer, by NaN at one input position at a time."""
    size = 400
    spec = {"netcalc": 1, "name": "n", "inputs": {"x": [1, 1, size]}, "layers": lines}
    try:
        net = netcalc.load_data(spec)
    except netcalc.NetcalcError:
        reject()  # little is left of the input where a kernel does not fit
    *_, (_, _, (state,)) = traced(net.program)
    (along,) = state
    assert isinstance(along, Extent)
    outputs = net.program.main.output_types[0].shape[2]
    assert isinstance(outputs, int)
    position = outputs // 2
    low, high = along.bounds(position)
    assume(low > 0 and high + 1 < size)
    reached = set()
    for place in {low - 1, low, high, high + 1}:
        x = np.zeros((1, 1, size), numpy_dtype("float32"))
        x[..., place] = np.nan
        with np.errstate(all="ignore"):
            result = net.run({"x": x}, plan="reference").outputs["output"]
        if np.isnan(result[0, :, position]).any():
            reached.add(place)
    assert reached == {low, high}


def test_parts_that_are_not_known_are_named() -> None:
    net = netcalc.loads(
        "netcalc: 1\nname: n\ninputs: {x: [1, 2, 8, 8]}\nlayers:\n"
        "  - {name: up, interpolate: {scale_factor: 2, mode: bilinear}}\n  - {name: pool, global_avg_pool2d: {}}\n"
    )
    fields = net.receptive_fields()
    assert [field.size for field in fields["up"]] == [None, None]
    assert [field.size for field in fields["pool"]] == [None, None]


@pytest.mark.parametrize("form", ["table", "json", "csv"])
def test_fields_of_too_many_elements_are_not_known(
    form: str, netcalc: Callable[..., CommandResult], tmp_path: Path
) -> None:
    spec = tmp_path / "net.yaml"
    layer = "{conv1d: {out: 1, kernel: 1, stride: 1000000000}, repeat: 600, name: a}"
    spec.write_text(f"netcalc: 1\ninputs: {{x: [1, 1, 8]}}\nlayers: [{layer}]\n")
    ran = netcalc("shapes", str(spec), "--receptive-field", "-f", form)
    assert (ran.code, ran.err) == (0, "")
    fields = list(load(spec).receptive_fields().values())
    assert fields[7][0].stride == 10**72
    assert fields[8:] == [(AxisField(None),)] * 592


def test_a_network_without_spatial_axes_is_refused(netcalc: Callable[..., CommandResult]) -> None:
    ran = netcalc("shapes", "gpt2", "--receptive-field")
    assert ran.code == 2
    assert "gpt2 has no floating-point input with spatial axes" in ran.err
