"""Limits on what an input may ask for.  They bound the time and memory that any input can cost.

Every loop over a number that the user gives has a limit here; ``docs/limits.md`` is generated from them.
"""

from __future__ import annotations

from collections.abc import Iterator


class Limit(int):
    """Largest accepted number of something, with what it counts and the code of the error beyond it.

    ``option`` names the option or argument that raises the limit, if there is one.
    """

    counts: str
    code: str
    option: str | None

    def __new__(cls, value: int, counts: str, code: str, *, option: str | None = None) -> Limit:
        """Return a limit that is used as the number ``value``."""
        limit = super().__new__(cls, value)
        limit.counts, limit.code, limit.option = counts, code, option
        return limit


MAX_SPEC_SIZE = Limit(4_000_000, "bytes of a spec file", "E003", option="--max-spec-size")
MAX_BUILT = Limit(10**12 - 1, "elements of the parameters of a model that a library builds", "E009")
MAX_BUILT_LAYERS = Limit(10_000, "layers of a model that a library builds", "E009")
BUILD_SECONDS = Limit(120, "seconds that a library may take to build a model", "E009", option="--timeout")
MAX_CACHED_SPEC = Limit(32 << 20, "bytes of a spec in the cache", "E003")
MAX_SPEC_CACHE = Limit(256 << 20, "bytes of all specs in the cache", "E003")
MAX_EXTENDS = Limit(64, "specs in a chain of `extends` and `import`", "E006")
MAX_VALUES = Limit(100_000, "values in a document, aliases expanded", "E003")
MAX_DEPTH = Limit(60, "levels of nested mappings and lists in a document", "E003")
MAX_DIGITS = Limit(1_000, "characters of a number in a document", "E003")
MAX_TEXT = Limit(20_000, "characters of a text in a document", "E003")
MAX_EXPRESSION = Limit(2_000, "characters of an expression", "E201")
MAX_EXPRESSION_DEPTH = Limit(100, "levels of nesting in an expression", "E201")
MAX_BITS = Limit(4_096, "bits of a number in an expression", "E203")
MAX_ITEMS = Limit(10_000, "items of a list, or characters of a text, that an expression makes", "E203")
MAX_TERMS = Limit(10_000, "terms of a symbolic size, including the terms of the sizes in it", "E404")
MAX_WORK = Limit(
    5_000_000, "items of lists and terms of symbolic sizes that all expressions and rules go through", "E003"
)
MAX_PEAK_WORK = Limit(50_000, "terms of symbolic sizes that a formula of the peak of activations goes through", "E404")
MAX_LINES = Limit(50_000, "lines that are elaborated one by one, iterations that cannot be folded included", "E003")
MAX_ROWS = Limit(
    40_000, "rows of a report: lines of the expanded network, equal iterations once; 16 tensors count as a line", "E003"
)
MAX_TENSORS = Limit(1_000_000, "inputs, outputs and parameters of the lines that are elaborated", "E003")
MAX_PATH = Limit(1_000, "characters of the path of a layer", "E003")
MAX_UNROLLED = Limit(
    100_000, "rows of a report with `--unroll`, layers of `Network.shapes` and with receptive fields", "E502"
)
MAX_INSTANCES = Limit(10_000_000, "operations of a network that is gone through with its repeats unrolled", "E603")
MAX_BLOCK_DEPTH = Limit(64, "block calls and iterations nested in each other", "E204")
MAX_RANK = Limit(64, "axes of a tensor", "E401")
MAX_SIZE_BITS = Limit(256, "bits of a size, and of the number of elements of a tensor", "E401")
MAX_POSITION = Limit(2**31 - 1, "largest position, or distance between positions, of an attention or rotation", "E104")
MAX_STACKED = Limit(1_000, "stacked layers of one recurrent operation", "E104")
MAX_PIECES = Limit(10_000, "outputs of one operation", "E401")
MAX_WINDOWS = Limit(10_000, "windows of adaptive pooling along an axis of symbolic size", "E404")
MAX_FORMULA_ELEMENTS = Limit(1_000_000, "elements of a parameter whose initial value is a formula", "E104")
MAX_DEFINITIONS = Limit(64, "dims and vars in a chain of expressions", "E204")
MAX_ERRORS = Limit(200, "errors that are reported; the rest of a spec is not checked", "E003")
MAX_SHOWN_ERRORS = Limit(20, "errors and warnings that are printed; JSON and Python have all", "E003")
MAX_MESSAGE = Limit(1_000, "characters of a message that are printed", "E003")
MAX_TIMES = Limit(100_000_000, "iterations of one `repeat`", "E104")
MAX_PLANNED_OPERATIONS = Limit(
    10_000, "operations of a planned run; a longer one takes the reference path", "E502", option="--plan reference"
)
MAX_RUN_WORK = Limit(10**16, "FLOPs, and elements of parameters and results, of a run", "E603", option="--max-work")
MAX_VERIFY_WORK = Limit(
    2 * 10**12, "FLOPs, and elements of parameters and results, of `verify`", "E603", option="--max-work"
)
MAX_TRAIN_WORK = Limit(
    10**13,
    "FLOPs, and elements of parameters and results, of `train` and `signal`; a step or a seed counts as three passes",
    "E603",
    option="--max-work",
)
MAX_OPERATIONS = Limit(
    1_000_000,
    "operations that `run` or `verify` executes; `--max-work` divided by 10⁶ if that is more",
    "E603",
    option="--max-work",
)
MAX_RUN_AXES = Limit(24, "axes of a tensor in a run", "E603")
MAX_RANGES = Limit(4, "ranges of `--over`", "E502")
MAX_POINTS = Limit(1_000, "values of a range of `--over`, and points of all ranges together", "E502")
MAX_SWEEP_RANGES = Limit(16, "ranges of a sweep", "E502")
MAX_SWEEP_POINTS = Limit(1_000_000_000, "points of a sweep, and values of a range of it", "E502")
MAX_SWEEP_GRID = Limit(10**30, "combinations of values of a sweep, of which points are drawn", "E502")
MAX_UNKNOWNS = Limit(8, "unknowns of `solve`", "E502")
MAX_SOLVE_BOXES = Limit(
    30_000, "parts of the ranges that `solve` compares by formulas; then its answer is not proved", "E502"
)
MAX_SOLVE_COUNTED = Limit(2_000, "networks that `solve` counts one by one; then its answer is not proved", "E502")
MAX_FRONT = Limit(100_000, "points of a Pareto front, which a sweep leaves out if it has more", "E502")
MAX_DRAWN = Limit(5_000, "boxes and edges in the picture of a graph", "E502", option="--depth")
DRAW_SECONDS = Limit(60, "seconds that the layout of a picture may take", "E502", option="--depth")
MAX_DRAW_MEMORY = Limit(1 << 30, "bytes that the layout of a picture may take", "E502", option="--depth")
CALL_SECONDS = Limit(60, "seconds that a call of a tool of `netcalc mcp` may take", "E603", option="--timeout")
MAX_RECORD = Limit(
    200_000, "characters of the record that a tool of `netcalc mcp` returns", "E603", option="--max-record"
)
MAX_CALL = Limit(32 << 20, "bytes of a message to `netcalc mcp`; a longer one is passed over", "E003")
MAX_THREADS = Limit(1_024, "threads of a run", "E502")
MAX_PASSES = Limit(10_000, "passes of a profile", "E502")
MAX_LOOKUPS = Limit(500_000, "names under which parameters are looked up in a checkpoint", "E603")
MAX_PATTERN_WORK = Limit(
    5_000_000_000, "characters of paths times characters of the patterns that they are compared with", "E603"
)
MAX_STORED_TENSORS = Limit(300_000, "tensors in a file or checkpoint", "E605")
MAX_TENSOR_FILES = Limit(10_000, "files of a checkpoint", "E605")
MAX_TENSOR_HEADER = Limit(48 << 20, "bytes of the header of a `.safetensors` file, or of an index of shards", "E605")
MAX_STORED_VALUES = Limit(
    2_500_000, "values in the header of a `.safetensors` or `.gguf` file, or in an index of shards", "E605"
)
MAX_STORED_AXES = Limit(64, "axes of a tensor in a file", "E605")
MAX_INPUT_TEXT = Limit(16 << 20, "bytes of a `.csv` or `.txt` file of an input", "E605")
MAX_NPY_HEADER = Limit(10_000, "bytes of the header of an array in a `.npy` or `.npz` file", "E605")
MAX_ARCHIVE_DIRECTORY = Limit(16 << 20, "bytes of the directory of a `.npz` file", "E605")
MAX_ARCHIVE_MEMBERS = Limit(50_000, "arrays in a `.npz` file", "E605")


def limits() -> Iterator[tuple[str, Limit]]:
    """Yield the name and the limit of each, in order of declaration."""
    for name, value in globals().items():
        if isinstance(value, Limit):
            yield name, value
