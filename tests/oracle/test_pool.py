"""Windowed pooling with random attributes and shapes, against torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.oracle.harness import agree, draws
from tests.oracle.test_conv import per_axis, signal, tupled

torch = pytest.importorskip("torch")
F = torch.nn.functional


@st.composite
def poolings(draw: st.DrawFn, *names: str) -> tuple[int, dict[str, Any], np.ndarray]:
    axes = draw(st.integers(1, 3))
    attrs: dict[str, Any] = {"kernel": per_axis(draw, axes, 1, 4), "ceil_mode": draw(st.booleans())}
    if draw(st.booleans()):
        attrs["stride"] = per_axis(draw, axes, 1, 4)
    if "padding" in names:
        attrs["padding"] = per_axis(draw, axes, 0, 2)
    if "dilation" in names:
        attrs["dilation"] = per_axis(draw, axes, 1, 3)
    return axes, attrs, signal(draw, axes, 2)


def layer(name: str, axes: int, attrs: dict[str, Any]) -> Any:
    given = {"kernel_size" if k == "kernel" else k: tupled(v) for k, v in attrs.items()}
    return getattr(torch.nn, f"{name}{axes}d")(**given)


def some_window_is_padding(axes: int, attrs: dict[str, Any], x: np.ndarray) -> bool:
    """Return True for a dilated window of padding alone, for whose gradient torch writes out of bounds."""
    try:
        return not bool(torch.isfinite(layer("MaxPool", axes, attrs)(torch.from_numpy(x))).all())
    except (RuntimeError, ValueError):
        return False


@draws
@given(poolings("padding", "dilation"), st.booleans())
def test_max_pool(drawn: tuple[int, dict[str, Any], np.ndarray], indices: bool) -> None:
    axes, attrs, x = drawn
    x = np.round(x)  # ties, of which the first counts
    gradients = not some_window_is_padding(axes, attrs, x)
    attrs["return_indices"] = indices
    agree(f"max_pool{axes}d", attrs, [x], lambda _, x: layer("MaxPool", axes, attrs)(x), gradients=gradients)


@draws
@given(poolings("padding"), st.booleans(), st.none() | st.integers(-3, 3))
def test_avg_pool(drawn: tuple[int, dict[str, Any], np.ndarray], count: bool, divisor: int | None) -> None:
    axes, attrs, x = drawn
    attrs["count_include_pad"] = count
    if axes > 1:
        attrs["divisor_override"] = divisor
    agree(f"avg_pool{axes}d", attrs, [x], lambda _, x: layer("AvgPool", axes, attrs)(x))


@draws
@given(poolings(), st.sampled_from([1, 2, 2.5, 3.0]))
def test_lp_pool(drawn: tuple[int, dict[str, Any], np.ndarray], power: float) -> None:
    axes, attrs, x = drawn
    attrs["norm_type"] = power
    if power not in (1, 2):
        x = np.abs(x)  # rounding may decide if a root is NaN
    one = attrs if axes > 1 else {k: v[0] if isinstance(v, list) else v for k, v in attrs.items()}
    agree(f"lp_pool{axes}d", attrs, [x], lambda _, x: layer("LPPool", axes, one)(x))


# -- padding that torch's pools do not take: written with torch's pad ---------------------------------------------


@st.composite
def padded(draw: st.DrawFn) -> tuple[int, dict[str, Any], list[tuple[int, int]], np.ndarray]:
    """Draw a pooling with padding by side or by rule; return axes, attributes, the padding of each axis, and x."""
    axes = draw(st.integers(1, 3))
    numbers = st.lists(st.integers(1, 4), min_size=axes, max_size=axes)
    kernel, stride, sizes = draw(numbers), draw(numbers), draw(numbers.map(lambda sizes: [n + 4 for n in sizes]))
    attrs: dict[str, Any] = {"kernel": kernel, "stride": stride}
    rule = draw(st.sampled_from(["same_upper", "same_lower", None]))
    attrs["dilation"] = draw(numbers) if draw(st.booleans()) else [1] * axes
    pads = []
    for k, s, d, n in zip(kernel, stride, attrs["dilation"], sizes, strict=True):
        if rule:  # tf.nn's documentation of SAME: https://www.tensorflow.org/api_docs/python/tf/nn#notes_on_padding_2
            reach = (k - 1) * d + 1
            total = max(reach - s, 0) if n % s == 0 else max(reach - n % s, 0)
            less, more = total // 2, total - total // 2
            pads.append((less, more) if rule == "same_upper" else (more, less))
        else:
            before = draw(st.integers(0, k - 1))
            pads.append((before, draw(st.integers(0, min(k - 1, k - before)))))
    attrs["padding"] = rule or [list(pair) for pair in pads]
    x = np.random.default_rng(0).normal(size=(2, 3, *sizes)).astype(np.float32)
    return axes, attrs, pads, x


def surrounded(x: Any, pads: list[tuple[int, int]], value: float) -> Any:
    return F.pad(x, [side for pair in reversed(pads) for side in pair], value=value)


@draws
@given(padded())
def test_max_pool_with_padding_by_side_or_rule(
    drawn: tuple[int, dict[str, Any], list[tuple[int, int]], np.ndarray],
) -> None:
    axes, attrs, pads, x = drawn
    pool = getattr(F, f"max_pool{axes}d")

    def reference(_: Any, x: Any) -> Any:
        return pool(surrounded(x, pads, -np.inf), attrs["kernel"], attrs["stride"], 0, attrs["dilation"])

    agree(f"max_pool{axes}d", attrs, [x], reference)


@draws
@given(padded(), st.booleans())
def test_indices_with_padding_by_side_or_rule(
    drawn: tuple[int, dict[str, Any], list[tuple[int, int]], np.ndarray], rounded: bool
) -> None:
    """The padding is cut off from indices into the padded image."""
    axes, attrs, pads, x = drawn
    assume(axes == 2)
    x = np.round(x) if rounded else x

    def reference(_: Any, x: Any) -> Any:
        width = x.shape[-1] + sum(pads[1])
        y, found = F.max_pool2d(
            surrounded(x, pads, -np.inf), attrs["kernel"], attrs["stride"], 0, attrs["dilation"], return_indices=True
        )
        assume(bool(torch.isfinite(y).all()))
        return y, (found // width - pads[0][0]) * x.shape[-1] + found % width - pads[1][0]

    agree("max_pool2d", {**attrs, "return_indices": True}, [x], reference)


@draws
@given(padded(), st.booleans())
def test_avg_pool_with_padding_by_side_or_rule(
    drawn: tuple[int, dict[str, Any], list[tuple[int, int]], np.ndarray], count: bool
) -> None:
    axes, attrs, pads, x = drawn
    assume(set(attrs.pop("dilation")) == {1})
    attrs["count_include_pad"] = count
    pool = getattr(F, f"avg_pool{axes}d")

    def reference(_: Any, x: Any) -> Any:
        y = pool(surrounded(x, pads, 0), attrs["kernel"], attrs["stride"])
        return y if count else y / pool(surrounded(torch.ones_like(x), pads, 0), attrs["kernel"], attrs["stride"])

    agree(f"avg_pool{axes}d", attrs, [x], reference)


@draws
@given(padded())
def test_lp_pool_with_padding_by_side_or_rule(
    drawn: tuple[int, dict[str, Any], list[tuple[int, int]], np.ndarray],
) -> None:
    axes, attrs, pads, x = drawn
    assume(set(attrs.pop("dilation")) == {1})
    attrs["norm_type"] = 2

    def reference(_: Any, x: Any) -> Any:
        window = (attrs["kernel"], attrs["stride"]) if axes > 1 else (attrs["kernel"][0], attrs["stride"][0])
        return getattr(F, f"lp_pool{axes}d")(surrounded(x, pads, 0), 2, *window)

    agree(f"lp_pool{axes}d", attrs, [x], reference)


@pytest.mark.parametrize("count", [False, True])
@pytest.mark.parametrize(("kernel", "stride", "size"), [(2, 2, 7), (3, 2, 7), (3, 3, 8), (2, 1, 5)])
def test_same_padding_of_timm(kernel: int, stride: int, size: int, count: bool) -> None:
    pools = pytest.importorskip("timm.layers.pool2d_same")
    x = np.random.default_rng(0).normal(size=(2, 3, size, size + 2)).astype(np.float32)
    attrs = {"kernel": kernel, "stride": stride, "padding": "same_upper"}
    agree("max_pool2d", attrs, [x], lambda _, x: pools.MaxPool2dSame(kernel, stride)(x))
    if count:
        agree("avg_pool2d", attrs, [x], lambda _, x: pools.AvgPool2dSame(kernel, stride)(x))
