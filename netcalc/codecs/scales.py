"""Scales of groups and tiles: their numbers, and the elements that each is for."""

from __future__ import annotations

import numpy as np

from netcalc.arrays import Array, numpy_dtype


def scale_values(scales: Array) -> Array:
    """Return scales in float32; bytes are exponents of 2, stored plus 127, and 255 is no number (E8M0).

    Source: OCP Microscaling Formats 1.0, 2023, section 5.4.1.
    """
    if scales.dtype == np.uint8:
        scales = scales.view(numpy_dtype("float8_e8m0fnu"))
    return scales.astype(np.float32)


def times_groups(numbers: Array, scales: Array) -> Array:
    """Return numbers times the scales of groups along their last axis.

    Raises:
        ValueError: the scales are not those of groups of one size.
    """
    groups = scales.shape[-1] if scales.ndim else 0
    if scales.shape[:-1] != numbers.shape[:-1] or not groups or numbers.shape[-1] % groups:
        raise ValueError(f"scales of shape {scales.shape} are none of groups in {numbers.shape}")
    scaled: Array = numbers.reshape(*scales.shape, -1) * scales.astype(np.float32)[..., None]
    return scaled.reshape(numbers.shape)


def spread_tiles(scales: Array, shape: tuple[int, ...], tile: tuple[int, int]) -> Array:
    """Return the scale of each element of the last two axes, by the rows and columns of a tile."""
    spread: Array = scales.repeat(tile[0], axis=-2)[..., : shape[-2], :]
    return spread.repeat(tile[1], axis=-1)[..., : shape[-1]]
