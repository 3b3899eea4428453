"""Linear maps."""

from __future__ import annotations

from netcalc.formats.export.onnx.emitter import Emitter
from netcalc.formats.export.onnx.graph import Tensor
from netcalc.formats.export.onnx.rule import Applied, rule


@rule("linear")
def linear(graph: Emitter, call: Applied) -> Tensor:
    """Return a product of matrices (Gemm), or a product with the transposed weight (MatMul) for further axes."""
    x = call.x
    weight = call.named("weight") or call.param("weight")
    bias = call.named("bias") or (call.param("bias") if call.has("bias") else None)
    if x.rank == 2 and not x.type.is_complex:
        return graph.node("Gemm", [x, weight, bias], call.output, transB=1)
    made = graph.matmul(x, graph.swapped(weight))
    return made if bias is None else graph.add(made, bias)


@rule("bilinear")
def bilinear(graph: Emitter, call: Applied) -> Tensor:
    """Return x₁·A·x₂ for each output feature, by two products."""
    first, second = call.x, call.required(1)
    equation = "...i,oij,...j->...o"
    made = graph.node("Einsum", [first, call.param("weight"), second], call.output, equation=equation)
    return graph.add(made, call.param("bias")) if call.has("bias") else made
