"""Modules that compute with complex numbers and Fourier transforms, imported."""

from __future__ import annotations

from typing import Any

import numpy as np
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


class SpectralConv(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """The layer of a Fourier neural operator (Li et al. 2021, arXiv:2010.08895): low frequencies times weights."""

    def __init__(self, inputs: int = 3, outputs: int = 4, modes: int = 3) -> None:
        super().__init__()
        self.modes = modes
        shape = (inputs, outputs, modes, modes)
        self.low = nn.Parameter(torch.randn(shape, dtype=torch.cfloat) / inputs)
        self.high = nn.Parameter(torch.randn(shape, dtype=torch.cfloat) / inputs)

    def forward(self, x: Any) -> Any:
        m, spectrum = self.modes, torch.fft.rfft2(x)
        out = torch.zeros(x.shape[0], self.low.shape[1], x.shape[-2], x.shape[-1] // 2 + 1, dtype=torch.cfloat)
        out[:, :, :m, :m] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :m, :m], self.low)
        out[:, :, -m:, :m] = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, -m:, :m], self.high)
        return torch.fft.irfft2(out, s=x.shape[-2:])


class GlobalFilter(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """The filter of GFNet (Rao et al. 2021, arXiv:2107.00645): a real parameter as complex factors of frequencies."""

    def __init__(self, size: int = 6, channels: int = 5) -> None:
        super().__init__()
        self.complex_weight = nn.Parameter(torch.randn(size, size // 2 + 1, channels, 2) * 0.02)

    def forward(self, x: Any) -> Any:
        frequencies = torch.fft.rfft2(x, dim=(1, 2), norm="ortho")
        filtered = frequencies * torch.view_as_complex(self.complex_weight)
        return torch.fft.irfft2(filtered, s=x.shape[1:3], dim=(1, 2), norm="ortho")


class Spectrogram(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Log magnitudes of a short-time Fourier transform, before a layer."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options
        self.register_buffer("window", torch.hann_window(16))
        self.fc = nn.Linear(9, 4)

    def forward(self, x: Any) -> Any:
        spectrum = torch.stft(x, 16, hop_length=4, window=self.window, return_complex=True, **self.options)
        return self.fc(torch.log(spectrum.abs() + 1e-3).transpose(-1, -2))


class Short(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Short-time Fourier transforms without a window, there and back."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def forward(self, x: Any) -> Any:
        window = torch.ones(self.options.get("win_length", 16))
        spectrum = torch.stft(x, 16, window=window, return_complex=True, **self.options)
        return spectrum, torch.istft(spectrum * 2, 16, window=window, **self.options)


class Inverse(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """A signal that is changed in its short-time Fourier transform."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options
        self.register_buffer("window", torch.hann_window(16))
        self.scale = nn.Parameter(torch.randn(9, 1))

    def forward(self, x: Any) -> Any:
        spectrum = torch.stft(x, 16, hop_length=4, window=self.window, return_complex=True) * self.scale
        return torch.istft(spectrum, 16, hop_length=4, window=self.window, **self.options)


class Complexes(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Layers with complex parameters, from a complex input to several outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(6, 5, dtype=torch.cfloat)
        self.weight = nn.Parameter(torch.randn(5, 3, dtype=torch.cfloat))
        self.register_buffer("phases", torch.polar(torch.ones(3), torch.tensor([0.1, 0.2, 0.3])))
        self.register_buffer("scale", torch.tensor([1.0 + 2j, 3.0]), persistent=False)

    def forward(self, z: Any) -> Any:
        y = self.fc(z) @ self.weight
        return {"z": y * self.phases, "size": y.abs(), "first": y[..., :2] * self.scale}


class Rotation(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Rotary embedding by complex numbers, as in Llama's own code."""

    def __init__(self, length: int = 9, features: int = 8) -> None:
        super().__init__()
        self.fc = nn.Linear(features, features)
        self.frequencies = 1.0 / 10000.0 ** (torch.arange(0, features, 2).float() / features)

    def forward(self, x: Any) -> Any:
        angles = torch.outer(torch.arange(x.shape[-2]).float(), self.frequencies)
        turn = torch.polar(torch.ones_like(angles), angles)
        pairs = torch.view_as_complex(self.fc(x).float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * turn).flatten(-2).type_as(x)


def wave(*shape: int, dtype: Any = torch.float32) -> Any:
    return torch.randn(shape, dtype=dtype, generator=torch.Generator().manual_seed(1))


def changed(z: Any, x: Any) -> Any:
    """Return numbers of which views were changed."""
    first, second, third, pairs = (z.clone() for _ in range(4))
    first.real.mul_(2)
    second.imag[0] = 0
    torch.view_as_real(third)[..., 1].add_(1)
    x = x.clone()
    torch.view_as_complex(x.unflatten(-1, (4, 2))).mul_(1j)
    pairs.mH[0].zero_()
    return first, second, third, x, pairs


FUNCTIONS: dict[str, Any] = {
    "changes of views": changed,
    "exponential": lambda z, x: torch.view_as_real(z.exp()),
    "logarithm": lambda z, x: (z.log().real, z.sqrt().imag, z.reciprocal(), z**3, z.tanh()),
    "angle": lambda z, x: (z.angle(), z.abs(), x.angle()),
    "differences": lambda z, x: torch.view_as_real(z - z.conj() * z),
    "numbers": lambda z, x: (torch.view_as_real(z * (2 - 3j)), z + 1j, 2j - z, z / (1 + 1j), torch.add(z, z, alpha=2j)),
    "phases": lambda z, x: torch.view_as_real(z * torch.exp(1j * x[..., :4])),
    "double": lambda z, x: (z.to(torch.complex128) * 0.1j, x.double() * 1j, z.to(torch.cdouble).real),
    "changes in place": lambda z, x: (
        z.clone().mul_(2j).add_(1),
        torch.zeros_like(z).copy_(z),
        z.clone().conj_physical_(),
    ),
    "sums": lambda z, x: (z.sum(-1), z.mean(0), z.prod(-1), z.cumsum(0), z.norm(), torch.linalg.vector_norm(z, dim=-1)),
    "products": lambda z, x: (
        z @ z.mH,
        torch.vdot(z[0], z[1]),
        torch.einsum("ij,kj->ik", z, z.conj()),
        torch.outer(z[0], z[1]),
    ),
    "shapes": lambda z, x: (torch.cat([z, z.flip(0)]), torch.stack([z, z])[:, 1:], z.T.reshape(2, -1), z.roll(1, 0)),
    "selection": lambda z, x: (
        torch.where(x[..., :4] > 0, z, z.conj()),
        z[[2, 0]],
        nn.functional.pad(z, (1, 1)),
        z == z.real,
    ),
    "halves": lambda z, x: torch.complex(x[..., :4], x[..., 4:]) + torch.polar(x[..., :4].abs(), x[..., 4:]),
    "transforms": lambda z, x: (
        torch.fft.fft(z),
        torch.fft.ifft(z, norm="ortho").real,
        torch.fft.rfft(x, n=11).abs(),
        torch.fft.irfft(z, n=7),
        torch.fft.hfft(z, norm="forward"),
        torch.fft.ihfft(x),
    ),
    "of several axes": lambda z, x: (
        torch.fft.fft2(x).real,
        torch.fft.ifft2(z, s=(4, 4), norm="forward"),
        torch.fft.fftn(x, norm="ortho").imag,
        torch.fft.ifftn(z),
        torch.view_as_real(torch.fft.rfftn(x, norm="forward")),
        torch.fft.irfftn(z, s=(3, 6)),
        torch.fft.rfft2(x),
        torch.fft.irfft2(z, norm="ortho"),
        torch.fft.hfft2(z),
        torch.fft.ihfftn(x, dim=(0,)),
    ),
    "made": lambda z, x: (
        torch.full((3, 4), 1 + 2j) * z,
        torch.zeros(3, 4, dtype=torch.cfloat).scatter_add(1, torch.zeros(3, 4, dtype=torch.long), z),
        z + torch.tensor([1 + 2j, 3, 4, 5]),
        torch.ones(3, 4, dtype=torch.cdouble) * x[..., :4],
    ),
    "shifts": lambda z, x: (
        torch.fft.fftshift(z),
        torch.fft.ifftshift(x, dim=-1),
        torch.fft.fftshift(torch.fft.fft2(x), dim=(0, 1)),
        torch.fft.fft(x.round().long()),
    ),
}

CASES = [
    *(Case(name, lambda f=f: Waves(f), (torch.zeros(3, 8),)) for name, f in FUNCTIONS.items()),
    Case("fourier neural operator", SpectralConv, (wave(2, 3, 8, 10),)),
    Case("global filter", GlobalFilter, (wave(2, 6, 6, 5),)),
    Case("fnet", lambda: Waves(lambda z, x: torch.fft.fft2(x).real + x), (wave(3, 8),)),
    Case("complex layers", Complexes, (wave(2, 6, dtype=torch.cfloat),)),
    Case("spectrogram", Spectrogram, (wave(2, 64),)),
    Case("spectrogram without padding", lambda: Spectrogram(center=False, normalized=True), (wave(64),)),
    Case("spectrogram of windows with zeros", lambda: Short(win_length=12), (wave(2, 64),)),
    Case("spectrum of complex numbers", lambda: Short(onesided=False, normalized=True), (wave(2, 64),)),
    Case("signal", Inverse, (wave(2, 64),)),
    Case("signal of a length", lambda: Inverse(length=60), (wave(64),)),
    Case("rotation", Rotation, (wave(2, 9, 8),)),
]


@by_name(CASES)
def test_outputs(case: Case) -> None:
    assert_agrees(case)


def test_layers_of_spectra_count_their_elements_and_their_bytes() -> None:
    module, x = SpectralConv(), wave(2, 3, 8, 10)
    net = netcalc.from_torch(module, x)
    assert net.params == sum(p.numel() for p in module.parameters()) == 2 * 3 * 4 * 9
    assert net.cost().weight_bytes == sum(p.nbytes for p in module.parameters()) == 8 * net.params
    with torch.utils.flop_counter.FlopCounterMode(display=False) as counter:
        module(x)
    assert net.cost("torch").flops == counter.get_total_flops() == 2 * 2 * (2 * 3 * 4 * 9)
    assert net.macs == 4 * net.cost("torch").macs
    fast, text = net.run(seed=1).outputs, net.to_yaml()
    assert "rfft: [-2, -1]" in text and "dtype: complex64" in text
    again = netcalc.loads(text)
    assert again.params == net.params
    np.testing.assert_array_equal(again.run(seed=1).outputs["output"], fast["output"])


def test_complex_inputs_and_outputs() -> None:
    net = netcalc.from_torch(Complexes(), wave(2, 6, dtype=torch.cfloat))
    text = net.to_yaml()
    assert "input: {shape: [2, 6], dtype: complex64}" in text or "z: {shape: [2, 6], dtype: complex64}" in text
    outputs = netcalc.loads(text).run(seed=1).outputs
    assert {name: str(array.dtype) for name, array in outputs.items()} == {
        "z": "complex64",
        "size": "float32",
        "first": "complex64",
    }


class Attention(nn.Module):  # type: ignore[misc,name-defined,unused-ignore]
    """Attention of Llama's own code, with a table of complex numbers for more positions than there are."""

    def __init__(self, heads: int = 2, features: int = 32) -> None:
        super().__init__()
        self.heads = heads
        self.query, self.key, self.value = (nn.Linear(features, features, bias=False) for _ in range(3))
        size = features // heads
        angles = torch.outer(torch.arange(64.0), 1.0 / 500.0 ** (torch.arange(0, size, 2) / size))
        self.table = torch.polar(torch.ones_like(angles), angles)

    def rotated(self, x: Any) -> Any:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        return torch.view_as_real(pairs * self.table[: x.shape[1]].view(1, x.shape[1], 1, -1)).flatten(3).type_as(x)

    def forward(self, x: Any) -> Any:
        q, k, v = (layer(x).unflatten(-1, (self.heads, -1)) for layer in (self.query, self.key, self.value))
        heads = [t.transpose(1, 2) for t in (self.rotated(q), self.rotated(k), v)]
        return nn.functional.scaled_dot_product_attention(*heads, is_causal=True)


def test_rotations_by_complex_numbers_are_recognized() -> None:
    assert "rotary_embedding: {interleaved: true}" in netcalc.from_torch(Rotation(), wave(2, 9, 8)).to_yaml()


def test_rotations_by_a_long_table_of_complex_numbers_are_recognized() -> None:
    module, x = Attention(), wave(2, 9, 32)
    net = netcalc.from_torch(module, x)
    text = net.to_yaml()
    assert text.count("rotary_embedding: {theta: 500.0, interleaved: true}") == 2
    assert "complex" not in text
    assert net.verify_against(module, x).ok
    with (
        torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH),
        torch.utils.flop_counter.FlopCounterMode(display=False) as counter,
    ):
        module(x).sum().backward()
    assert net.analysis("torch", backward=True).total.flops_total == counter.get_total_flops()


def test_other_factors_of_complex_pairs_are_no_rotations() -> None:
    module, x = Attention(), wave(2, 9, 32)
    module.table = module.table * 1.01
    text = netcalc.from_torch(module, x).to_yaml()
    assert "rotary_embedding" not in text
    assert text.count("view_as_complex: {}") == 2


@pytest.mark.parametrize(
    ("function", "operator"),
    [
        (lambda z, x: z.var(), "aten.var.correction"),
        (lambda z, x: torch.relu(z.abs()) + z.sgn().real, "aten.sgn.default"),
        (lambda z, x: torch.nonzero(x), "aten.nonzero.default"),
        (lambda z, x: torch.unique(x) + 1, "aten._unique2.default"),
        (lambda z, x: torch.bincount(x.long().flatten(), minlength=4), "aten.bincount.default"),
    ],
)
def test_what_has_no_rule_is_named(function: Any, operator: str) -> None:
    with pytest.raises(netcalc.NetcalcError, match=operator) as refused:
        netcalc.from_torch(Waves(function), torch.zeros(3, 8))
    assert {found.code for found in refused.value.diagnostics} == {"E009"}
