"""The specs on the page of worked examples."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import netcalc
from netcalc.network import Network

_PAGE = Path(__file__).parent.parent / "docs" / "examples.md"

#: Text of each spec by file name.
EXAMPLES: dict[str, str] = dict(
    re.findall(r"^```yaml file=(\S+)\.yaml\n((?:.*\n)*?)```$", _PAGE.read_text(encoding="utf-8"), re.MULTILINE)
)

#: Settings at which a spec runs fast.
SMALL: dict[str, dict[str, Any]] = {
    "deeplabv3": {"batch": 2, "height": 40, "width": 48, "channels": [8, 8, 16, 16], "depths": [1, 2, 2, 2]},
    "wav2vec2": {"batch": 2, "samples": 900, "d_model": 32, "layers": 2, "heads": 4, "d_ff": 48, "channels": 16}
    | {"position_kernel": 6, "position_groups": 4},
    "perceiver": {
        "batch": 2,
        "height": 8,
        "width": 8,
        "latents": 6,
        "d_model": 32,
        "heads": 4,
        "layers": 2,
        "passes": 3,
    }
    | {"classes": 10},
}


def example(name: str, **settings: Any) -> Network:
    """Return the network of a spec on the page."""
    return netcalc.loads(EXAMPLES[name], set=settings)
