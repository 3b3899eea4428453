"""Packed tensors as the libraries write them, and the shapes that they stand for."""

from __future__ import annotations

import json
from math import prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.diagnostics import NetcalcError
from netcalc.schemes.configuration import Quantization, quantization_of
from netcalc.schemes.methods import method_named, method_names, method_of
from netcalc.weights.packing.unpacked import UnpackedTensors, unpacked
from netcalc.weights.stored import Header
from netcalc.weights.tensor_files import Tensors

RECORDED: dict[str, dict[str, Any]] = json.loads((Path(__file__).parent.parent / "truth" / "packing.json").read_text())[
    "layers"
]
#: Names of element types in the headers of files.
NAMES = {"float8_e4m3fn": "F8_E4M3", "uint32": "U32"}
#: Layouts that several widths fit, so that only the configuration tells.
OPEN = ("mlx", "compressed-tensors-pack-")


class HeadersOnly:
    """Headers of a checkpoint."""

    name = "recorded"

    def __init__(self, headers: dict[str, Header]) -> None:
        self.headers = headers

    def load(self, name: str) -> Any:
        raise AssertionError(name)


def headers_of(case: str) -> dict[str, Header]:
    return {
        name: Header(tuple(shape), NAMES.get(dtype, dtype))
        for name, (dtype, shape) in RECORDED[case]["tensors"].items()
    }


def of_config(config: dict[str, Any]) -> Quantization:
    found = quantization_of(config, "config.json")
    assert found is not None
    return found


def flat(shape: tuple[int, ...], header: Header) -> tuple[int, ...]:
    return (prod(shape),) if header.unpacking is not None and header.unpacking.flat else shape


@pytest.mark.parametrize("case", RECORDED)
def test_recorded_layers_stand_for_their_modules(case: str) -> None:
    recorded = RECORDED[case]
    headers = headers_of(case)
    found = UnpackedTensors(HeadersOnly(headers), of_config(recorded["config"]))
    modules = {name: tuple(shape) for name, shape in recorded["modules"].items()}
    assert {name: header.shape for name, header in found.headers.items()} == {
        name: flat(shape, found.headers[name]) for name, shape in modules.items()
    }
    (packed,) = found.packed
    plain = sum(prod(shape) for name, shape in modules.items() if name in headers and name not in found.roles)
    assert packed.params + plain == sum(map(prod, modules.values()))
    assert packed.tensors + packed.companions == len(found.roles)


@pytest.mark.parametrize("case", RECORDED)
def test_without_a_configuration_nothing_is_guessed(case: str) -> None:
    recorded, headers = RECORDED[case], headers_of(case)
    found = UnpackedTensors(HeadersOnly(headers), None)
    if case.startswith(OPEN):
        assert found.headers == headers
        assert set(found.undetermined) == {name for name in headers if name.endswith(("weight", "weight_packed"))}
        return
    for name, shape in recorded["modules"].items():
        assert found.headers[name].shape == flat(tuple(shape), found.headers[name])


def test_plain_tensors_are_left_alone() -> None:
    plain: Tensors = HeadersOnly({"up.weight": Header((4, 8), "float16"), "up.scales": Header((4,), "float16")})
    assert unpacked(plain, None) is plain
    of_gptq = unpacked(plain, of_config({"quantization_config": {"quant_method": "gptq", "bits": 4}}))
    assert of_gptq.headers == plain.headers
    integers: Tensors = HeadersOnly({"table": Header((4, 8), "int32")})
    assert unpacked(integers, None) is integers


@pytest.mark.parametrize(
    ("case", "changes", "problem"),
    [
        ("gptq-4-128", {"up.qweight": (33, 192)}, "33 does not hold|32·33"),
        ("gptq-4-128", {"up.scales": (2, 191)}, "'.scales' is 2×191"),
        ("gptq-4-128", {"up.g_idx": (255,)}, "columns is 255, and by the shapes ⌊32·32/4⌋ = 256"),
        ("gptq-8-128", {}, "bits is 4, and by the shapes ⌊32·48/192⌋ = 8"),
        ("awq-4-128", {"up.qzeros": (3, 24)}, "'.scales' is 2×192"),
        ("mlx-affine-4-64", {"up.scales": (192, 5)}, "'.biases' is 192×4|256 = 5·64"),
        ("fp8-block", {"up.weight_scale_inv": (3, 2)}, "does not hold"),
        ("mxfp4", {"experts.up_blocks": (4, 64, 3, 8)}, "does not hold"),
        ("compressed-tensors-nvfp4", {"up.weight_scale": (192, 15)}, "does not hold"),
    ],
    ids=str,
)
def test_shapes_that_contradict_each_other_do_not_unpack(
    case: str, changes: dict[str, tuple[int, ...]], problem: str
) -> None:
    import re

    headers = headers_of(case)
    headers |= {name: headers[name]._replace(shape=shape) for name, shape in changes.items()}
    config = json.loads(json.dumps(RECORDED[case]["config"]).replace('"bits": 8', '"bits": 4'))
    found = UnpackedTensors(HeadersOnly(headers), of_config(config))
    (name,) = (name for name, header in found.headers.items() if header.unpacking is not None)
    unpacking = found.headers[name].unpacking
    assert unpacking is not None
    assert re.search(problem, unpacking.problem), unpacking.problem
    (packed,) = found.packed
    assert packed.params == 0


def test_modules_of_mlx_have_widths_of_their_own() -> None:
    headers = {f"{side}.{name[3:]}": h for side in ("a", "b") for name, h in headers_of("mlx-affine-4-64").items()}
    headers |= {f"b.{name[3:]}": header for name, header in headers_of("mlx-affine-6-32").items()}
    config = {"quantization": {"bits": 4, "group_size": 64, "b": {"bits": 6, "group_size": 32}, "c": False}}
    found = UnpackedTensors(HeadersOnly(headers), of_config(config))
    assert {name: header.shape for name, header in found.headers.items()} == {
        "a.weight": (192, 256),
        "b.weight": (192, 256),
    }


def test_groups_of_several_widths_are_told_apart_by_their_scales() -> None:
    """Two groups of one configuration: 2 bits in groups of 128, and 4 bits in groups of 128."""
    config = json.loads(json.dumps(RECORDED["compressed-tensors-pack-2-group"]["config"]))
    groups = config["quantization_config"]["config_groups"]
    groups["group_1"] = RECORDED["compressed-tensors-pack-4-group"]["config"]["quantization_config"]["config_groups"][
        "group_0"
    ]
    headers = {f"embed.{name[3:]}": h for name, h in headers_of("compressed-tensors-pack-2-group").items()}
    headers |= headers_of("compressed-tensors-pack-4-group")
    found = UnpackedTensors(HeadersOnly(headers), of_config(config))
    assert {name: header.shape for name, header in found.headers.items()} == {
        "embed.weight": (192, 256),
        "up.weight": (192, 256),
    }


def test_words_of_earlier_versions_have_unused_bits() -> None:
    """Ten numbers of 3 bits in a word: 26 words for 256 columns, where 24 would do."""
    case = "compressed-tensors-pack-3-group"
    headers = headers_of(case)
    headers["up.weight_packed"] = Header((192, 26), "int32")
    found = UnpackedTensors(HeadersOnly(headers), of_config(RECORDED[case]["config"]))
    assert found.headers["up.weight"].shape == (192, 256)
    headers["up.weight_packed"] = Header((192, 25), "int32")
    found = UnpackedTensors(HeadersOnly(headers), of_config(RECORDED[case]["config"]))
    assert found.headers["up.weight"].unpacking.problem  # type: ignore[union-attr]


@settings(max_examples=200)
@given(st.sampled_from(sorted(RECORDED)), st.data())
def test_no_shape_ends_in_another_error(case: str, data: st.DataObject) -> None:
    """Shapes of any rank and size: each tensor unpacks, or has a reason, or is left as it is."""
    sizes = st.lists(st.sampled_from([0, 1, 2, 16, 192, 256, 1 << 62]), max_size=4).map(tuple)
    headers = headers_of(case)
    for name in data.draw(st.sets(st.sampled_from(sorted(headers)))):
        headers[name] = headers[name]._replace(shape=data.draw(sizes))
    for quantization in (None, of_config(RECORDED[case]["config"])):
        found = UnpackedTensors(HeadersOnly(headers), quantization)
        assert all(header.elements >= 0 for header in found.headers.values())
        assert sum(figures.tensors + figures.companions for figures in found.packed) == len(found.roles)


@pytest.mark.parametrize("method", ["quip", "nncf", "", None, 4])
def test_an_unknown_method_is_refused(method: Any) -> None:
    with pytest.raises(NetcalcError, match="E007") as caught:
        quantization_of({"quantization_config": {"quant_method": method, "x": 1}}, "config.json")
    assert "compressed-tensors" in str(caught.value.diagnostics[0].hint)


def test_methods_that_configurations_leave_out() -> None:
    assert method_of({"load_in_8bit": True}) == "bitsandbytes"
    assert method_of({"bits": 4, "group_size": 64}) == "mlx"
    inner = quantization_of({"text_config": {"quantization_config": {"quant_method": "fp8"}}}, "config.json")
    assert inner is not None
    assert inner.method.name == "fp8"


@pytest.mark.parametrize("name", method_names())
def test_every_method_names_its_source(name: str) -> None:
    method = method_named(name)
    assert method is not None
    assert method.source
    assert method.layouts or not method.storage.schemes
