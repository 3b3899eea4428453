"""Channels-last inputs, and remarks on images whose axes are probably in another order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import netcalc
from netcalc.analysis.image_notes import ImageNote, image_notes
from netcalc.spec import elaborate, load_document
from netcalc.spec.library import load_text
from netcalc.spec.shipped import shipped
from tests.conftest import CommandResult

CONVOLUTION = "conv2d: {out: 64, kernel: 7, stride: 2, padding: 3}"


def notes(inputs: str, *layers: str, blocks: str = "") -> list[ImageNote]:
    lines = "".join(f"  - {layer}\n" for layer in layers)
    text = f"netcalc: 1\ninputs: {inputs}\n{blocks}layers:\n{lines}"
    return list(image_notes(elaborate(load_text(text), {})))


@pytest.mark.parametrize("shape", ["[1, 224, 224, 3]", "[2, 480, 640, 1]", "[1, height, 32, 4]"])
def test_a_channels_last_image_in_a_convolution(shape: str) -> None:
    inputs = f"{{image: {shape}}}\ndims: {{height: 48}}" if "height" in shape else f"{{image: {shape}}}"
    (note,) = notes(inputs, "relu", "batch_norm", CONVOLUTION, CONVOLUTION)
    assert (note.path, note.source) == ("conv2d", "image")


def test_sequences_volumes_and_calls() -> None:
    (note,) = notes("{wave: [1, 16000, 1]}", "conv1d: {out: 4, kernel: 9, padding: 4}")
    assert note.source == "wave"
    (note,) = notes("{scan: [1, 16, 32, 32, 1]}", "conv3d: {out: 4, kernel: 3, padding: 1}")
    assert note.source == "scan"
    block = "blocks:\n  stem:\n    layers:\n      - conv2d: {out: 8, kernel: 3, padding: 1}\n"
    (note,) = notes("{image: [1, 32, 32, 3]}", "{name: first, stem: {}}", blocks=block)
    assert note.path == "first.conv2d"


def test_an_image_without_a_batch_is_permuted(tmp_path: Path, netcalc: Callable[..., CommandResult]) -> None:
    spec = tmp_path / "spec.yaml"
    for layer in (CONVOLUTION, "conv2d: {out: 8, kernel: 7}"):
        text = f"netcalc: 1\ninputs: {{image: [224, 224, 3]}}\nlayers:\n  - {layer}\n"
        spec.write_text(text)
        ran = netcalc("shapes", str(spec))
        page = " ".join((ran.out + ran.err).split())
        assert "takes axis 0 of" in page
        assert "permute: [2, 0, 1]" in page
        spec.write_text(text.replace("layers:", "layers:\n  - permute: [2, 0, 1]"))
        page = netcalc("shapes", str(spec)).out
        assert "3×224×224" in page
        assert "note" not in page


def test_an_input_that_several_operations_read_has_one_remark_with_its_own_shape() -> None:
    (note,) = notes("{image: [1, 32, 32, 3]}", "pad: {padding: [[0, 0], [1, 1], [1, 1], [0, 0]]}", CONVOLUTION)
    assert note.shape == (1, 32, 32, 3)
    convolution = "conv2d: {out: 8, kernel: 3, padding: 1}"
    (note,) = notes("{image: [1, 32, 32, 3]}", f"add: {{a: [{{{convolution}}}], b: [{{{convolution}}}]}}")
    assert note.source == "image"


@pytest.mark.parametrize(
    ("shape", "layers"),
    [
        ("[1, 3, 224, 224]", [CONVOLUTION]),
        ("[1, 512, 4, 4]", [CONVOLUTION]),
        ("[1, 224, 224, 3]", ["permute: [0, 3, 1, 2]", CONVOLUTION]),
        ("[1, 224, 224, 3]", ["linear: 8"]),
        ("[1, 3, 32, 32]", ["conv2d: {out: 8, kernel: 3}", "flatten", "linear: 10"]),
        ("[1, 3, 32, 32]", ["conv2d: {out: 8, kernel: 3}", "permute: [0, 2, 3, 1]", "linear: 10"]),
        ("[1, 3, 32]", ["linear: 10"]),
    ],
)
def test_no_remark(shape: str, layers: list[str]) -> None:
    assert notes(f"{{image: {shape}}}", *layers) == []


@pytest.mark.parametrize(
    "layers",
    [
        ["linear: 10"],
        [CONVOLUTION, "relu", "linear: 10"],
        ["max_pool2d: 2", "linear: 10"],
        [CONVOLUTION, "global_avg_pool2d", "linear: 10"],
        ["mean: {axis: [2, 3], keepdim: true}", "dropout", "linear: 10"],
    ],
)
def test_a_linear_map_of_an_image(layers: list[str]) -> None:
    (note,) = notes("{image: [1, 1, 28, 28]}", *layers)
    assert (note.path, note.source) == ("linear", "")


def test_shipped_specs_have_no_remarks() -> None:
    for name in shipped():
        assert not list(image_notes(elaborate(load_document(name), {}))), name


def test_pages_name_the_line_to_write(tmp_path: Path, netcalc: Callable[..., CommandResult]) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(f"netcalc: 1\ninputs: {{image: [1, 224, 224, 3]}}\nlayers: [{{{CONVOLUTION}}}]\n")
    line = "inputs: {image: {shape: [1, 224, 224, 3], layout: channels_last}}"
    for verb in ("shapes", "summary"):
        ran = netcalc(verb, str(spec))
        assert line in " ".join(ran.out.split())
        assert "layout" not in netcalc("params", str(spec)).out
    spec.write_text(f"netcalc: 1\n{line}\nlayers: [{{{CONVOLUTION}}}]\n")
    out = netcalc("shapes", str(spec)).out
    assert "image_channels_first  permute    1×224×224×3  1×3×224×224" in out
    assert "1×3×224×224  1×64×112×112" in out
    assert "note" not in out
    assert netcalc("verify", str(spec)).code == 0


def test_an_error_that_follows_from_the_layout_hints_at_it(
    tmp_path: Path, netcalc: Callable[..., CommandResult]
) -> None:
    spec = tmp_path / "spec.yaml"
    for layer in ("conv2d: {out: 8, kernel: 7}", "conv2d: {out: 9, kernel: 3, groups: 3}", "max_pool2d: 8"):
        spec.write_text(f"netcalc: 1\ninputs: {{image: [1, 224, 224, 3]}}\nlayers: [{{{layer}}}]\n")
        ran = netcalc("shapes", str(spec))
        assert ran.code == 2
        assert "layout: channels_last" in ran.err


def test_a_channels_last_input_is_computed_as_the_permuted_image() -> None:
    layers = ["conv2d: {out: 4, kernel: 3}", "flatten", "linear: 5"]
    text = "netcalc: 1\ninputs: {{image: {shape}}}\nlayers: [{layers}]\n"
    written = ", ".join(f"{{{layer}}}" if ":" in layer else layer for layer in layers)
    first = netcalc.loads(text.format(shape="[2, 3, 8, 6]", layers=written))
    last = netcalc.loads(text.format(shape="{shape: [2, 8, 6, 3], layout: channels_last}", layers=written))
    image = np.random.default_rng(0).normal(size=(2, 8, 6, 3)).astype("float32")
    expected = first.run({"image": np.moveaxis(image, 3, 1)}).outputs["output"]
    np.testing.assert_array_equal(last.run({"image": image}).outputs["output"], expected)


def test_shapes_with_channels_last_leave_an_input_that_has_them_last(
    tmp_path: Path, netcalc: Callable[..., CommandResult]
) -> None:
    spec = tmp_path / "spec.yaml"
    image = "{image: {shape: [1, 8, 6, 3], layout: channels_last}}"
    spec.write_text(f"netcalc: 1\ninputs: {image}\nlayers: [{{conv2d: {{out: 4, kernel: 3}}}}]\n")
    for arguments in ((), ("--unroll",), ("--format", "csv"), ("--format", "markdown")):
        ran = netcalc("shapes", str(spec), "--layout", "hwc", *arguments)
        assert ran.code == 0
        assert "8×6×3" in ran.out.replace("x", "×") and "6×4×4" in ran.out.replace("x", "×")
    assert netcalc("shapes", str(spec), "--layout", "hwc", "--format", "json").code == 0
    assert "image 1×8×6×3 float32" in netcalc("shapes", str(spec)).out


@pytest.mark.parametrize(
    ("declared", "hint"),
    [
        ("{shape: [4, 3], layout: channels_last}", None),
        ("{shape: [1, 2, 3], layout: nhwc}", "use `channels_last`"),
        ("{shape: [1, 2, 3, 4], layout: channels_first}", "leave it out: channels are axis 1 without it"),
    ],
)
def test_layouts_that_are_errors(declared: str, hint: str | None) -> None:
    with pytest.raises(netcalc.NetcalcError) as raised:
        elaborate(load_text(f"netcalc: 1\ninputs: {{x: {declared}}}\nlayers: [relu]\n"), {})
    assert (raised.value.diagnostics[0].code, raised.value.diagnostics[0].hint) == ("E104", hint)


def test_an_input_of_a_loss_has_no_layout() -> None:
    loss = "layers: [{mse_loss: {}, from: [y, target]}]"
    target = "{target: {shape: [1, 2, 2, 3], layout: channels_last}}"
    network = "netcalc: 1\ninputs: {x: [1, 2, 2, 3]}\nlayers: [relu]\noutputs: {y: relu}\n"
    text = f"{network}loss: {{inputs: {target}, {loss}}}\n"
    with pytest.raises(netcalc.NetcalcError, match="an input of the loss"):
        elaborate(load_text(text), {})
