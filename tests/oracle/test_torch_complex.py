"""Complex numbers in ``forward``, imported as pairs of real ones, and errors for what has no rule."""

from __future__ import annotations

from typing import Any

import pytest

import netcalc
from tests.oracle.module_outputs import Case, assert_agrees, by_name

torch = pytest.importorskip("torch")

from torch import nn  # noqa: E402


class Waves(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A function of the complex numbers that a layer gives."""

    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function
        self.fc = nn.Linear(8, 8)

    def forward(self, x: Any) -> Any:
        return self.function(torch.view_as_complex(self.fc(x).unflatten(-1, (4, 2))), x)


CASES = [
    Case("exponential", lambda: Waves(lambda z, x: torch.view_as_real(z.exp()))),
    Case("angle", lambda: Waves(lambda z, x: (z.angle(), z.abs()))),
    Case("differences", lambda: Waves(lambda z, x: torch.view_as_real(z - z.conj() * z))),
    Case("numbers", lambda: Waves(lambda z, x: torch.view_as_real(z * (2 - 3j)))),
    Case("phases", lambda: Waves(lambda z, x: torch.view_as_real(z * torch.exp(1j * x[..., :4])))),
]


@by_name([Case(case.name, case.make, (torch.zeros(3, 8),)) for case in CASES])
def test_outputs(case: Case) -> None:
    assert_agrees(case)


@pytest.mark.parametrize(
    ("function", "operator"),
    [
        (lambda z, x: torch.view_as_real(torch.fft.rfftn(x, norm="forward")), "aten.fft_rfftn.default"),
        (lambda z, x: torch.fft.fft(x, n=12).imag, "aten.fft_fft.default"),
        (lambda z, x: (z + 1j).abs(), "aten.add.Tensor"),
        (lambda z, x: torch.nonzero(x), "aten.nonzero.default"),
        (lambda z, x: torch.unique(x) + 1, "aten._unique2.default"),
        (lambda z, x: torch.bincount(x.long().flatten(), minlength=4), "aten.bincount.default"),
    ],
)
def test_what_has_no_rule_is_named(function: Any, operator: str) -> None:
    with pytest.raises(netcalc.NetcalcError, match=operator) as refused:
        netcalc.from_torch(Waves(function), torch.zeros(3, 8))
    assert {found.code for found in refused.value.diagnostics} == {"E009"}
