"""Time of a cold ``netcalc memory`` of models of 405 B parameters in fp8, compared with ``netcalc summary resnet34``.

    python benchmarks/quantized.py [REPEATS]

The processes run in turn.  One configuration has 8 bits in blocks and no list of modules, the other is that of FBGEMM
with the names of all modules that it leaves out, as Llama 3.1 405B is released.
"""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from headers import LARGE, write_config
from measure import paired, report, summarized
from startup import process, script

BASE = "netcalc summary resnet34"
BLOCKS: dict[str, Any] = {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]}
LAYERS = 126
LISTED: dict[str, Any] = {
    "quant_method": "fbgemm_fp8",
    "activation_scale_ub": 1200.0,
    "modules_to_not_convert": [
        "lm_head",
        *(f"model.layers.{layer}" for layer in (0, LAYERS - 1)),
        *(f"model.layers.{layer}.self_attn.{part}_proj" for layer in range(1, LAYERS - 1) for part in "qkvo"),
    ],
}
CONFIGURATIONS = {"blocks": BLOCKS, "a list of modules": LISTED}
TARGET = 2.0


def main() -> None:
    """Run the benchmark."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with TemporaryDirectory() as place:
        tasks = {BASE: partial(process, ["-c", script(), *BASE.split()[1:]])}
        for name, said in CONFIGURATIONS.items():
            folder = write_config(Path(place) / name, LARGE | {"quantization_config": said})
            tasks[f"netcalc memory of 405 B in fp8, {name}"] = partial(
                process, ["-c", script(), "memory", str(folder / "config.json")]
            )
        found = summarized(paired(tasks, repeats=repeats), against=BASE)
    report("quantized", repeats, found, target_ratio=TARGET)


if __name__ == "__main__":
    main()
