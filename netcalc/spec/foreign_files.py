"""Recognition of files of other kinds that are given in place of a spec: checkpoints, configurations, other formats."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from netcalc.diagnostics import Diagnostic

#: Greatest plausible length of the header of a safetensors file, in bytes.
_MAX_HEADER = 100_000_000

_WEIGHTS = (
    "`netcalc params {0}` lists its tensors; give weights to a spec: `netcalc run SPEC --weights {0}`, or "
    "`netcalc verify SPEC --weights {0}` to compare them"
)
_UNREAD = (
    "netcalc reads specs, of which `netcalc specs` lists those that ship, configurations of Hugging Face, GGUF, Keras "
    "and ONNX models, and modules of PyTorch by `netcalc import torch:…`"
)
_PICKLE = "`netcalc run SPEC --weights {0}` prints the command that converts it to safetensors, which a spec can load"


class _Kind(NamedTuple):
    """A kind of file: a phrase for messages, and a hint with a place for the path."""

    name: str
    hint: str


_BY_SUFFIX = {
    ".safetensors": _Kind("a safetensors file of weights", _WEIGHTS),
    ".npz": _Kind("a NumPy archive of arrays", _WEIGHTS),
    ".npy": _Kind("a NumPy array", _WEIGHTS),
    ".onnx": _Kind("an ONNX model", "give it by a name that ends in .onnx, as a model of its own"),
    ".gguf": _Kind("a GGUF model", "give it by a name that ends in .gguf, as a model of its own"),
    ".pt2": _Kind("an exported PyTorch program", "`netcalc import {0}` writes its spec"),
    ".h5": _Kind("an HDF5 file", _UNREAD),
    ".keras": _Kind("a Keras model", "give it by a name that ends in .keras, as a model of its own"),
    ".pt": _Kind("a pickle of PyTorch", _PICKLE),
}
_BY_SUFFIX |= dict.fromkeys((".pth", ".bin", ".ckpt", ".pkl"), _BY_SUFFIX[".pt"])
_BY_MAGIC = {
    b"GGUF": ".gguf",
    b"\x93NUMPY": ".npy",
    b"\x89HDF": ".h5",
    b"\x80\x02": ".pt",
    b"PK\x03\x04": ".pt",  # an archive of torch.save; NumPy's archives have a suffix of their own
}


def foreign_file(path: Path, head: bytes) -> Diagnostic | None:
    """Return the error for a file that is no spec by its suffix or its first 16 bytes, or None."""
    suffix = path.suffix.lower()
    if suffix not in _BY_SUFFIX:
        suffix = next((of_magic for magic, of_magic in _BY_MAGIC.items() if head.startswith(magic)), "")
    if not suffix and head[8:9] == b"{" and int.from_bytes(head[:8], "little") < _MAX_HEADER:
        suffix = ".safetensors"
    # the first field of a serialized ONNX model is its version, a small number
    if not suffix and head[:1] == b"\x08" and head[1:2] < b"\x20" and head[2:3] in (b"\x12", b"\x1a", b"\x3a"):
        suffix = ".onnx"
    return _error(path, _BY_SUFFIX[suffix]) if suffix else None


def foreign_data(data: Mapping[str, Any]) -> Diagnostic | None:
    """Return the error for a mapping that is no spec but a file of a Hugging Face model, or None."""
    if "weight_map" in data:
        return _error("this", _Kind("the index of a checkpoint in several files", _WEIGHTS.format("FOLDER")))
    if "model_type" not in data and "architectures" not in data:
        return None
    model = str(data.get("model_type") or "")
    name = f"the configuration of a Hugging Face model{f' of type {model}' if model else ''}"
    return _error("this", _Kind(name, "give its file, config.json, or its folder"))


def _error(subject: Path | str, kind: _Kind) -> Diagnostic:
    return Diagnostic("E004", f"{subject} is {kind.name}, not a spec", hint=kind.hint.format(subject))
