"""Checkpoints of one file or several: folders, indices of shards, and lists of files."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from netcalc.confinement import require_readable
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.files import exists
from netcalc.limits import MAX_STORED_TENSORS, MAX_TENSOR_FILES
from netcalc.weights.pieces import Part, seeks_parts, write_part
from netcalc.weights.stored import DamagedError, Header, clipped, exactly, file_error, opened, parsed_json, reading
from netcalc.weights.suffixes import PICKLES
from netcalc.weights.tensor_files import Arrays, Tensors, conversion, open_tensors

if TYPE_CHECKING:
    from netcalc.arrays import Array

#: Type of a ``weights`` argument: a file, a folder, an index of shards, several of these, arrays by name, or tensors.
Weights: TypeAlias = str | Path | Tensors | Sequence[str | Path | Tensors] | Mapping[str, Any]

_INDEX = ".safetensors.index.json"
#: Index of shards that are pickles.
_INDEX_OF_PICKLES = ".bin.index.json"
#: Name of one of several numbered shards.
_SHARD = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.safetensors")
#: Characters of the name of a missing file in a message.
_CLIPPED = 100


class Index(NamedTuple):
    """An index of shards: the shard of each tensor, and what the index says of the whole checkpoint."""

    path: str
    places: Mapping[str, str]
    metadata: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class CheckpointFiles:
    """The opened files of a checkpoint, and the index that named them."""

    name: str
    files: Sequence[Tensors]
    index: Index | None = None


def weights_names(weights: Weights) -> tuple[str, ...]:
    """Return the names of the files or tensors of a checkpoint."""
    if isinstance(weights, Mapping):
        return (Arrays.name,)
    parts = [weights] if isinstance(weights, (str, Path, Tensors)) else weights
    return tuple(part.name if isinstance(part, Tensors) else str(part) for part in parts)


def open_weights(weights: Weights) -> Tensors:
    """Open a checkpoint and read its headers.

    Raises:
        NetcalcError: E605 with everything that is wrong with its files.
    """
    if isinstance(weights, Mapping):
        return Arrays(weights)
    if isinstance(weights, (str, Path, Tensors)):
        return _open(weights)
    if not weights:
        raise NetcalcError(Diagnostic("E605", "the list of weights is empty"))
    files = _limited(map(_open, weights), len(weights), "the weights")
    return files[0] if len(files) == 1 else Joined(files, ", ".join(file.name for file in files))


def checkpoint_files(path: Path | Tensors) -> CheckpointFiles:
    """Open the files of a checkpoint: a file of tensors, those that an index names, or those in a folder.

    Tensors that are opened already are taken as they are.

    Raises:
        NetcalcError: E605 with everything that is wrong with them.
    """
    if isinstance(path, Joined):
        return CheckpointFiles(path.name, path.files, path.index)
    if not isinstance(path, Path):
        return CheckpointFiles(path.name, [path])
    require_readable(path)
    if os.path.isdir(path):  # noqa: PTH112 - raises nothing
        return _folder(path)
    if path.name.endswith(".index.json"):
        return _indexed(path)
    if path.name.lower().endswith(".gguf"):
        from netcalc.weights.gguf.tensors import open_gguf

        model = open_gguf(path)
        return CheckpointFiles(model.name, model.stored)
    return CheckpointFiles(str(path), [open_tensors(path)])


def _open(source: str | Path | Tensors) -> Tensors:
    if isinstance(source, Tensors):
        return source
    checkpoint = checkpoint_files(Path(source))
    if len(checkpoint.files) == 1 and checkpoint.index is None:
        return checkpoint.files[0]
    return Joined(checkpoint.files, checkpoint.name, checkpoint.index)


def _folder(folder: Path) -> CheckpointFiles:
    """Open the weights in a folder: its index, ``model.safetensors``, or all files of tensors."""
    with reading(str(folder)), os.scandir(folder) as entries:  # pathlib would ask for the kind of each file
        suffixes = (".safetensors", ".npz", _INDEX, _INDEX_OF_PICKLES, *PICKLES)
        files = sorted(folder / entry.name for entry in entries if entry.name.endswith(suffixes) and entry.is_file())
    indices = [file for file in files if file.name.endswith(_INDEX)]
    if len(indices) > 1:
        names = ", ".join(file.name for file in indices)
        raise file_error(f"{folder} has several indices: {names}", "give one of them in place of the folder")
    if indices:
        return _indexed(indices[0], str(folder))
    shards = [file for file in files if file.suffix == ".safetensors"]
    single = [file for file in shards if file.name == "model.safetensors"]
    chosen = single or shards or [file for file in files if file.suffix == ".npz"]
    if not chosen:
        raise _no_weights(folder, files)
    _require_all_shards(folder, [file.name for file in chosen])
    return CheckpointFiles(str(folder), _limited(map(open_tensors, chosen), len(chosen), str(folder)))


def _no_weights(folder: Path, files: Sequence[Path]) -> NetcalcError:
    """Return the error of a folder without files of tensors, which may hold pickles, or an index of pickles alone."""
    pickles = [file for file in files if file.suffix in PICKLES]
    models = [file for file in pickles if file.name.startswith("pytorch_model")]
    index = next((file for file in files if file.name.endswith(_INDEX_OF_PICKLES)), None)
    if index is not None and not models:
        shards = list(dict.fromkeys(read_index(index, str(index)).places.values()))[:MAX_TENSOR_FILES]
        text = f"{folder} holds an index of pickles, {index.name}, without the pickles"
        named, pickles = [shard[:_CLIPPED] for shard in shards], [folder / shard for shard in shards]
    elif pickles:
        text, pickles = f"{folder} holds pickles only", models or pickles
        named = [file.name for file in pickles]
    else:
        return file_error(f"{folder} holds no weights", "it should have .safetensors or .npz files")
    return file_error(f"{text}: {', '.join(named[:3])}" + (" …" if len(named) > 3 else ""), conversion(pickles))


def _require_all_shards(folder: Path, names: Iterable[str]) -> None:
    """Raise NetcalcError if a numbered shard is missing."""
    numbers: dict[tuple[str, int], set[int]] = {}
    for match in filter(None, map(_SHARD.fullmatch, names)):
        numbers.setdefault((match[1], int(match[3])), set()).add(int(match[2]))
    for (stem, total), present in numbers.items():
        missing = total - len(present)
        if missing:
            first = next(number for number in range(1, total + 1) if number not in present)
            name = f"{stem}-{first:05}-of-{total:05}.safetensors"
            raise file_error(f"{folder}: {missing} of {total} shards missing, the first of them {name}")


def _indexed(path: Path, name: str | None = None) -> CheckpointFiles:
    """Open the shards that an index names, all of which must be there."""
    index = read_index(path, str(path))
    shards = dict.fromkeys(index.places.values())
    missing = [shard for shard in shards if not exists(path.parent / shard)]
    if missing:
        texts = [f"{path}: the shard {shard[:_CLIPPED]} is missing" for shard in missing[:10]]
        raise NetcalcError([Diagnostic("E605", text) for text in texts])
    files = open_shards(index, lambda names: (open_tensors(path.parent / shard) for shard in names))
    return CheckpointFiles(name or str(path), files, index)


def open_shards(index: Index, open_all: Callable[[Sequence[str]], Iterable[Tensors]]) -> list[Tensors]:
    """Open the shards that an index names, and compare their tensors with the index.

    Args:
        index: the index.
        open_all: opens shards by name, in order, when they are asked for.

    Raises:
        NetcalcError: E605 if the index names a tensor that its shard lacks.
    """
    names = list(dict.fromkeys(index.places.values()))
    files = _limited(open_all(names), len(names), index.path)
    shards = dict(zip(names, files, strict=True))
    absent = [tensor for tensor, shard in index.places.items() if tensor not in shards[shard].headers]
    if absent:
        others = f", nor {len(absent) - 1:,} more that the index names" if len(absent) > 1 else ""
        raise file_error(f"{index.path}: {clipped(absent[0])} is not in its shard {index.places[absent[0]]}{others}")
    return files


def read_index(path: Path, name: str) -> Index:
    """Return an index, whose shards are files in its folder; ``name`` is its name in messages.

    Raises:
        NetcalcError: E605 if the file cannot be read or is no index.
    """
    with reading(name), opened(path) as (file, length):
        data = exactly(file, length, "an index")
    places, metadata, reason = None, None, ""
    try:
        content = parsed_json(data)
        if isinstance(content, dict):
            places, metadata = content.get("weight_map"), content.get("metadata")
    except DamagedError as error:
        reason = f": {error}"
    if not isinstance(places, dict) or not places or not all(isinstance(shard, str) for shard in places.values()):
        hint = 'an index has {"weight_map": {"name of a tensor": "file.safetensors", …}}'
        raise file_error(f"{name} is not an index of shards{reason}", hint)
    outside = [shard for shard in dict.fromkeys(places.values()) if not _is_filename(shard)]
    if outside:
        texts = [f"{name}: the shard {clipped(s)} should be the name of a file in the same folder" for s in outside]
        raise NetcalcError([Diagnostic("E605", text) for text in texts[:10]])
    return Index(name, places, metadata if isinstance(metadata, dict) else {})


def _is_filename(shard: str) -> bool:
    """Return True for the name of a file without a folder."""
    outside = shard in ("", ".", "..") or "/" in shard or "\\" in shard or "\0" in shard
    return not outside and not Path(shard).drive


def _limited(opened_files: Iterable[Tensors], count: int, name: str) -> list[Tensors]:
    """Return the files of one checkpoint, which are opened here, with bounds on the numbers of files and of tensors."""
    if count > MAX_TENSOR_FILES:
        raise file_error(f"{name}: {count:,} files of weights, and the limit is {MAX_TENSOR_FILES:,}")
    files: list[Tensors] = []
    total = 0
    for file in opened_files:
        files.append(file)
        total += len(file.headers)
        if total > MAX_STORED_TENSORS:
            raise file_error(f"{name}: more than {MAX_STORED_TENSORS:,} tensors, which is the limit")
    return files


class Joined:
    """The tensors of several files, and the index that named them."""

    def __init__(self, files: Sequence[Tensors], name: str, index: Index | None = None) -> None:
        self.name = name
        self.index = index
        self.files = files
        self.seeks_parts = all(map(seeks_parts, files))
        self.headers: dict[str, Header] = {}
        self._files: dict[str, Tensors] = {}
        for file in files:
            twice = [tensor for tensor in file.headers if tensor in self._files]
            if twice:
                others = f" and {len(twice) - 1:,} more are" if len(twice) > 1 else " is"
                raise file_error(f"{clipped(twice[0])}{others} in both {self._files[twice[0]].name} and {file.name}")
            self.headers |= file.headers
            self._files |= dict.fromkeys(file.headers, file)

    def load(self, name: str) -> Array:
        """Return the data of one tensor, from its file."""
        return self._files[name].load(name)

    def write(self, name: str, part: Part) -> None:
        """Write a part of one tensor, from its file, to its place."""
        write_part(self._files[name], name, part)
