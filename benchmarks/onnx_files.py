"""Time and memory of cold ``netcalc params`` and ``netcalc summary`` of an ONNX file of 400 MB, beside ``onnx.load``.

    python benchmarks/onnx_files.py [REPEATS]

The file is a row of 40 Gemm layers with drawn weights, once with the numbers in it and once with them in a file beside
it.  A command takes at most 1.5 times ``onnx.load(load_external_data=False)`` and its own cold start, which is the same
command on a file of one small layer.  All run in every round, the library's function in a process that has imported it.
Peak memory is held against the same command on the same graph whose file of numbers is absent.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
import onnx
from measure import paired, report, summarized
from onnx import TensorProto, helper, numpy_helper
from startup import process, script

LAYERS, WIDTH = 40, 1581  # 40 · 1,581 · 1,582 numbers of 4 bytes are 400 MB
COMMANDS = ("params", "summary")
FILES = ("inline", "external")
#: Largest sum of times, in parts of the library's time, and largest memory beyond the one of the graph, in MB.
TARGET, MEMORY = 1.5, 100.0
#: Name of the file of numbers beside the graph, as ``onnx.save`` writes it.
DATA = "model.data"
#: Code that runs a command and then prints the peak resident memory of its process, as ``measure`` reads it.
PEAK = """
import sys
from netcalc.cli import main
main()
from measure import peak_memory
print(peak_memory(), file=sys.stderr)
"""


def written(folder: Path, layers: int, width: int, *, external: bool) -> Path:
    """Write a row of Gemm layers with drawn weights to a folder; return the path of its file."""
    rng = np.random.default_rng(0)
    shape = ["batch", width]
    nodes, tensors, x = [], [], "x"
    for layer in range(layers):
        names = [f"{layer}.weight", f"{layer}.bias"]
        weight, bias = rng.standard_normal((width, width), np.float32), rng.standard_normal(width, np.float32)
        tensors += [numpy_helper.from_array(array, name) for array, name in zip((weight, bias), names, strict=True)]
        nodes.append(helper.make_node("Gemm", [x, *names], [f"y{layer}"], name=f"/{layer}/Gemm", transB=1))
        x = f"y{layer}"
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in ("x", x)]
    graph = helper.make_graph(nodes, "row", ends[:1], ends[1:], tensors)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
    folder.mkdir()
    onnx.save(model, folder / "model.onnx", save_as_external_data=external, location=DATA if external else None)
    return folder / "model.onnx"


def loading(path: Path) -> float:
    """Return the seconds of ``onnx.load`` of a file without the numbers beside it."""
    start = perf_counter()
    onnx.load(path, load_external_data=False)
    return perf_counter() - start


def peak(command: str, path: Path) -> float:
    """Return the peak resident memory of a command on a file in MB."""
    line = [sys.executable, "-c", PEAK, command, str(path)]
    found = subprocess.run(line, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    return int(found.stderr.split()[-1]) / 1e6


def sums(times: dict[str, list[float]]) -> dict[str, float]:
    """Return for each command on each file the median ratio of its time to 1.5 times the library's and a cold start."""
    result = {}
    for command in COMMANDS:
        for file in FILES:
            rows = (times[key] for key in (_task(command, file), _library(file), _start(command)))
            bounds = [own / (TARGET * library + start) for own, library, start in zip(*rows, strict=True)]
            result[_task(command, file)] = round(median(bounds), 3)
    return result


def _task(command: str, file: str) -> str:
    return f"netcalc {command}, 400 MB {file}"


def _start(command: str) -> str:
    return f"netcalc {command}, one small layer"


def _library(file: str) -> str:
    return f"onnx.load, 400 MB {file}"


def _rows(command: str) -> list[str]:
    """Return the tasks that are shown beside the cold start of a command."""
    return [_start(command), *(task for file in FILES for task in (_library(file), _task(command, file)))]


def main() -> None:
    """Run the benchmark."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    with TemporaryDirectory() as place:
        folder = Path(place)
        small = written(folder / "small", 1, 8, external=False)
        paths = {file: written(folder / file, LAYERS, WIDTH, external=file == "external") for file in FILES}
        tasks: dict[str, Any] = {_library(file): partial(loading, path) for file, path in paths.items()}
        for command in COMMANDS:
            tasks[_start(command)] = partial(process, ["-c", script(), command, str(small)])
            for file, path in paths.items():
                tasks[_task(command, file)] = partial(process, ["-c", script(), command, str(path)])
        times = paired(tasks, repeats=repeats)
        memory = {_task(command, file): peak(command, paths[file]) for command in COMMANDS for file in FILES}
        (paths["external"].parent / DATA).unlink()
        graphs = {command: peak(command, paths["external"]) for command in COMMANDS}
    beyond = {
        _task(command, file): round(memory[_task(command, file)] - graphs[command], 1)
        for command in COMMANDS
        for file in FILES
    }
    found: dict[str, Any] = {}
    for command in COMMANDS:
        found |= summarized({name: times[name] for name in _rows(command)}, against=_start(command))
    report("onnx_files", repeats, found, of_target=(parts := sums(times)), target_mb=MEMORY, mb_beyond_graph=beyond)
    print(f"\n{'':40}{'of the target':>15}{'MB beyond the graph':>22}")
    for task, part in parts.items():
        print(f"{task:40}{part:>14.2f}×{beyond[task]:>22.1f}")


if __name__ == "__main__":
    main()
