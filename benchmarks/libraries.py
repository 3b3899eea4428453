"""Time of cold commands on a configuration that a library built before, compared with one that a table describes.

    python benchmarks/libraries.py [REPEATS]

The processes run in turn, with transformers installed.  Both configurations are decoders of the same sizes, whose specs
have about as many lines; the first command, which builds the model and keeps its spec, is not measured.
"""

from __future__ import annotations

import json
import os
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from measure import paired, report, summarized
from startup import process, script

SIZES = {
    "vocab_size": 32000,
    "hidden_size": 2048,
    "intermediate_size": 5632,
    "num_hidden_layers": 24,
    "num_attention_heads": 16,
    "num_key_value_heads": 4,
}
#: Of the first type there is a table.
TYPES = {"llama": "LlamaForCausalLM", "bitnet": "BitNetForCausalLM"}
COMMANDS = ("summary", "params", "flops")
TARGET = 1.5


def main() -> None:
    """Run the benchmark."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    tasks = {}
    with TemporaryDirectory() as place:
        environment = {**os.environ, "NETCALC_CACHE": f"{place}/cache"}
        for model_type, architecture in TYPES.items():
            (folder := Path(place) / model_type).mkdir()
            fields = {"model_type": model_type, "architectures": [architecture], **SIZES}
            (folder / "config.json").write_text(json.dumps(fields), encoding="utf-8")
        for command in COMMANDS:
            names = {kind: f"netcalc {command} of {kind}" for kind in TYPES}
            lines = {
                names[kind]: partial(process, ["-c", script(), command, f"{place}/{kind}"], environment)
                for kind in TYPES
            }
            tasks |= summarized(paired(lines, repeats=repeats), against=names["llama"])
    report("libraries", repeats, tasks, target_ratio=TARGET)


if __name__ == "__main__":
    main()
