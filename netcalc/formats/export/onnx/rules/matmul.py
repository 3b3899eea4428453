"""Products of tensors."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, UnsupportedError, rule


@rule("matmul")
def matmul(graph: Emitter, call: Applied) -> Tensor:
    """Return a MatMul."""
    return graph.matmul(call.x, call.required(1))


@rule("einsum")
def einsum(graph: Emitter, call: Applied) -> Tensor:
    """Return an Einsum; ONNX takes small letters alone."""
    equation = call.op.equation.replace(" ", "")
    letters = dict.fromkeys(letter for letter in equation if letter.isalpha())
    if len(letters) > 26:
        raise UnsupportedError("an equation of more than 26 letters")
    if any(letter.isupper() for letter in letters):
        if "->" not in equation:
            raise UnsupportedError("an equation with capitals and without an output")
        small = {letter: chr(ord("a") + place) for place, letter in enumerate(letters)}
        equation = "".join(small.get(letter, letter) for letter in equation)
    return graph.node("Einsum", call.given, call.output, equation=equation)
