"""Every model type of transformers built by the library at reduced depth: parameters and FLOPs against torch.

The truth are the parameters of the module, each once, and what torch's counter finds in a call without data.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import random
import re
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.formats.libraries.door import ENVIRONMENT
from netcalc.formats.libraries.torchvision_import import import_torchvision
from tests.exhaustive.imports import OK, Stopped, limited
from tests.exhaustive.record import read
from tests.formats.torch.models import quiet

#: Packages that the check needs.
NEEDED = ("torch", "transformers")
#: Types in the sample, of those that take least time.
SAMPLED = 30
#: Numbers of layers in configurations; two are kept.
_COUNTS = re.compile(
    r"(^|_)(num_hidden_layers|num_layers|n_layers?|(num_)?(en|de)coder_layers|layers|depth|num_blocks)$"
)
#: Fields that follow from the number of layers.
_DERIVED = ("out_features", "out_indices", "stage_names", "per_layer_config")
#: Fields without which the configuration of a type makes no model.
FIELDS: Mapping[str, Mapping[str, Any]] = {
    "autoformer": {"prediction_length": 24},
    "hunyuan_v1_dense": {"head_dim": 128},
    "hunyuan_v1_moe": {"head_dim": 128},
    "informer": {"prediction_length": 24},
    "time_series_transformer": {"prediction_length": 24},
}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    parser.add_argument("--only", default="", help="types, separated by commas")
    parser.add_argument("--count", type=int, default=1000, help="number of types")
    parser.add_argument("--seed", type=int, default=1, help="seed of their order")
    parser.add_argument("--seconds", type=int, default=120, help="longest time for a type")
    parser.add_argument("--again", action="store_true", help="build only types that the record lacks or has as failed")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Build the types; return their results, and those that fail."""
    known = read("transformers")["result"]["cases"] if options.again else {}
    import_torchvision()
    names = options.only.split(",") if options.only else [*types()]
    if not options.only:
        random.Random(options.seed).shuffle(names)
    results: dict[str, str] = {}
    for name in names[: options.count]:
        results[name] = OK if known.get(name) == OK else result(name, options.seconds)
        print(name, results[name], flush=True)
    failures = [f"{name}: {found}" for name, found in results.items() if found != OK]
    return {"types": len(results), "equal": len(results) - len(failures), "cases": results}, failures


def sample(result_before: dict[str, Any]) -> dict[str, Any]:
    """Build some of the types of a record again."""
    import_torchvision()
    names = sorted(name for name, found in result_before["cases"].items() if found == OK)
    return {name: result(name) for name in names[:: max(1, len(names) // SAMPLED)][:SAMPLED]}


def types() -> list[str]:
    """Return every model type that has a base model."""
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    return sorted(MODEL_MAPPING_NAMES)


def result(model_type: str, seconds: int = 120) -> str:
    """Return ``ok`` if the figures of a type are those of torch; otherwise what differs or fails."""
    gc.collect()
    os.environ.update(ENVIRONMENT)
    try:
        with limited(seconds), quiet():
            return _compared(model_type)
    except Stopped:
        return f"longer than {seconds} s"
    except NetcalcError as error:
        return re.sub(r"/\S*/site-packages/", "", str(error).strip().splitlines()[0])[:300]
    except Exception as error:
        return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"[:300]


def _compared(model_type: str) -> str:
    from netcalc.formats.libraries.capture import call_taken, captured
    from netcalc.formats.transformers.building import built

    made = built(configuration(model_type), {})
    call = call_taken(made, ())
    network = netcalc.load_data(captured(made, call))
    params = sum(p.numel() for p in plainly(model_type).parameters())
    flops = counted(made.module, call)
    total = network.analysis("torch").total
    figures = {"params": (total.params, params), "flops": (total.flops, flops)}
    different = [f"{name} {found}, torch {true}" for name, (found, true) in figures.items() if found != true]
    different += _table(model_type, network)
    return "; ".join(different) or OK


def plainly(model_type: str) -> Any:
    """Return the model of a type as transformers makes it on the meta device."""
    import torch
    import transformers
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    fields = configuration(model_type)
    with torch.device("meta"):
        return getattr(transformers, fields["architectures"][0])(CONFIG_MAPPING[model_type].from_dict(fields))


def configuration(model_type: str) -> dict[str, Any]:
    """Return the default configuration of a type, with two layers where that is possible."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_MAPPING_NAMES

    kind, fields = CONFIG_MAPPING[model_type], FIELDS.get(model_type, {})
    whole = json.loads(kind(**fields).to_json_string(use_diff=False)) | {"model_type": model_type}
    names = MODEL_MAPPING_NAMES[model_type]
    whole["architectures"] = [names if isinstance(names, str) else names[0]]
    small = reduced(whole)
    try:
        kind.from_dict(dict(small))
    except Exception:  # fields that depend on the number of layers in a way of their own
        return whole
    return small


def reduced(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a configuration with two layers, as far as their names tell."""
    counts = {name: value for name, value in fields.items() if _COUNTS.search(name) and isinstance(value, int)}
    numbers = {*counts.values()}
    small: dict[str, Any] = {}
    for name, value in fields.items():
        if name in _DERIVED:
            continue
        if isinstance(value, dict):
            small[name] = reduced(value)
        elif name in counts:
            small[name] = min(value, 2)
        else:
            small[name] = value[:2] if isinstance(value, list) and len(value) in numbers and len(value) > 2 else value
    return small


def counted(module: Any, call: Any) -> int:
    """Return torch's FLOPs of a call, without data; it does not count the attention kernel of the CPU."""
    import torch
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    from netcalc.formats.torch.trial import error_of

    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        error = error_of(module, call)
    if error is not None:
        raise error
    return int(counter.get_total_flops())


def _table(model_type: str, network: netcalc.Network) -> Iterator[str]:
    """Yield what the network of a table has otherwise than that of the library, if there is a table of the type."""
    from netcalc.formats.huggingface.tables import read_table

    if read_table(model_type) is None:
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.json"
        path.write_text(json.dumps(configuration(model_type)), encoding="utf-8")
        try:
            table = netcalc.load(path, via="table")
        except NetcalcError:  # defaults that are of no model, or a base model alone
            return
    if table.params != network.params:
        yield f"table: params {table.params}, library {network.params}"
    inputs = [{name: value.shape for name, value in one.inputs.items()} for one in (table, network)]
    if inputs[0] == inputs[1] and table.macs != network.macs:
        yield f"table: macs {table.macs}, library {network.macs}"
