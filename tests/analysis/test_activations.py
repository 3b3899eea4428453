"""Memory of activations: computed by body, against liveness on the unrolled program."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from netcalc.analysis.activations import activations
from netcalc.analysis.activations.peaks import ExecutionName
from netcalc.analysis.layout import Layout, Storage, results
from netcalc.diagnostics import NetcalcError
from netcalc.ir import Body, OpNode, Program
from netcalc.loading import load
from tests.numerics.programs import program

BLOCKS = """
blocks:
  chain: {layers: [relu, relu]}
  swap: {layers: [{transpose: [0, 1]}]}
  copy: {layers: [{transpose: [0, 1]}, {reshape: [100]}, {reshape: [10, 10]}]}
  pass: {layers: [{dropout: 0.5}]}
  half: {layers: [{chunk: {chunks: 2, axis: 0}, as: [a, b]}, {from: [a, a], concat: {axis: 0}}]}
  residual: {layers: [{add: {main: [relu, relu], skip: []}}]}
  mixed: {inputs: [x, side], layers: [{add: {}, from: [x, side]}, relu, {add: {}, from: [in, side]}]}
  early: {inputs: [x, side], layers: [{add: {}, from: [x, side]}, {residual: {}}]}
  nested: {layers: [{repeat: 2, residual: {}}, {swap: {}}, {repeat: 3, swap: {}}, {name: end, chain: {}}]}
  other: {inputs: [x, side], layers: [{repeat: 3, mixed: {}, from: {side: side}}, {pass: {}}, {copy: {}}]}
"""
ONE = ["relu", "chain", "swap", "copy", "pass", "half", "residual", "nested"]
TWO = ["add", "mixed", "early", "other"]


def unrolled_peak(net: Program) -> int:
    """Return the peak bytes of an ideal execution: of memory between the operation that makes it and its last use."""
    inputs = [Layout.new(spec.type) for spec in net.inputs]
    events: list[list[Layout]] = [inputs]  # what each operation touches

    def run(body: Body, arguments: Sequence[Layout | None]) -> list[Layout | None]:
        values = dict(zip(body.inputs, arguments, strict=True))
        for node in body.nodes:
            layouts = [None if value is None else values[value] for value in node.inputs]
            if isinstance(node, OpNode):
                outputs = list[Layout | None](results(node.op, layouts, node.input_types, node.output_types))
                events.append([layout for layout in (*layouts, *outputs) if layout is not None])
            else:
                for _ in range(node.times):
                    outputs = run(node.body, layouts)
                    layouts[: len(outputs)] = outputs
            values.update(zip(node.outputs, outputs, strict=True))
        return [values[value] for value in body.outputs]

    events.append([layout for layout in run(net.main, inputs) if layout is not None])
    first: dict[Storage, int] = {}
    last: dict[Storage, int] = {}
    for time, event in enumerate(events):
        for layout in event:
            first.setdefault(layout.storage, time)
            last[layout.storage] = time
    made = [0] * (len(events) + 1)
    for storage, time in first.items():
        made[time] += 0 if storage.parameter else storage.nbytes
        made[last[storage] + 1] -= 0 if storage.parameter else storage.nbytes
    return max(accumulate(made))


@st.composite
def specs(draw: st.DrawFn) -> str:
    """Draw lines of operations and blocks that use each other's outputs and views of them, repeated and nested."""
    lines, names = [], ["x", "y"]
    for number in range(draw(st.integers(1, 8))):
        kind = draw(st.sampled_from([*ONE, *TWO]))
        one, two = draw(st.sampled_from(names)), draw(st.sampled_from(names))
        repeat = f"repeat: {draw(st.integers(1, 4))}, " if kind not in ("relu", "add") else ""
        source = one if kind in ONE else f"[{one}, {two}]" if kind == "add" else f"{{x: {one}, side: {two}}}"
        lines.append(f"  - {{name: n{number}, {repeat}{kind}: {{}}, from: {source}}}")
        names.append(f"n{number}")
    outputs = draw(st.lists(st.sampled_from(names[2:]), min_size=1, max_size=2, unique=True))
    inputs = "inputs: {x: [10, 10], y: [10, 10]}"
    return f"{inputs}{BLOCKS}layers:\n" + "\n".join(lines) + f"\noutputs: [{', '.join(outputs)}]"


@settings(deadline=None, max_examples=80)
@given(specs())
def test_the_ideal_peak_is_that_of_the_unrolled_program(text: str) -> None:
    net, peak = program(text), activations(program(text))
    assert peak.peak == unrolled_peak(net)
    assert sum(tensor.bytes for tensor in peak.live) == peak.peak
    assert max([point.bytes for point in peak.points()], default=0) <= peak.peak


@pytest.mark.parametrize("name", ["resnet18", "mobilenet_v2", "densenet121", "vit_b_16", "swin_t", "t5-small", "gpt2"])
def test_the_ideal_peak_of_networks(name: str) -> None:
    net = load(name).program
    assert activations(net).peak == unrolled_peak(net)


@pytest.mark.parametrize(
    ("layers", "tensors"),
    [
        ("[relu]", 2),
        ("[relu, relu, relu, relu]", 2),
        ("[{transpose: [0, 1]}, {dropout: 0.1}]", 1),
        ("[{transpose: [0, 1]}, {reshape: [100]}]", 2),  # a copy
        ("[{repeat: 1000, relu: {}}]", 2),
        ("[{repeat: 1000, residual: {}}]", 3),
        ("[{name: a, relu: {}}, {repeat: 9, relu: {}}, {add: {}, from: [in, a]}]", 4),
        ("[{chunk: {chunks: 2, axis: 0}, as: a}, {from: a, relu: {}}, relu]", 1.5),  # a part keeps the whole
    ],
)
def test_known_networks(layers: str, tensors: float) -> None:
    net = program(f"inputs: {{x: [10, 10]}}{BLOCKS}layers: {layers}")
    assert activations(net).peak == tensors * 400


def test_the_peak_names_its_tensors_and_a_stack_is_one_step() -> None:
    net = program(
        "inputs: {x: [1, 64]}\nlayers: [{name: a, repeat: 50000000, sequence: [{linear: 128}, {linear: 64}]}]"
    )
    found = activations(net)
    assert found.at == "a.0.0"
    assert [(tensor.path, tensor.shape) for tensor in found.live] == [("x", (1, 64)), ("a.0.0", (1, 128))]
    assert [(point.path, point.repeat) for point in found.layers] == [("a.0", 50000000)]
    assert [(point.path, point.bytes, point.repeat) for point in found.points()] == [
        ("a.0.0", 768, 50000000),
        ("a.0.1", 768, 50000000),
    ]


def test_symbolic_sizes_are_an_error() -> None:
    net = load("resnet18", symbolic=["batch"]).program
    with pytest.raises(NetcalcError) as caught:
        activations(net)
    assert caught.value.diagnostics[0].code == "E404"


@settings(deadline=None, max_examples=60)
@given(specs())
def test_eager_mode_needs_no_less_than_the_ideal(text: str) -> None:
    net = program(text)
    ideal, eager = activations(net), activations(net, "eager")
    assert eager.peak >= ideal.peak
    assert sum(tensor.bytes for tensor in eager.live) == eager.peak
    assert ideal.peak >= max(sum(tensor.bytes for tensor in found.live[-1:]) for found in (ideal, eager))


EAGER = {
    # bytes beside the input and the output, as PyTorch allocates them
    "{max_pool2d: 2}": ([2, 8, 16, 16], 2 * 8 * 8 * 8 * 8),
    "layer_norm": ([2, 8, 16], 2 * 2 * 8 * 4),
    "{group_norm: {groups: 2}}": ([2, 8, 4, 4], 2 * 2 * 2 * 4),
    "softsign": ([2, 8, 16], 1024),
    "logsigmoid": ([2, 8, 16], 1024),
    "{conv2d: {out: 4, kernel: 3, padding: 1, padding_mode: reflect}}": ([2, 4, 16, 16], 10368),
    "{conv2d: {out: 4, kernel: 2, padding: same}}": ([2, 4, 16, 16], 9248),
    "{conv2d: {out: 4, kernel: 3, padding: 1}}": ([2, 4, 16, 16], 0),
    "{scaled_dot_product_attention: {}, from: [x, x, x]}": ([2, 4, 16, 8], 512),
    "{scaled_dot_product_attention: {return_weights: true}, from: [x, x, x]}": ([2, 4, 16, 8], 16384),
}


@pytest.mark.parametrize("line", EAGER)
def test_operations_allocate_what_kernels_return(line: str) -> None:
    shape, extra = EAGER[line]
    net = program(f"inputs: {{x: {shape}}}\nlayers: [{line}]")
    (output,) = {value.known_type.elements * 4 for value in net.main.nodes[-1].outputs[:1]}
    (given_bytes,) = {spec.type.elements * 4 for spec in net.inputs}
    assert activations(net, "eager").peak - output - given_bytes == extra


@pytest.mark.parametrize("execution", ["ideal", "eager"])
def test_time_grows_linearly_with_tensors_that_are_live_at_once(execution: ExecutionName) -> None:
    def seconds(count: int) -> float:
        lines = ", ".join(f"{{name: n{number}, from: in, relu: {{}}}}" for number in range(count))
        joined = ", ".join(f"n{number}" for number in range(count))
        net = program(f"inputs: {{x: [4]}}\nlayers: [{lines}, {{from: [{joined}], concat: {{axis: 0}}}}]")
        times = []
        for _ in range(3):  # the least: a garbage collection may fall into any of them
            start = process_time()
            found = activations(net, execution)
            times.append(process_time() - start)
            assert len(found.live) == count + (2 if execution == "eager" else 1)
        return min(times)

    assert seconds(4000) < 16 * seconds(500) + 0.2
