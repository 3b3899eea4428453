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
from netcalc.formats.onnx.constants import constants_of
from netcalc.formats.onnx.document import imported
from netcalc.formats.onnx.file import OnnxFile, open_onnx
from netcalc.formats.onnx.known import Known
from netcalc.formats.onnx.naming import identifier

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


#: Two units in the last place of numbers of 16 bits.  The results that onnx has are rounded after each step, and are
#: that far from exact ones, where netcalc rounds once.  The tolerance of the tests is less than one unit of bfloat16.
_UNITS = {"bfloat16": 2 * 2.0**-8, "float16": 2 * 2.0**-11}


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
    """Run a model: inputs that determine shapes are constants, as in exported models, and all others are inputs."""
    constants = {
        name: _known(values[name]) for name in constants_of(file.model) if isinstance(values[name], np.ndarray)
    }
    document = imported(file, "case", constants).document
    inputs = {identifier(name, "input"): value for name, value in values.items()}
    net = netcalc.load_data(document)
    return net.run({name: value for name, value in inputs.items() if name in document["inputs"]}).outputs


def _known(array: Any) -> Known:
    return Known(str(array.dtype), array.shape, tuple(array.ravel().tolist()))  # type: ignore[arg-type]


def _difference(result: Any, wanted: Any, rtol: float, atol: float) -> str | None:
    result, wanted = np.asarray(result), np.asarray(wanted)
    if result.shape != wanted.shape:
        return f"shape {result.shape} in place of {wanted.shape}"
    if result.dtype != wanted.dtype:
        return f"type {result.dtype} in place of {wanted.dtype}"
    if result.dtype.kind in "biu":
        return None if (result == wanted).all() else "other numbers"
    wide = np.complex128 if result.dtype.kind == "c" else np.float64
    rtol = max(rtol, _UNITS.get(result.dtype.name, 0.0))
    same = np.allclose(result.astype(wide), wanted.astype(wide), rtol=rtol, atol=atol, equal_nan=True)
    return None if same else "other numbers"
