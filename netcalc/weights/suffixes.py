"""Ends of the names of files of tensors, apart from their readers, so that a folder is looked at without these."""

from __future__ import annotations

#: Suffixes of pickles, which are never read.
PICKLES = (".pt", ".pth", ".bin", ".ckpt", ".pkl")
