"""Regions of the images of a result: whole images, or some rows of one."""

from __future__ import annotations

from typing import NamedTuple

from netcalc.engine.step import cuts


class Region(NamedTuple):
    """Images ``first`` to ``end``, and of each the rows ``top`` to ``bottom`` of the result."""

    first: int
    end: int
    top: int
    bottom: int

    @property
    def images(self) -> int:
        """Number of images."""
        return self.end - self.first

    @property
    def height(self) -> int:
        """Rows of each image."""
        return self.bottom - self.top


def cut_regions(batch: int, height: int, width: int, pixels: int, jobs: int = 1) -> list[Region]:
    """Cut (batch, height, width) into regions of about so many pixels.

    Their number is a multiple of ``jobs``, unless that would leave very little in each.
    """
    image = height * width
    if image * 2 <= pixels and batch > 1:
        pieces = -(-batch * image // pixels)
        pieces = min(batch, -(-pieces // jobs) * jobs)
        return [Region(first, end, 0, height) for first, end in cuts(batch, pieces)]
    pieces = max(1, -(-image // pixels))
    if batch % jobs and (batch * pieces) % jobs:
        pieces = -(-pieces // jobs) * jobs
    return [Region(n, n + 1, top, bottom) for n in range(batch) for top, bottom in cuts(height, pieces)]
