"""Settings that follow from other names: ``--set 'heads=${d_model // 64}'``."""

from pathlib import Path

import pytest

import netcalc
from netcalc.diagnostics import NetcalcError


def test_a_setting_follows_from_other_settings() -> None:
    derived = netcalc.load("gpt2", set={"d_model": 1024, "layers": 24, "heads": "${d_model // 64}"})
    medium = netcalc.load("gpt2-medium")
    assert derived.vars["heads"] == medium.vars["heads"] == 16
    assert (derived.params, derived.flops) == (medium.params, medium.flops)


def test_a_setting_follows_a_symbol() -> None:
    net = netcalc.load("gpt2", set=["heads=${d_model // 64}"], symbolic=["d_model"])
    assert str(net.vars["heads"]) == "d_model//64"
    assert net.specialize(d_model=1280).flops == netcalc.load("gpt2", set={"d_model": 1280, "heads": 20}).flops


def test_a_dim_follows_a_var() -> None:
    assert netcalc.load("gpt2", set={"max_length": 512, "length": "${max_length // 2}"}).dims["length"] == 256


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"heads": "${d_modle // 64}"}, "E202"),
        ({"heads": "${layers}", "layers": "${heads}"}, "E204"),
        ({"heads": "${d_model / 64}"}, "E501"),
        ({"heads": "${d_model // 100}"}, "E108"),
        ({"length": "${0 * layers}"}, "E501"),
    ],
)
def test_what_does_not_follow_is_refused(settings: dict[str, str], code: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        netcalc.load("gpt2", set=settings)
    assert caught.value.diagnostics[0].code == code


def test_the_written_spec_keeps_the_expression(tmp_path: Path) -> None:
    path = tmp_path / "derived.yaml"
    path.write_text(netcalc.load("gpt2", set={"heads": "${d_model // 64}"}).to_yaml())
    assert netcalc.load(path, set={"d_model": 640}).vars["heads"] == 10
