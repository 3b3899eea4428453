"""Generated pages of ``docs/``: operations by family, shipped blocks, devices, error codes, and limits."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib import import_module

from netcalc import ops
from netcalc.analysis.devices import PEAK_TYPES, Device, devices
from netcalc.diagnostics import CODES, EXIT_CODES
from netcalc.limits import limits
from netcalc.reference.blocks import BLOCKS, block_reference, listed_block
from netcalc.reference.operations import about, reference
from netcalc.render.blocks import block_markdown
from netcalc.render.numbers import bytes_text
from netcalc.render.operations import operation_markdown
from netcalc.spec.shipped import shipped_blocks


def generated_pages() -> dict[str, str]:
    """Return the text of each generated page by its path under ``docs/``."""
    pages = {"operations.md": _text(_index()), "errors.md": _text(_errors()), "limits.md": _text(_limits())}
    pages["devices.md"] = _text(_devices())
    for family in ops.FAMILIES:
        pages[f"operations/{family}.md"] = _text(_family(family))
    pages[f"operations/{BLOCKS}.md"] = _text(_blocks())
    return pages


def _index() -> Iterator[str]:
    yield "# Operations"
    yield ""
    yield "Generated from the declarations. `netcalc ops NAME` prints the page of an operation or block,"
    yield "`netcalc ops --search WORD` lists those that mention a word."
    yield ""
    yield "| operation | family | description |"
    yield "|:--|:--|:--|"
    for name, declared in ops.every().items():
        family = ops.family(name)
        link = f"[`{name}`](operations/{family}.md#{name})"
        yield f"| {link} | {family} | {about(declared)} |"
    for block in map(listed_block, shipped_blocks()):
        yield f"| [`{block.name}`](operations/{BLOCKS}.md#{block.name}) | {BLOCKS} | {block.about} |"


def _family(family: str) -> Iterator[str]:
    module = import_module(f"netcalc.ops.{family}")
    yield f"# {family.replace('_', ' ').capitalize()}"
    yield ""
    yield inspect.getdoc(module) or ""
    for name in ops.FAMILIES[family]:
        declared = ops.find(name)
        if declared is not None:
            yield ""
            yield from operation_markdown(reference(declared), level=2)


def _blocks() -> Iterator[str]:
    yield "# Blocks"
    yield ""
    yield "Blocks that ship with netcalc are used like operations, without an import. A spec may replace one by a block"
    yield "of the same name."
    for name in shipped_blocks():
        yield ""
        yield from block_markdown(block_reference(name), level=2)


def _errors() -> Iterator[str]:
    yield "# Errors and exit codes"
    yield ""
    yield "Every diagnostic has a code, a message, the place of the error, and a hint if there is a likely fix."
    yield "`netcalc help CODE` prints its page: meaning, usual causes, an example and its remedy."
    yield "With `--format json` errors are printed as a JSON record. Warnings go to standard error in every format and"
    yield "change neither the result nor the exit code."
    yield ""
    for kind in ("error", "warning"):
        yield f"| code | {kind} |"
        yield "|:--|:--|"
        for code, title in CODES.items():
            if code.startswith(kind[0].upper()):
                yield f"| [`{code}`](errors/{code}.md) | {title} |"
        yield ""
    yield "| exit code | meaning |"
    yield "|:--|:--|"
    yield from (f"| {code} | {meaning} |" for code, meaning in EXIT_CODES.items())
    yield ""
    yield "A file is written as a whole or not at all: it keeps its content if the command ends with another code than"
    yield "0 or 1."


def _limits() -> Iterator[str]:
    yield "# Limits"
    yield ""
    yield "A spec may come from anywhere, so that everything it can ask for is bounded: an input beyond a limit is an"
    yield "error, and is refused before the work begins. The names are those of `netcalc.limits`."
    yield ""
    yield "| limit | at most | of | error | raised with |"
    yield "|:--|--:|:--|:--|:--|"
    for name, limit in limits():
        option = f"`{limit.option}`" if limit.option else ""
        yield f"| `{name}` | {limit:,} | {limit.counts} | `{limit.code}` | {option} |"


def _devices() -> Iterator[str]:
    yield "# Devices"
    yield ""
    yield "The devices that ship with netcalc, for `--device NAME[:COUNT]` of [`netcalc time`](time.md). A figure that"
    yield "a vendor does not publish is left out. Memory is as the vendor states it, so that 80 GB are 80·10⁹ bytes."
    yield "Links are in one direction, and peaks are those of dense products. Another device is described in a"
    yield "[file of your own](time.md#devices), and `this` is the machine itself."
    yield ""
    titles = ("name", "device", "memory", "bandwidth", "cache", "link in a node", "between nodes", "power")
    yield f"| {' | '.join(titles)} |"
    yield "|:--|:--|--:|--:|--:|--:|--:|--:|"
    for device in devices():
        names = ", ".join(f"`{name}`" for name in (device.name, *device.names))
        flash = "" if device.flash is None else f" and {bytes_text(device.flash)} of flash"
        memory = "" if device.memory is None else f"{_decimal(device.memory)}B{flash}"
        rates = (device.bandwidth, device.node_link, device.network_link)
        bandwidth, node, network = ("" if rate is None else f"{_decimal(rate)}B/s" for rate in rates)
        cache = "" if device.cache is None else bytes_text(device.cache)
        power = "" if device.power is None else f"{device.power:,} W"
        yield f"| {names} | {device.title} | {memory} | {bandwidth} | {cache} | {node} | {network} | {power} |"
    yield ""
    yield "TFLOP/s of dense products by element type:"
    yield ""
    yield f"| name | {' | '.join(PEAK_TYPES)} |"
    yield "|:--|" + "--:|" * len(PEAK_TYPES)
    for device in devices():
        if device.peaks:
            peaks = (f"{device.peaks[name] / 1e12:,.6g}" if name in device.peaks else "" for name in PEAK_TYPES)
            yield f"| `{device.name}` | {' | '.join(peaks)} |"
    yield ""
    yield "Sources:"
    yield ""
    yield from map(_sources, devices())


def _sources(device: Device) -> str:
    by_text: dict[str, list[str]] = {}
    for figure, text in device.sources.items():
        by_text.setdefault(text, []).append(figure.replace("_", " "))
    return f"- `{device.name}`: " + "; ".join(f"{text} ({', '.join(names)})" for text, names in by_text.items())


def _decimal(value: int) -> str:
    """Write bytes in units of powers of a thousand, with all digits that they have."""
    power = 0
    while value >= 1000 ** (power + 1) and power < 4:
        power += 1
    return f"{value / 1000**power:.6g} {('', 'k', 'M', 'G', 'T')[power]}"


def _text(lines: Iterator[str]) -> str:
    return "\n".join(lines).rstrip() + "\n"
