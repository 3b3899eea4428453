"""Matrix products of the backward passes of sequence operations, against torch's FlopCounterMode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from netcalc import ops
from netcalc.dims import value_at
from netcalc.opdef import Context
from netcalc.ops.backward import BackwardCall, Source, declaration
from netcalc.tensor_type import TensorType
from tests.nodes import node_of

torch = pytest.importorskip("torch")
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402
from torch.utils.flop_counter import FlopCounterMode  # noqa: E402

Shape = tuple[int, ...]


def flat(result: Any) -> list[Any]:
    return [result] if torch.is_tensor(result) else [tensor for part in result for tensor in flat(part)]


def declared(
    name: str, attrs: dict[str, Any], shapes: Sequence[Shape | None], wanted: Sequence[int] | None, *, last: bool = True
) -> int:
    """Return the FLOPs (2 a MAC) of the matrix products; of all parameters if no inputs are wanted."""
    found = ops.find(name)
    assert found is not None
    op = found(**attrs)
    types = tuple(None if shape is None else TensorType(shape) for shape in shapes)
    node = node_of(op, types, Context())
    sources: frozenset[Source] = frozenset(p.name for p in node.params) if wanted is None else frozenset(wanted)
    given = (True, *[last] * (len(node.output_types) - 1))
    passed = declaration(op)
    assert passed is not None
    terms = passed.cost(op, BackwardCall(types, node.output_types, node.params, sources, given))
    return 2 * sum(value_at(term.count, {}) for term in terms if term.kind == "mac")


def counted(forward: Callable[[], Any], leaves: Sequence[Any], *, last: bool = True) -> int:
    """Return the FLOPs that torch counts from the sum of the outputs, or of the first, back to the leaves."""
    with FlopCounterMode(display=False) as before:
        forward()
    with FlopCounterMode(display=False) as after:
        outputs = flat(forward())[: None if last else 1]
        sums = [y.sum() for y in outputs if y.requires_grad]
        torch.autograd.grad(sums, leaves, allow_unused=True)
    return int(after.get_total_flops() - before.get_total_flops())


@pytest.mark.parametrize("last", [True, False])
@pytest.mark.parametrize("states", [True, False])
@pytest.mark.parametrize(("layers", "both", "projected"), [(1, False, 0), (2, False, 0), (2, True, 0), (2, True, 3)])
@pytest.mark.parametrize("name", ["rnn", "lstm", "gru"])
def test_recurrent_layers(name: str, layers: int, both: bool, projected: int, states: bool, last: bool) -> None:
    if projected and name != "lstm":
        pytest.skip("only the LSTM projects its state")
    kwargs = {"proj_size": projected} if projected else {}
    rows = layers * (1 + both)
    shapes = [(rows, 2, projected or 5), (rows, 2, 5)][: 2 if name == "lstm" else 1]
    with torch.device("meta"):
        module = getattr(torch.nn, name.upper())(4, 5, layers, bidirectional=both, **kwargs)
        x, given = torch.zeros(7, 2, 4), [torch.zeros(shape) for shape in shapes]
    hx = None if not states else tuple(given) if name == "lstm" else given[0]
    attrs = {"hidden": 5, "layers": layers, "bidirectional": both, **kwargs}
    theirs = counted(lambda: module(x, hx), list(module.parameters()), last=last)
    assert declared(name, attrs, [(7, 2, 4), *(shapes if states else [])], None, last=last) == theirs


@pytest.mark.parametrize(("name", "module"), [("rnn", "RNNCell"), ("lstm", "LSTMCell"), ("gru", "GRUCell")])
def test_cells(name: str, module: str) -> None:
    with torch.device("meta"):
        cell, x = getattr(torch.nn, module)(4, 5), torch.zeros(3, 4)
    assert declared(f"{name}_cell", {"hidden": 5}, [(3, 4)], None) == counted(lambda: cell(x), list(cell.parameters()))


@pytest.mark.parametrize("wanted", [[0, 1, 2], [0], [1], [2]])
@pytest.mark.parametrize(
    "shapes",
    [
        [(2, 4, 5, 8), (2, 4, 7, 8), (2, 4, 7, 6)],
        [(2, 4, 5, 8), (2, 2, 7, 8), (2, 2, 7, 6)],
        [(4, 5, 8), (2, 1, 7, 8), (7, 6)],
    ],
)
def test_attention(shapes: list[Shape], wanted: list[int]) -> None:
    grouped = shapes[1][-3:-2] == (2,)
    with torch.device("meta"):
        tensors = [torch.zeros(shape, requires_grad=n in wanted) for n, shape in enumerate(shapes)]

    def forward() -> Any:
        with sdpa_kernel(SDPBackend.MATH):
            return torch.nn.functional.scaled_dot_product_attention(*tensors, enable_gqa=grouped)

    theirs = counted(forward, [tensors[n] for n in wanted])
    assert declared("scaled_dot_product_attention", {"enable_gqa": grouped}, shapes, wanted) == theirs


SCANS = [[0, 1, 2, 3, 4], [0], [1], [2], [3], [4], [0, 3]]


def assert_scan(
    name: str, attrs: dict[str, Any], shapes: list[Any], wanted: list[int], forward: Callable[..., Any]
) -> None:
    tensors = [
        None if shape is None else torch.randn(shape, requires_grad=n in wanted) for n, shape in enumerate(shapes)
    ]
    for last in (True, False):
        theirs = counted(lambda: forward(*tensors), [tensors[n] for n in wanted], last=last)
        assert declared(name, attrs, shapes, wanted, last=last) == theirs


@pytest.mark.parametrize("wanted", SCANS)
@pytest.mark.parametrize("chunk", [2, 5])
@pytest.mark.parametrize("start", [True, False])
def test_ssd_scan(wanted: list[int], chunk: int, start: bool) -> None:
    mamba2 = pytest.importorskip("transformers.models.mamba2.modeling_mamba2", exc_type=ImportError)
    shapes = [(2, 5, 4, 3), (2, 5, 4), (4,), (2, 5, 2, 6), (2, 5, 2, 6), None, None, (2, 4, 3, 6) if start else None]

    def forward(u: Any, delta: Any, a: Any, b: Any, c: Any, d: Any, bias: Any, first: Any) -> Any:
        return mamba2.mamba2_chunk_scan(u, delta, a, b, c, chunk, return_final_states=True, initial_states=first)

    assert_scan("ssd_scan", {"chunk": chunk}, shapes, wanted, forward)


@pytest.mark.parametrize("wanted", SCANS)
@pytest.mark.parametrize("chunk", [2, 5])
@pytest.mark.parametrize("start", [True, False])
def test_gated_delta_rule(wanted: list[int], chunk: int, start: bool) -> None:
    qwen = pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next", exc_type=ImportError)
    shapes = [(2, 5, 2, 6), (2, 5, 2, 6), (2, 5, 4, 3), (2, 5, 4), (2, 5, 4), (2, 4, 6, 3) if start else None]

    def forward(q: Any, k: Any, v: Any, decay: Any, beta: Any, first: Any) -> Any:
        options = {"initial_state": first, "output_final_state": True}
        return qwen.torch_chunk_gated_delta_rule(q, k, v, decay, beta, chunk, **options)

    assert_scan("gated_delta_rule", {"chunk": chunk}, shapes, wanted, forward)


@pytest.mark.parametrize("wanted", SCANS[:-1])
def test_selective_scan(wanted: list[int]) -> None:
    mamba = pytest.importorskip("transformers.models.mamba.modeling_mamba", exc_type=ImportError)
    if not hasattr(mamba, "mamba_selective_scan"):
        pytest.skip("this version of transformers has no function for the scan alone")

    def forward(u: Any, delta: Any, a: Any, b: Any, c: Any) -> Any:
        b, c = b.transpose(1, 2), c.transpose(1, 2)
        return mamba.mamba_selective_scan(u, delta, a, b, c, return_last_state=True)

    shapes = [(2, 4, 5), (2, 4, 5), (4, 3), (2, 5, 3), (2, 5, 3)]
    assert_scan("selective_scan", {}, shapes, wanted, forward)
