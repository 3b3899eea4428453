"""Devices: memory, bandwidth and peaks of accelerators and computers, read from ``data/devices``.

A file has these keys::

    sources: {KEY: TEXT}
    devices:
      NAME:
        title: TEXT
        names: [NAME]              # other names
        memory: FIGURE             # bytes that a network may fill, as the vendor states them
        flash: FIGURE              # bytes of memory that is only read, of a microcontroller
        bandwidth: FIGURE          # bytes a second between memory and processor
        cache: FIGURE              # bytes of the last cache that all cores share
        cache_bandwidth: FIGURE    # bytes a second
        peaks: {source: KEY, values: {TYPE: NUMBER}}   # FLOP/s of dense products by element type
        node_link: FIGURE          # bytes a second in one direction to the other devices of a node
        network_link: FIGURE       # bytes a second in one direction to other nodes
        power: FIGURE              # W

A ``FIGURE`` is ``{value: NUMBER, source: KEY}``, where bytes may have a unit, as in ``80GB``, or null if it is not
published.  A user's file has one device; its figures may be plain numbers without a source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, get_args

from netcalc.amounts import size_in_bytes
from netcalc.characters import conversion
from netcalc.confinement import require_readable
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.options import PeakType

if TYPE_CHECKING:
    from netcalc.spec.cursor import Cursor

_FOLDER = Path(__file__).parent.parent / "data" / "devices"
#: Figures in bytes or bytes a second.
_SIZES = ("memory", "flash", "bandwidth", "cache", "cache_bandwidth", "node_link", "network_link")
_KEYS = {"title", "names", "peaks", "power", *_SIZES}
#: Element types of peaks, by the names of their figures.
PEAK_TYPES = get_args(PeakType)
_SUFFIXES = (".yaml", ".yml")
_COUNTED = re.compile(r"(.+):(\d{1,9})")
#: Names that a message lists.
_MOST_NEAR = 5


class Device(NamedTuple):
    """A device; what is not published is None."""

    name: str
    """Name, or the budget in bytes as it was given."""
    title: str
    """Name in words."""
    memory: int | None
    """Bytes of memory."""
    bandwidth: int | None = None
    """Bytes a second between memory and processor."""
    peaks: Mapping[str, int] = {}
    """FLOP/s of dense products by element type."""
    node_link: int | None = None
    """Bytes a second in one direction to the other devices of a node."""
    network_link: int | None = None
    """Bytes a second in one direction to other nodes."""
    power: int | None = None
    """Power in W."""
    flash: int | None = None
    """Bytes of memory that is only read, of a microcontroller."""
    cache: int | None = None
    """Bytes of the last cache that all cores share."""
    cache_bandwidth: int | None = None
    """Bytes a second between this cache and the cores."""
    names: tuple[str, ...] = ()
    """Other names."""
    sources: Mapping[str, str] = {}
    """Source of each figure by its name."""

    @property
    def is_budget(self) -> bool:
        """True for bytes of memory alone."""
        return not self.sources and not self.peaks and self.bandwidth is None


class Devices(NamedTuple):
    """A number of equal devices."""

    device: Device
    """The device."""
    number: int = 1
    """Number of devices."""


def devices() -> Iterator[Device]:
    """Yield the shipped devices, in the order of their files."""
    for file in _texts():
        yield from _read(file).values()


def device_named(name: str) -> Device:
    """Return a shipped device by one of its names, in any case.

    Raises:
        NetcalcError: E502 if there is none, with the names that are near.

    >>> device_named("H100").title
    'NVIDIA H100 SXM5'
    """
    wanted = name.lower().replace("_", "-")
    for file, text in _texts().items():
        if re.search(rf"(?<![\w-]){re.escape(wanted)}(?![\w-])", text):
            for device in _read(file).values():
                if wanted == device.name or wanted in device.names:
                    return device
    known = [other for device in devices() for other in (device.name, *device.names)]
    hint = f"{_near(wanted, known)}; or name bytes (80GiB) or a YAML file"
    raise NetcalcError(Diagnostic("E502", f"--device {name}: there is no such device", hint=hint))


def device_in(path: str | Path) -> Device:
    """Return the device of a user's file.

    Raises:
        NetcalcError: E605 if the file cannot be read; E502, E001 or E003 for what it says, with the place.
    """
    from netcalc.spec.yaml_document import parse_yaml

    require_readable(path)
    try:
        text = Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        hint = conversion(error.object, str(path))
        raise NetcalcError(Diagnostic("E605", f"--device {path}: it is no text in UTF-8", hint=hint)) from None
    except OSError as error:
        raise NetcalcError(Diagnostic("E605", f"--device {path}: {error.strerror or error}")) from None
    found = list(_devices(parse_yaml(text, str(path))).values())
    if len(found) != 1:
        raise NetcalcError(Diagnostic("E502", f"--device {path}: should have one device, not {len(found)}"))
    return found[0]


def chosen_devices(text: str | int) -> Devices:
    """Return the devices of ``NAME[:COUNT]``, with a name, bytes such as ``80GiB``, or the path of a YAML file.

    Raises:
        NetcalcError: as :func:`device_named` and :func:`device_in` do; E502 for a count of 0.

    >>> chosen_devices("h100:8").number
    8
    >>> chosen_devices("80GiB").device.memory
    85899345920
    """
    if isinstance(text, int):
        return Devices(Device(str(text), f"{text:,} bytes of memory", text))
    counted = _COUNTED.fullmatch(text)
    name, count = (counted[1], int(counted[2])) if counted else (text, 1)
    if count < 1:
        raise NetcalcError(Diagnostic("E502", f"--device {text}: there should be at least 1 device"))
    if name.endswith(_SUFFIXES):
        return Devices(device_in(name), count)
    memory = None if name in _short_names() else size_in_bytes(name)
    if memory is not None:
        return Devices(Device(name, f"{name} of memory", memory), count)
    return Devices(device_named(name), count)


@cache
def _short_names() -> frozenset[str]:
    """Return names that look like bytes, such as 4090."""
    return frozenset(re.findall(r'"(\d+)"', "".join(_texts().values())))


def _near(name: str, known: list[str]) -> str:
    """Return the names near to another one, or else some of all, as a hint."""
    from difflib import get_close_matches

    alike = [other for other in known if name in other or other in name]
    near = list(dict.fromkeys(get_close_matches(name, known, _MOST_NEAR, 0.5) + alike))[:_MOST_NEAR]
    return f"near are {', '.join(near)}" if near else f"known are {', '.join(d.name for d in devices())}"


@cache
def _texts() -> Mapping[str, str]:
    """Return the texts of the shipped files by name."""
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(_FOLDER.glob("*.yaml"))}


@cache
def _read(file: str) -> Mapping[str, Device]:
    """Return the devices of a shipped file by name."""
    from netcalc.spec.yaml_document import parse_yaml

    return _devices(parse_yaml(_texts()[file], file))


def _devices(cursor: Cursor) -> Mapping[str, Device]:
    """Return the devices of a document by name."""
    data = cursor.data
    if not isinstance(data, dict) or not isinstance(data.get("devices"), dict):
        raise cursor.error("E502", "a file of devices should have `devices: {NAME: …}`")
    sources = data.get("sources") or {}
    if not isinstance(sources, dict):
        raise cursor["sources"].error("E502", "`sources` should be texts by name")
    return {name: _device(name, entry, sources) for name, entry in cursor["devices"].items()}


def _device(name: str, entry: Cursor, texts: Mapping[str, str]) -> Device:
    if not isinstance(entry.data, dict):
        raise entry.error("E502", "a device should be a mapping of its figures")
    for key, value in entry.items():
        if key not in _KEYS:
            raise value.key_error("E502", f"a device has no {key!r}", f"its keys are {', '.join(sorted(_KEYS))}")
    sources: dict[str, str] = {}
    values: dict[str, Any] = {key: _figure(key, entry, texts, sources) for key in (*_SIZES, "power")}
    names = entry.data.get("names") or []
    if not isinstance(names, list) or not all(isinstance(other, str) for other in names):
        raise entry["names"].error("E502", "`names` should be a list of names")
    title = str(entry.data.get("title", name))
    return Device(
        name=name, title=title, names=tuple(names), peaks=_peaks(entry, texts, sources), sources=sources, **values
    )


def _figure(key: str, entry: Cursor, texts: Mapping[str, str], sources: dict[str, str]) -> int | None:
    """Return a figure, and note its source."""
    if entry.data.get(key) is None:
        return None
    cursor = entry[key]
    if isinstance(cursor.data, dict):
        sources[key] = _source(cursor, texts)
        cursor = cursor["value"] if "value" in cursor.data else cursor
    else:
        sources[key] = "the user's file"
    return _number(cursor, key in _SIZES)


def _peaks(entry: Cursor, texts: Mapping[str, str], sources: dict[str, str]) -> Mapping[str, int]:
    if entry.data.get("peaks") is None:
        return {}
    cursor = entry["peaks"]
    if not isinstance(cursor.data, dict):
        raise cursor.error("E502", "`peaks` should be FLOP/s by element type")
    if "values" in cursor.data:
        source, cursor = _source(cursor, texts), cursor["values"]
    else:
        source = "the user's file"
    if not isinstance(cursor.data, dict):
        raise cursor.error("E502", "`values` should be FLOP/s by element type")
    for name, value in cursor.items():
        if name not in PEAK_TYPES:
            hint = f"the types are {', '.join(PEAK_TYPES)}"
            raise value.key_error("E502", f"there is no element type {name!r} of peaks", hint)
    sources["peaks"] = source
    return {name: _number(value, False) for name, value in cursor.items()}


def _source(cursor: Cursor, texts: Mapping[str, str]) -> str:
    """Return the text of the source of a figure; a text that is no key stands for itself."""
    key = cursor.data.get("source", "the user's file")
    if not isinstance(key, str):
        raise cursor.error("E502", "`source` should be a name of `sources` or a text")
    return str(texts.get(key, key))


def _number(cursor: Cursor, is_size: bool) -> int:
    data = cursor.data
    value = size_in_bytes(data) if is_size and isinstance(data, str) else data
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 1e30:
        raise cursor.error("E502", "should be a number above 0" + (", or bytes such as 80GB" if is_size else ""))
    return int(value)
