"""Models of diffusers at published sizes: parameters and FLOPs against the library and torch's counter.

``tests/oracle/diffusers/published.json`` lists configurations as the repositories of the models have them, those fields
that shapes depend on.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from netcalc.formats.libraries.torchvision_import import import_torchvision
from tests.exhaustive import in_turn
from tests.exhaustive.libraries import compared

#: Packages that the check needs.
NEEDED = ("torch", "torchvision", "transformers", "diffusers")
#: Models in the sample, which are quick.
SAMPLE = ("madebyollin/taesd", "CompVis/ldm-celebahq-256/vqvae", "stable-diffusion-v1-5/stable-diffusion-v1-5/vae")
_PUBLISHED = Path(__file__).parent.parent / "oracle" / "diffusers" / "published.json"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this check."""
    in_turn.add_options(parser, "part of the names of the models, such as FLUX")


def run(options: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Compare the models; return their results, and those that fail."""
    return in_turn.results_of([name for name in _published() if options.only in name], _compared, options)


def sample(result_before: dict[str, Any]) -> dict[str, Any]:
    """Compare some quick models of a record again."""
    return {name: in_turn.result(name, _compared) for name in SAMPLE if name in result_before["cases"]}


def _published() -> dict[str, dict[str, Any]]:
    """Return configurations by the names of their models."""
    return {row["model"]: row["config"] for row in json.loads(_PUBLISHED.read_text(encoding="utf-8"))}


def _compared(name: str) -> str:
    import_torchvision()
    import diffusers
    import torch

    from netcalc.formats.diffusers.building import built

    fields = _published()[name]
    with torch.device("meta"):
        module = getattr(diffusers, fields["_class_name"]).from_config(fields).eval()
    return compared(built(fields, {}), module)
