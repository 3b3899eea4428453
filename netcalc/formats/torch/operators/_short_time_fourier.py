"""Short-time Fourier transforms: windows of a signal, their transforms, and sums of overlapping windows."""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import RuleError
from netcalc.formats.graph.builder import Builder
from netcalc.formats.graph.model import Value
from netcalc.formats.torch.operators import operator


@operator("aten.stft.default")
def stft(
    build: Builder,
    input: Value,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Value | None,
    normalized: bool,
    onesided: bool | None,
    return_complex: bool | None,
    align_to_window: bool | None,
) -> Value:
    """Transforms of windows along the last axis: frequencies before windows."""
    if align_to_window:
        raise RuleError("windows that are aligned cannot be expressed")
    x = input if input.type.rank > 1 else build.line("unsqueeze", [input], {"axis": 0})
    signals, length = x.type.shape
    image = build.line("reshape", [x], {"shape": [signals, 1, 1, length]})
    windows = build.line("unfold", [image], _windows(n_fft, hop_length or n_fft // 4))
    weights = _weights(build, n_fft, win_length, window)
    if weights is not None:
        windows = build.line("mul", [windows, weights])
    half = not input.type.is_complex if onesided is None else onesided
    spectrum = build.line("rfft" if half else "fft", [windows], _over_windows(normalized))
    if x is not input:
        spectrum = build.line("squeeze", [spectrum], {"axis": 0})
    return spectrum if return_complex else build.line("view_as_real", [spectrum])


@operator("aten.istft.default")
def istft(
    build: Builder,
    input: Value,
    n_fft: int,
    hop_length: int | None,
    win_length: int | None,
    window: Value | None,
    center: bool,
    normalized: bool,
    onesided: bool | None,
    length: int | None,
    return_complex: bool,
) -> Value:
    """Sums of the windows that have these transforms, divided by the sums of squares of the window."""
    hop = hop_length or n_fft // 4
    spectrum = input if input.type.rank > 2 else build.line("unsqueeze", [input], {"axis": 0})
    count = spectrum.type.shape[-1]
    half = onesided if onesided is not None else spectrum.type.shape[-2] != n_fft
    attributes = _over_windows(normalized)
    if half:
        windows = build.line("irfft", [spectrum], {**attributes, "n": n_fft})
    else:
        windows = build.line("ifft", [spectrum], attributes)
        windows = windows if return_complex else build.line("real", [windows])
    weights = _weights(build, n_fft, win_length, window)
    size = n_fft + hop * (count - 1)
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else size - start
    squares = build.line("constant", [], {"value": 1.0, "shape": [n_fft, 1], "dtype": windows.type.dtype})
    if weights is not None:
        windows = build.line("mul", [windows, weights])
        squares = build.line("square", [weights])
    squares = build.line("expand", [squares], {"shape": [1, n_fft, count]})
    sums = [_overlapping(build, x, n_fft, hop, size, start, end) for x in (windows, squares)]
    result = build.line("div", sums)
    if isinstance(end, int) and isinstance(size, int) and end > size:
        result = build.line("pad", [result], {"padding": [[0, end - size]], "axis": [1]})
    return result if spectrum is input else build.line("squeeze", [result], {"axis": 0})


def _overlapping(build: Builder, windows: Value, n_fft: int, hop: int, size: Any, start: int, end: Any) -> Value:
    """Return the sums of windows, from a start to an end."""
    image = build.line("fold", [windows], {"output_size": [1, size], **_windows(n_fft, hop)})
    signal = build.line("reshape", [image], {"shape": [windows.type.shape[0], size]})
    return build.line("slice", [signal], {"axis": 1, "start": start, "stop": end})


def _windows(n_fft: int, hop: int) -> dict[str, Any]:
    return {"kernel": [1, n_fft], "stride": [1, hop]}


def _over_windows(normalized: bool) -> dict[str, Any]:
    """Return the attributes of transforms of windows, whose elements are along the axis before the last one."""
    return {"axis": -2, "norm": "ortho" if normalized else None}


def _weights(build: Builder, n_fft: int, win_length: int | None, window: Value | None) -> Value | None:
    """Return the window, with zeros up to the size of the transform, as a column; None if it is all ones."""
    length = win_length or n_fft
    if window is None and length == n_fft:
        return None
    weights = window if window is not None else build.line("constant", [], {"value": 1.0, "shape": [length]})
    if length < n_fft:
        before = (n_fft - length) // 2
        weights = build.line("pad", [weights], {"padding": [[before, n_fft - length - before]], "axis": [0]})
    return build.line("unsqueeze", [weights], {"axis": 1})
