"""The axis of channels, as `--layout hwc` prints it, on networks whose layers say where it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import netcalc
from netcalc.render.channel_order import MEANING
from netcalc.render.presentations import View, lines
from tests.conftest import CommandResult


def shapes(network: netcalc.Network) -> dict[str, str]:
    """Return the shapes of outputs by path, as ``--layout hwc`` prints them."""
    rows = [*lines(network.summary(view="shapes", unroll=True), View(format="csv", layout="hwc"))]
    columns = [row.split(",") for row in rows]
    output = columns[0].index("outputs")
    return {cells[0]: cells[output] for cells in columns[1:]}


def of(layers: str, shape: str, dtype: str = "float32") -> dict[str, str]:
    text = f"netcalc: 1\ninputs: {{x: {{shape: {shape}, dtype: {dtype}}}}}\nlayers: [{layers}]\n"
    return shapes(netcalc.loads(text))


def test_swin() -> None:
    """Sizes as torchvision's Swin-T has them in forward hooks: 56×56×96, windows of 49 positions, three heads of 32."""
    printed = shapes(netcalc.load("swin_t"))
    block = "features.1.0"
    assert {path: printed[f"features.0.{path}"] for path in "012"} == dict.fromkeys("012", "56x56x96")
    assert printed[f"{block}.attn.windows.reshape"] == "8x7x8x7x96"
    assert printed[f"{block}.attn.windows.permute"] == "8x8x7x7x96"
    assert printed[f"{block}.attn.qkv"] == "64x49x288"
    assert printed[f"{block}.attn.query.transpose"] == "64x3x49x32"
    assert printed[f"{block}.attn.relative_position_bias"] == "3x49x49*"
    assert printed[f"{block}.transformed"] == "56x56x96"
    assert (printed["norm"], printed["permute"], printed["global_avg_pool2d"], printed["head"]) == (
        *("7x7x768", "7x7x768", "1x1x768", "1000"),
    )


def test_convnext_and_resnet() -> None:
    printed = shapes(netcalc.load("convnext_tiny"))
    assert {printed[f"features.1.0.block.{n}"] for n in (0, 1, 2, 5, 6)} == {"56x56x96"}
    assert printed["features.1.0.block.3"] == "56x56x384"
    assert not any("*" in shape for shape in printed.values())
    resnet = shapes(netcalc.load("resnet18", set={"batch": 2}))
    assert resnet["layer1.0.add"] == "2x56x56x64" and resnet["fc"] == "2x1000"


def test_heads_of_a_transformer_stay_before_positions() -> None:
    printed = shapes(netcalc.load("transformer"))
    layer = "transformer.encoder.layers.0.self_attn"
    assert printed[f"{layer}.q.unflatten"] == "128x8x64" and printed[f"{layer}.q.transpose"] == "8x128x64"
    assert printed[f"{layer}.flatten"] == "128x512"
    patches = shapes(netcalc.load("vit_b_16"))
    assert patches["conv_proj"] == "14x14x768" and "197x768" in patches.values()


@pytest.mark.parametrize(
    ("layers", "shape", "printed"),
    [
        ("{name: a, conv1d: {out: 8, kernel: 3}}", "[2, 4, 20]", "2x18x8"),
        ("{name: a, conv3d: {out: 8, kernel: 3}}", "[1, 4, 9, 10, 11]", "7x8x9x8"),
        ("{name: a, conv2d: {out: 8, kernel: 3}}", "[4, 9, 10]", "7x8x8"),  # an image without a batch
        ("conv2d: {out: 8, kernel: 3}}, {name: a, flatten: {start_axis: 2}", "[2, 4, 9, 10]", "2x56x8"),
        ("{name: a, relu: {}}, {conv2d: {out: 8, kernel: 3}}", "[1, 4, 9, 10]", "9x10x4"),  # said by a later layer
        ("{name: a, relu: {}}, {linear: 8}", "[1, 4, 9, 10]", "4x9x10"),
        ("{name: a, relu: {}}", "[1, 4, 9, 10]", "1x4x9x10*"),
        ("{name: a, permute: [0, 2, 3, 1]}, {linear: 8}", "[1, 4, 9, 10]", "9x10x4"),
    ],
)
def test_lines(layers: str, shape: str, printed: str) -> None:
    layers = layers if layers.startswith("{") else "{" + layers + "}"
    layers = layers.replace("{conv2d: {out: 8, kernel: 3}}}", "{conv2d: {out: 8, kernel: 3}}")
    assert of(layers, shape)["a"] == printed


def test_a_block_that_is_called_with_both_orders_has_none() -> None:
    text = """
netcalc: 1
inputs: {image: [1, 4, 9, 10]}
blocks: {both: {layers: [{name: inside, relu: {}}]}}
layers:
  - {name: first, conv2d: {out: 4, kernel: 1}}
  - {name: one, both: {}}
  - {name: last, linear: 10}
  - {name: two, both: {}}
"""
    printed = shapes(netcalc.loads(text))
    assert printed["first"] == "9x10x4"
    assert printed["two.inside"].endswith("*")


def test_the_footer_explains_the_mark(netcalc: Callable[..., CommandResult]) -> None:
    page = netcalc("shapes", "swin_t", "--layout", "hwc").out
    assert MEANING in page
    assert MEANING not in netcalc("shapes", "resnet18", "--layout", "hwc").out
    assert "3×49×49*" in page and "*" not in netcalc("shapes", "swin_t").out
