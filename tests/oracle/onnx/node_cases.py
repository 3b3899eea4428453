"""The node tests of onnx, each run by netcalc and compared with the results that onnx has for it."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.formats.onnx.document import imported
from netcalc.formats.onnx.elements import DTYPES
from netcalc.formats.onnx.file import OnnxFile, open_onnx
from netcalc.formats.onnx.known import Known
from netcalc.formats.onnx.naming import identifier

#: Most elements of an input that is taken as a constant, as exported models have shapes, axes and limits.
_FEW = 64

#: Buckets of cases that fail, by patterns of operators and of reasons; the first counts.
BUCKETS: dict[str, tuple[str, str]] = {
    "element types of 8 bits and fewer, other than integers": ("", r"float8|float4|u?int[24]\b"),
    "unsigned integers of more than 8 bits": ("", r"uint(16|32|64)"),
    "sequences and optional values": (r"Sequence|Optional|If", r"no tensor|Sequence|Optional|'res'|'sequence'"),
    "texts": (r"String|Regex|TfIdf|LabelEncoder|ArrayFeature", r"element type string"),
    "ai.onnx.ml": ("", r"ai\.onnx\.ml"),
    "FlexAttention": ("FlexAttention", "FlexAttention"),
    "training": (r"Momentum|Adagrad|Adam|Dropout|BatchNormalization", r"training"),
    "images": ("ImageDecoder", ""),
    "random numbers": (r"Bernoulli|Random|Multinomial", ""),
    "control flow": (r"Loop|Scan|If", r"control flow|If that"),
    "shapes that depend on data": (r"NonZero|Compress|Unique|NonMaxSuppression", r"its result depends on data"),
    "signal": (r"DFT|STFT|Window|MelWeight", r"Window"),
    "no rule yet": ("", "is not known"),
}


class Case(NamedTuple):
    """A test: its name, the operator of its first node, and why it fails, None if it passes."""

    name: str
    operator: str
    reason: str | None

    @property
    def bucket(self) -> str:
        """The bucket of a case that fails."""
        for name, (operators, reasons) in BUCKETS.items():
            by_operator = operators and re.search(operators, self.operator)
            if by_operator or (reasons and re.search(reasons, self.reason or "")):
                return name
        return "forms of known operators"


def node_cases(folder: Path) -> Iterator[Case]:
    """Yield the result of every node test; ``folder`` is for their files."""
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for case in collect_testcases(None):
            try:
                reason = _failure(case, folder / "case.onnx")
            except NetcalcError as error:
                reason = _plain(str(error))
            except Exception as error:  # of NumPy, of numbers that neither library is meant to take
                reason = f"{type(error).__name__}: {error}"[:120]
            yield Case(case.name, case.model.graph.node[0].op_type, reason)


def _plain(text: str) -> str:
    """Return the first error without the path of the file."""
    return re.sub(r"^E\d+: \S*case\.onnx: ", "", text.splitlines()[0])[:120]


def _failure(case: Any, path: Path) -> str | None:
    """Return why a case fails; None if it passes."""
    path.write_bytes(case.model.SerializeToString())
    file = open_onnx(path)
    names = [info.name for info in case.model.graph.input]
    for given, wanted in case.data_sets:
        values = dict(zip(names, map(_array, given), strict=False))
        results = [*_results(file, values).values()]
        if len(results) != len(wanted):
            return "another number of results"
        for result, value in zip(results, map(_array, wanted), strict=True):
            if reason := _difference(result, value, case.rtol, case.atol):
                return reason
    return None


def _array(value: Any) -> Any:
    from onnx import TensorProto, numpy_helper

    if isinstance(value, TensorProto):
        return numpy_helper.to_array(value)
    return np.asarray(value) if isinstance(value, np.generic) else value


def _results(file: OnnxFile, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Run a model: with all inputs, or with those constant that exported models have as constants."""
    last: NetcalcError | None = None
    for constants in _attempts(values):
        known = {n: Known(_dtype(values[n]), values[n].shape, tuple(values[n].ravel().tolist())) for n in constants}
        try:
            document = imported(file, "case", known).document
            inputs = {identifier(name, "input"): value for name, value in values.items()}
            net = netcalc.load_data(document)
            return net.run({name: value for name, value in inputs.items() if name in document["inputs"]}).outputs
        except NetcalcError as error:
            last = error
    assert last is not None
    raise last


def _dtype(array: Any) -> Any:
    return str(array.dtype)


def _attempts(values: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return choices of inputs that are constants: none, small ones behind the first, and these if they are vectors."""
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
    small = [name for name, value in arrays.items() if value.size <= _FEW and str(value.dtype) in DTYPES.values()]
    behind = [name for name in small if name != next(iter(values))]
    whole = tuple(name for name in behind if arrays[name].dtype.kind in "ib" or arrays[name].size == 1)
    vectors = tuple(name for name in behind if arrays[name].ndim < 2)
    integers = tuple(name for name in small if arrays[name].dtype.kind in "ib")
    single = tuple(name for name in small if arrays[name].size <= 1 or arrays[name].dtype.kind in "ib")
    few = tuple(name for name in single if arrays[name].ndim < 2 and name not in ("x", "data", "input"))
    named = tuple(name for name in behind if name in ("scales", "sizes", "roi", "axes", "value"))
    both = (*whole, *(name for name in named if name not in whole))
    return [*dict.fromkeys([(), whole, named, vectors, both, integers, single, few])]


def _difference(result: Any, wanted: Any, rtol: float, atol: float) -> str | None:
    result, wanted = np.asarray(result), np.asarray(wanted)
    if result.shape != wanted.shape:
        return f"shape {result.shape} in place of {wanted.shape}"
    if result.dtype != wanted.dtype:
        return f"type {result.dtype} in place of {wanted.dtype}"
    if result.dtype.kind in "biu":
        return None if (result == wanted).all() else "other numbers"
    wide = np.complex128 if result.dtype.kind == "c" else np.float64
    same = np.allclose(result.astype(wide), wanted.astype(wide), rtol=rtol, atol=atol, equal_nan=True)
    return None if same else "other numbers"
