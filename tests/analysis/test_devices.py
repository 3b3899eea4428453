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
#: Figures in thousand millions (GB, GB/s, GFLOP/s; cache in MiB, power in W) and where they were read, which is never
#: the file of devices.  Links are in one direction; zdszero has peaks with sparsity, of which these are halves.
READ = """
a100-40 memory=40 bandwidth=1555 node_link=300 float16=312e3 int8=624e3 int4=1248e3 : cli99/llm-analysis, gpu_configs
a100-80 memory=80 bandwidth=2039 node_link=300 float16=312e3 int8=624e3 int4=1248e3 : cli99/llm-analysis, gpu_configs
a100-40 cache=40 power=400 tf32=156e3 float64=19.5e3 float32=19.5e3 : glennklockwood.com, A100
a100-80 cache=40 tf32=156e3 float32=19.5e3 : stas00/ml-engineering
a10 bandwidth=600 node_link=32 float16=125e3 int8=250e3 int4=500e3 : cli99/llm-analysis, gpu_configs
a10 memory=24 power=150 float32=31.2e3 : sysrqmts.com, A10 PCIe
h100 memory=80 bandwidth=3350 node_link=450 float16=989e3 int8=1979e3 : cli99/llm-analysis, gpu_configs
h100 power=700 float64=66.9e3 float32=66.9e3 tf32=494.7e3 bfloat16=989.4e3 fp8=1978.9e3 : glennklockwood.com, H100
h100 cache=50 : stas00/ml-engineering
h100-pcie memory=80 bandwidth=2000 node_link=300 float16=756e3 int8=1513e3 : cli99/llm-analysis, gpu_configs
h100-pcie float32=51e3 tf32=378e3 bfloat16=756e3 fp8=1513e3 : stas00/ml-engineering
h100-pcie power=350 : NVIDIA PB-11133-001_v02 as kept by manuals.plus
h200 memory=141 bandwidth=4800 node_link=450 float32=67e3 tf32=494.5e3 bfloat16=989e3 fp8=1979e3 : stas00/ml-engineering
h200 power=700 : geektopia.es, 13 November 2023
b200 memory=180 power=1000 node_link=900 float64=37e3 float32=75e3 : zdszero.github.io, Hardware
b200 float16=2250e3 int8=4500e3 : zdszero.github.io, Hardware
b200 bandwidth=8000 tf32=1125e3 bfloat16=2250e3 fp8=4500e3 fp4=9000e3 : stas00/ml-engineering
b200 memory=180 network_link=50 : eawlot3000/reading, nvidia/DGX-B200.md
b200 cache=126.5 : gpu_sm.cu on a B200, 129536 KiB
gb200 memory=186 bandwidth=8000 power=1200 node_link=900 float64=40e3 float32=80e3 : zdszero.github.io, Hardware
gb200 tf32=1250e3 bfloat16=2500e3 fp8=5000e3 int8=5000e3 fp4=10000e3 : zdszero.github.io, Hardware
mi300x memory=192 bandwidth=5300 node_link=448 cache=256 float32=163.4e3 tf32=653.7e3 : stas00/ml-engineering
mi300x cache_bandwidth=17e3 : servethehome.com, MI300X
mi325x memory=256 bandwidth=6000 node_link=448 cache=256 : stas00/ml-engineering
mi325x float32=163.4e3 tf32=653.7e3 bfloat16=1307.4e3 fp8=2614.9e3 : awesomeagents.ai, MI325X
l4 memory=24 bandwidth=300 cache=48 power=72 float32=30.3e3 : fpsbench.com, NVIDIA L4
l4 float16=121e3 : simoncblyth/j, gpu/data_center_rt.rst
l4 tf32=60e3 int8=242.5e3 : L4 of store.sourcecode.com, halves of 120 and 485 with sparsity
l40s memory=48 bandwidth=864 power=350 node_link=32 : mullet.se, L40S
l40s float32=91.6e3 tf32=183e3 bfloat16=362.05e3 fp8=733e3 : mullet.se, L40S
l40s cache=96 : deviceQuery of an L40S, 100663296 bytes
t4 memory=16 bandwidth=320 cache=4 power=70 float32=8.1e3 float16=65e3 : sysrqmts.com, Tesla T4
t4 bandwidth=320.064 cache=4 : sylvia-ymlin/cuda-kernels-from-scratch, 2 x 5001 MHz on 256 bits
t4 int8=130e3 : networkoutlet.com, Tesla T4
v100 memory=32 bandwidth=900 node_link=150 float16=125e3 : cli99/llm-analysis, gpu_configs
v100-16 power=300 memory=16 float64=7.8e3 float32=15.7e3 : maosong.website, nvidia-gpu-specs
v100-16 cache=6 : techrival.com, 6144 KB
rtx-3090 float32=35.6e3 memory=24 bandwidth=936.2 cache=6 power=350 : cuttingedgegamer.com, December 2022
rtx-3090 int8=284e3 int4=568e3 : rhkb.cn, 324462
rtx-3090 node_link=56.25 : NVLink of GA102, ecer.com, A40, half of 112.5 in both directions
rtx-4090 memory=24 bandwidth=1008 cache=72 tf32=82.58e3 bfloat16=165.15e3 int8=660.6e3 int4=1321.2e3 : waredb.com
rtx-4090 float16=330.3e3 fp8=660.6e3 : hmc-tech.com, sums in float16
rtx-5090 memory=32 bandwidth=1792 cache=96 power=575 : Linux Format, May 2025
rtx-5090 float32=104.8e3 float16=419e3 fp4=1676e3 : Linux Format, May 2025, halves of 838 and 3352 with sparsity
m1 float32=2600 : macrumors.com, 10 November 2020
m1-pro memory=32 bandwidth=200 float32=5300 : mybroadband.co.za, 18 October 2021, and exo, device_capabilities.py
m1-max memory=64 bandwidth=400 float32=10400 : mybroadband.co.za and fertcircle.blogg.se
m1-ultra memory=128 bandwidth=800 : wccftech.com as kept by gamebastion.com
m2 memory=24 bandwidth=100 : macrumors.com, 6 June 2022
m2-pro memory=32 bandwidth=200 : abachy.com
m2-max memory=96 bandwidth=400 : Ars Technica as kept by blog.patti.tech
m2-ultra memory=192 bandwidth=800 : thestar.com.my, 6 June 2023
m3 memory=24 bandwidth=100 : abachy.com
m3-pro memory=36 bandwidth=150 : gigazine.net, 1 November 2023, and clubic.com
m3-max memory=128 bandwidth=400 : macrumors.com, 31 October 2023, and clubic.com
m3-ultra memory=512 bandwidth=819 : techpowerup.com, news of the Mac Studio
m4 memory=32 bandwidth=120 : Ars Technica as kept by goodnewsapodcast.com
m4-pro memory=64 bandwidth=273 : techmoran.com, 31 October 2024
m4-max memory=128 bandwidth=546 : techmoran.com, 31 October 2024
tpu-v4 memory=34.36 bandwidth=1200 power=192 bfloat16=275e3 int8=275e3 : docs.cloud.google.com/tpu/docs/v4
tpu-v5e memory=16 bandwidth=819 node_link=200 bfloat16=197e3 int8=393e3 : docs.cloud.google.com/tpu/docs/v5e
tpu-v5p memory=102 bandwidth=2765 node_link=600 network_link=6.25 fp8=459e3 : docs.cloud.google.com/tpu/docs/v5p
tpu-v5p int8=918e3 : jax, pallas/mosaic/tpu_info.py
tpu-v6e memory=32 bandwidth=1638 node_link=400 bfloat16=918e3 int8=1836e3 : docs.cloud.google.com/tpu/docs/v6e
tpu-v6e fp8=920e3 : jax, pallas/mosaic/tpu_info.py
jetson-agx-orin float32=5300 int8=85e3 : mzph.cn, half of 170 with sparsity
jetson-agx-orin memory=64 power=60 : forums.developer.nvidia.com, 324194
raspberry-pi-5 bandwidth=17.068 : circuitdigest.com, 4267 MT/s on 32 bits
a100-80 power=400 float64=19.5e3 : glennklockwood.com, A100
h200 float16=989e3 int8=1979e3 : stas00/ml-engineering
gb200 float16=2500e3 : zdszero.github.io, Hardware
mi300x power=750 : yobitel.com, MI325X
mi300x float16=1300e3 fp8=2610e3 int8=2600e3 : stas00/ml-engineering
mi325x power=1000 : yobitel.com, MI325X
mi325x float16=1300e3 int8=2600e3 : stas00/ml-engineering
l40s float16=362.05e3 int8=732.86e3 : mullet.se and hmc-tech.com, L40S
rtx-4090 float32=82.58e3 power=450 : waredb.com and techgoing.com
m1 memory=16 : somagnews.com, 22 March 2022
raspberry-pi-5 memory=8 : education.raspberrypiaustralia.online
cortex-m7 memory=327.68e-6 flash=1048.576e-6 : Linux, Documentation/arch/arm/stm32/stm32f746-overview.rst
"""
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


@pytest.mark.parametrize("line", READ.strip().splitlines())
def test_figures_are_those_read_elsewhere(line: str) -> None:
    name, *figures = line.split(" : ")[0].split()
    device = device_named(name)
    for figure in figures:
        key, value = figure.split("=")
        unit = {"cache": 2**20, "power": 1}.get(key, 10**9)
        known = device.peaks[key] if key in device.peaks else getattr(device, key)
        assert known == pytest.approx(float(value) * unit, rel=0.02), (key, line)


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
