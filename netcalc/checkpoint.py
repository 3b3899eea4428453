"""Python API: the content of a checkpoint, read without a spec."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING

from netcalc.weights.content import CheckpointContent, read_content

if TYPE_CHECKING:
    from netcalc.render.page import Page

__all__ = ["Checkpoint"]


class Checkpoint(CheckpointContent):
    """The tensors of a checkpoint, created by :func:`netcalc.read_checkpoint`."""

    __slots__ = ()

    @classmethod
    def read(cls, path: str | Path) -> Checkpoint:
        """Return the content of the checkpoint at a path."""
        found = read_content(Path(path))
        return cls(**{part.name: getattr(found, part.name) for part in fields(found)})

    def __repr__(self) -> str:
        return f"<Checkpoint {self.name!r}: {len(self.tensors):,} tensors>"

    def __str__(self) -> str:
        from netcalc.render.page import page_text

        return "\n".join(page_text(self._page()))

    def _repr_html_(self) -> str:
        from netcalc.render.page import page_html

        return page_html(self._page())

    def _page(self) -> Page:
        from netcalc.render.checkpoints import checkpoint_page
        from netcalc.weights.tree import checkpoint_tree

        return checkpoint_page(self, checkpoint_tree(self.tensors))
