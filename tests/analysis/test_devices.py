"""Shipped devices against the tables of other tools, names, bytes, and files of users."""

from __future__ import annotations

from pathlib import Path

import pytest

from netcalc.analysis.devices import chosen_devices, device_named, devices
from netcalc.diagnostics import NetcalcError

#: TFLOP/s in bfloat16 or float16 and TB/s of memory, as other tools have them; None where they have none.
#: zeroband (src/zeroband/utils.py, get_peak_flops), LLMRoofline (hardware_dict.py), GenZ (Systems/system_configs.py).
OTHERS = {
    "a100-80": ("bfloat16", 312, 2.039),
    "a100-40": ("bfloat16", 312, 1.6),
    "h100": ("bfloat16", 989, 3.4),
    "h100-pcie": ("bfloat16", 756, None),
    "h200": ("bfloat16", 989.5, 4.8),
    "b200": ("bfloat16", 2250, None),
    "mi300x": ("bfloat16", 1307, 5.3),
    "mi325x": ("bfloat16", 1300, None),
    "l40s": ("bfloat16", 362, 0.864),
    "l4": ("bfloat16", 121, None),
    "rtx-4090": ("float16", 330, 1.008),
    "tpu-v4": ("bfloat16", 275, 1.2),
    "tpu-v5e": ("bfloat16", 197, 0.82),
}
LISTED = """a100-40 a100-80 h100 h100-pcie h200 b200 gb200 mi300x mi325x l4 l40s t4 v100 v100-16 a10 rtx-3090 rtx-4090
rtx-5090 m1 m1-pro m1-max m1-ultra m2 m2-pro m2-max m2-ultra m3 m3-pro m3-max m3-ultra m4 m4-pro m4-max tpu-v4 tpu-v5e
tpu-v5p tpu-v6e jetson-agx-orin raspberry-pi-5 cortex-m7"""


@pytest.mark.parametrize("name", OTHERS)
def test_figures_agree_with_other_tools(name: str) -> None:
    dtype, peak, bandwidth = OTHERS[name]
    device = device_named(name)
    assert device.peaks[dtype] == pytest.approx(peak * 1e12, rel=0.01)
    if bandwidth is not None:
        assert device.bandwidth == pytest.approx(bandwidth * 1e12, rel=0.03)


def test_every_figure_has_a_source() -> None:
    figures = ("memory", "bandwidth", "cache", "cache_bandwidth", "node_link", "network_link", "power", "flash")
    for device in devices():
        known = {name for name in figures if getattr(device, name) is not None} | ({"peaks"} if device.peaks else set())
        assert set(device.sources) == known
        assert all(len(text) > 6 for text in device.sources.values())  # the text of the source, and no key of one


def test_all_devices_are_there_under_unique_names() -> None:
    names = [name for device in devices() for name in (device.name, *device.names)]
    assert len(set(names)) == len(names)
    assert {device.name for device in devices()} == set(LISTED.split())


def test_names_counts_and_bytes() -> None:
    assert chosen_devices("H100_SXM:1024") == (device_named("h100"), 1024)
    assert chosen_devices("4090").device.name == "rtx-4090"
    assert chosen_devices("80GiB:2").device.memory == 80 << 30
    assert chosen_devices("24 GB").device.memory == chosen_devices(24_000_000_000).device.memory == 24_000_000_000
    assert chosen_devices("80GiB").device.is_budget
    assert not device_named("cortex-m7").is_budget


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("h10", ["there is no such device", "near are", "h100"]),
        ("rtx6000", ["rtx-4090"]),
        ("nothing-of-it", ["known are", "mi300x"]),
        ("h100:0", ["at least 1"]),
        ("absent.yaml", ["absent.yaml: No such file"]),
    ],
)
def test_what_is_no_device_is_one_diagnostic(text: str, parts: list[str]) -> None:
    with pytest.raises(NetcalcError) as error:
        chosen_devices(text)
    assert len(error.value.diagnostics) == 1
    assert all(part in str(error.value) for part in parts)


def test_a_file_of_a_user(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "devices:\n  mine:\n    title: My card\n    memory: 12GiB\n    bandwidth: {value: 100GB, source: a test}\n"
        "    peaks: {float32: 1.5e12}\n"
    )
    device, count = chosen_devices(f"{path}:2")
    assert (device.title, device.memory, device.bandwidth, dict(device.peaks), count) == (
        "My card",
        12 << 30,
        100_000_000_000,
        {"float32": 1_500_000_000_000},
        2,
    )
    assert device.sources == {"memory": "the user's file", "bandwidth": "a test", "peaks": "the user's file"}


@pytest.mark.parametrize(
    ("text", "line", "part"),
    [
        ("devices:\n  mine:\n    speed: 3\n", 3, "a device has no 'speed'"),
        ("devices:\n  mine:\n    memory: much\n", 3, "bytes such as 80GB"),
        ("devices:\n  mine:\n    power: -1\n", 3, "a number above 0"),
        ("devices:\n  mine:\n    peaks: {half: 1}\n", 3, "no element type 'half'"),
        ("devices:\n  mine: 3\n", 2, "a mapping of its figures"),
        ("memory: 3\n", 1, "devices: {NAME"),
        ("devices: {a: {memory: 1}, b: {memory: 2}}\n", None, "one device, not 2"),
    ],
)
def test_faults_in_a_file_are_told_with_their_place(tmp_path: Path, text: str, line: int | None, part: str) -> None:
    path = tmp_path / "mine.yml"
    path.write_text(text)
    with pytest.raises(NetcalcError, match=part.replace("{", r"\{")) as error:
        chosen_devices(str(path))
    span = error.value.diagnostics[0].span
    assert (span.line if span else None) == line
