"""Public configurations as people have them, read as commands read them: parameters and FLOPs against transformers.

``configurations.jsonl`` has the fields of each, with the place where they were read.  The truth are the parameters of
the class that a configuration names, each once, and what torch's counter finds in a call without data.  A table is
called at two layers, a model that the library builds as it is.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from inspect import signature
from pathlib import Path
from time import monotonic
from typing import Any

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.formats.libraries.building import Built
from netcalc.formats.libraries.door import ENVIRONMENT
from netcalc.formats.libraries.torchvision_import import import_torchvision
from tests.exhaustive.imports import OK, Stopped, limited
from tests.exhaustive.record import read
from tests.exhaustive.transformers import counted, plainly, reduced
from tests.formats.torch.models import quiet

#: Packages that the check needs.
NEEDED = ("torch", "transformers")
#: Of the configurations that a table describes, every fourth is in the sample.
SAMPLED = 4
_COLLECTION = Path(__file__).parent / "configurations.jsonl"
#: Lengths of texts in calls of tables.
_LENGTHS = {"length": 16, "source": 16, "target": 8}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    parser.add_argument("--only", default="", help="part of the sources")
    parser.add_argument("--seconds", type=int, default=600, help="longest time for a configuration")
    parser.add_argument("--minutes", type=float, help="time after which no further configuration is begun")
    parser.add_argument("--again", action="store_true", help="only those that the record lacks or has as failed")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Compare the configurations; return their results, and those that fail."""
    import_torchvision()
    results: dict[str, str] = dict(read("configurations")["result"]["cases"]) if options.again else {}
    end = monotonic() + 60 * options.minutes if options.minutes is not None else None
    for source, fields in collection().items():
        if options.only not in source or results.get(source, "").startswith(OK):
            continue
        if end is not None and monotonic() > end:
            break
        results[source] = result(fields, options.seconds)
        print(source, results[source], flush=True)
    failures = [f"{source}: {found}" for source, found in results.items() if not found.startswith(OK)]
    tables = sum(found == _by("table") for found in results.values())
    counts = {"configurations": len(results), "equal": len(results) - len(failures), "by table": tables}
    return {**counts, "cases": results}, failures


def sample(result_before: dict[str, Any]) -> dict[str, Any]:
    """Compare some quick configurations of a record again."""
    import_torchvision()
    cases: dict[str, str] = result_before["cases"]
    chosen = [source for source, found in cases.items() if found == _by("table")][::SAMPLED]
    configurations = collection()
    return {source: result(configurations[source]) for source in chosen}


def collection() -> dict[str, dict[str, Any]]:
    """Return the fields of each configuration by its source."""
    rows = map(json.loads, _COLLECTION.read_text(encoding="utf-8").splitlines())
    return {row["source"]: row["config"] for row in rows}


def result(fields: Mapping[str, Any], seconds: int = 600) -> str:
    """Return ``ok`` and the way if the figures are those of transformers; otherwise what differs or fails."""
    gc.collect()
    os.environ.update(ENVIRONMENT)
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NETCALC_CACHE"] = folder
        try:
            with limited(seconds), quiet():
                way, different = _compared(fields, Path(folder), seconds)
                return "; ".join(different) or _by(way)
        except Stopped:
            return f"longer than {seconds} s"
        except NetcalcError as error:
            return re.sub(rf"{folder}/|/\S*/site-packages/", "", str(error).strip().splitlines()[0])[:300]
        except Exception as error:  # of the library, or a fault
            return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:300]
        finally:
            del os.environ["NETCALC_CACHE"]


def _by(way: str) -> str:
    return f"{OK} by {way}"


def _compared(fields: Mapping[str, Any], folder: Path, seconds: int) -> tuple[str, list[str]]:
    """Return the way that a command takes, and the figures that differ."""
    from netcalc.formats.libraries.capture import call_taken
    from netcalc.formats.torch.calls import call_of
    from netcalc.formats.torch.examples import read_examples
    from netcalc.formats.torch.trial import error_of
    from netcalc.formats.transformers.building import built

    network = _loaded(fields, folder, seconds)
    different = [*_different("params", network.params, sum(p.numel() for p in plainly(fields).parameters()))]
    if list(folder.glob("specs/*")):
        made, way = built(_copied(fields), {}), "library"
        call = call_taken(made, ())
    else:
        way, small = "table", _shallow(fields, folder, seconds)
        made = built(_copied(small), {})
        network = _loaded(small, folder, seconds, _sizes(_loaded(small, folder, seconds)))
        call = call_of(made.module, read_examples([*_arguments(made, network)]))
    if error_of(made.module, call) is not None:  # of values, such as the tokens of images, that a call has to have
        return f"{way}, parameters alone", different
    flops = network.analysis("torch").total.flops
    return way, [*different, *_different("flops", flops, counted(made.module, call))]


def _shallow(fields: Mapping[str, Any], folder: Path, seconds: int) -> Mapping[str, Any]:
    """Return a configuration with two layers, or as it is where its fields do not admit that."""
    small = reduced(fields)
    try:
        _loaded(small, folder, seconds)
    except NetcalcError:
        return fields
    return small


def _sizes(network: netcalc.Network) -> Mapping[str, int]:
    """Return the sizes that a network is called with in place of its own."""
    is_text = any(value.dtype == "int64" for value in network.inputs.values())
    return {dim: size for dim, size in _LENGTHS.items() if dim in network.dims} if is_text else {}


def _arguments(made: Built, network: netcalc.Network) -> Iterator[str]:
    """Yield the inputs of a network as arguments of the module; those that it names otherwise in their order."""
    own = [str(example.name) for example in made.calls[0] if example.name not in network.inputs]
    known = signature(made.module.forward).parameters
    for name, value in network.inputs.items():
        yield f"{name if name in known else own.pop(0)}={value.dtype}:{','.join(map(str, value.shape))}"


def _copied(fields: Mapping[str, Any]) -> Any:
    """Return a copy of a configuration, since transformers changes those that it is given."""
    return json.loads(json.dumps(fields))


def _loaded(
    fields: Mapping[str, Any], folder: Path, seconds: int, sizes: Mapping[str, int] | None = None
) -> netcalc.Network:
    path = folder / "config.json"
    path.write_text(json.dumps(fields), encoding="utf-8")
    return netcalc.load(path, timeout=seconds, set=sizes or {})


def _different(name: str, found: int, true: int) -> Iterator[str]:
    if found != true:
        yield f"{name} {found}, transformers {true}"
