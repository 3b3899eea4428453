"""Products of windows and packed filters cut for several workers."""

from __future__ import annotations

import math

from netcalc.engine.lower.conv.geometry import Convolution, ConvTile
from netcalc.engine.lower.regions import cut_regions
from netcalc.engine.native.library import Blocks
from netcalc.engine.step import cuts

#: Windows that a job reads in the time of a block.
_WINDOWS_READ = 16


def product_tiles(conv: Convolution, jobs: int, size: Blocks) -> list[ConvTile]:
    """Return tiles of rows, each of which reads all filters, or of columns, each of which reads all windows.

    The work of a job is counted in blocks: to read a panel of filters takes about as long as a block.
    """
    by_rows, by_columns = _by_rows(conv, jobs), _by_columns(conv, jobs, size)

    def blocks_of(tile: ConvTile) -> int:
        panels: int = -(-(tile.channels.stop - tile.channels.start) // size.width)
        return (-(-windows_in(conv, tile) // size.rows) + 1) * panels

    most_by_rows = max(map(blocks_of, by_rows)) * -(-len(by_rows) // jobs)
    most_by_columns = max(blocks_of(tile) + windows_in(conv, tile) // _WINDOWS_READ for tile in by_columns)
    return by_rows if len(by_columns) == 1 or most_by_rows <= most_by_columns else by_columns


def windows_in(conv: Convolution, tile: ConvTile) -> int:
    """Return the number of windows of a tile."""
    count: int = tile.region.images * tile.region.height * math.prod(conv.counts[1:])
    return count


def _by_rows(conv: Convolution, jobs: int) -> list[ConvTile]:
    width = math.prod(conv.counts[1:])
    pixels = -(-conv.batch * conv.counts[0] // jobs) * width
    regions = cut_regions(conv.batch, conv.counts[0], width, pixels, jobs)
    return [ConvTile(region, slice(0, conv.outs)) for region in regions]


def _by_columns(conv: Convolution, jobs: int, size: Blocks) -> list[ConvTile]:
    """Return tiles of whole panels; a single one where that is not possible."""
    columns = cuts(conv.outs, jobs if conv.groups == 1 else 1, size.width)
    if any(start % size.width for start, _ in columns):
        columns = [(0, conv.outs)]
    width = math.prod(conv.counts[1:])
    (region,) = cut_regions(conv.batch, conv.counts[0], width, conv.batch * conv.counts[0] * width)
    return [ConvTile(region, slice(*ends)) for ends in columns]
