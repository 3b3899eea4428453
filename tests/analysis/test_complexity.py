"""Work, sequential steps and paths of layers: Table 1 of arXiv:1706.03762, and what runs of stacked layers show."""

from __future__ import annotations

import numpy as np
import pytest

import netcalc
from netcalc.analysis.explain import Explanation
from netcalc.diagnostics import NetcalcError

_WIDTH = 16
_PATH = "path from end to end"
_ATTENTION = "- {from: [x, x, x], scaled_dot_product_attention: %s}"
_CONV = "- {conv1d: {out: 16, kernel: %s, padding: same}}"


def explained(line: str, *, channels_first: bool = False, length: int = 40) -> Explanation:
    shape = f"[1, {_WIDTH}, length]" if channels_first else f"[1, length, {_WIDTH}]"
    text = f"netcalc: 1\ndims: {{length: {length}}}\ninputs: {{x: {shape}}}\nlayers:\n  {line}\n"
    return netcalc.loads(text).explain(complexity=True)


def row(found: Explanation, label: str) -> tuple[str, object]:
    (line,) = [line for line in found.sections[0].steps if line.label == label]
    return line.formula, line.value


# n²·d of scores and n²·d of the weighted sum; n·d² by input and n·d² by state; k·n·d²
@pytest.mark.parametrize(
    ("line", "first", "work", "steps", "path"),
    [
        (_ATTENTION % "{}", False, f"{2 * _WIDTH}·length²", 1, 1),
        ("- {rnn: {hidden: 16, batch_first: true}}", False, f"{2 * _WIDTH**2}·length", 40, 40),
        (_CONV % 3, True, f"{3 * _WIDTH**2}·length", 1, 39),
    ],
)
def test_table_1(line: str, first: bool, work: str, steps: int, path: int) -> None:
    found = explained(line, channels_first=first)
    assert row(found, "multiply-adds")[0].startswith(work)
    assert row(found, "sequential steps")[1] == steps
    assert row(found, _PATH)[1] == path


@pytest.mark.parametrize(
    ("layer", "inputs", "work", "path"),
    [
        ("{from: [x, x, x], scaled_dot_product_attention: {}}", '[1, n, "${d}"]', "2·d·n²", ("", 1)),
        ("{rnn: {hidden: '${d}', batch_first: true}}", '[1, n, "${d}"]', "2·d²·n", ("n", 512)),
        ("{conv1d: {out: '${d}', kernel: 3, padding: same}}", '[1, "${d}", n]', "3·d²·n", ("⌈(n − 1)/1⌉", 511)),
        (
            "{from: [x, x, x], scaled_dot_product_attention: {window: 8, sparse: true}}",
            '[1, n, "${d}"]',
            "34·d·n − 144·d",  # (2·8 + 1)·n pairs, less 8·9/2 at each end, twice
            ("⌈(n − 1)/8⌉", 64),
        ),
    ],
)
def test_table_1_in_positions_and_width(layer: str, inputs: str, work: str, path: tuple[str, int]) -> None:
    dims = "{n: {default: 512, min: 64}}"
    text = f"netcalc: 1\ndims: {dims}\nvars: {{d: 64}}\ninputs: {{x: {inputs}}}\nlayers: [{layer}]\n"
    found = netcalc.loads(text, symbolic=["n", "d"]).explain(complexity=True)
    assert row(found, "multiply-adds")[0] == work
    assert row(found, _PATH) == path


def test_complexity_in_structural_vars() -> None:
    found = netcalc.load("gpt2", symbolic=["d_model", "layers", "heads"]).explain(complexity=True)
    numbers = netcalc.load("gpt2").explain(complexity=True)
    total, plain = (explanation.sections[-1].steps for explanation in (found, numbers))
    assert total[0].formula == "2·d_model·layers·length² + 12·d_model²·layers·length + 50,257·d_model·length"
    assert [line.value for line in total] == [line.value for line in plain]


def test_stacked_recurrences_and_scans_take_their_steps() -> None:
    assert row(explained("- {lstm: {hidden: 8, layers: 3, batch_first: true}}"), "sequential steps")[1] == 3 * 40
    gru = explained("- {gru: {hidden: 8, batch_first: true}}")
    assert row(gru, _PATH) == ("length", 40)
    mamba = netcalc.load("mamba-130m").explain(complexity=True)
    (scan,) = [section for section in mamba.sections if section.title.startswith("selective_scan")]
    assert [line.value for line in scan.steps][1:] == [2048, 2048]


@pytest.mark.parametrize(
    ("line", "first"),
    [
        (_CONV % 3, True),
        (_CONV % "5, dilation: 2", True),
        (_ATTENTION % "{window: 3}", False),
        (_ATTENTION % "{window: [4, 0], causal: true}", False),
        ("- {linear: 16}", False),
    ],
)
@pytest.mark.parametrize("length", [8, 9])
def test_as_many_layers_connect_the_ends_when_they_run(line: str, first: bool, length: int) -> None:
    """Change the first position of an input, and look for the fewest layers behind which the last one changes."""
    path = row(explained(line, channels_first=first, length=length), _PATH)[1]
    shape = [1, _WIDTH, length] if first else [1, length, _WIDTH]
    before = np.random.default_rng(0).normal(size=shape).astype("float32")
    after = before.copy()
    after[(..., 0) if first else (0, 0)] += 1
    connecting = None
    for layers in range(1, 10):
        lines = "\n".join(
            f"  {line}".replace("[x, x, x]", "[v, v, v]").replace("- {", f"- {{name: l{n}, as: v, ")
            for n in range(layers)
        )
        text = f"netcalc: 1\ninputs: {{v: {shape}}}\nlayers:\n{lines}\n"
        net = netcalc.loads(text)
        ends = [next(iter(net.run({"v": x}, seed=1).outputs.values())) for x in (before, after)]
        last = [end[..., -1] if first else end[:, -1] for end in ends]
        if not np.array_equal(last[0], last[1]):
            connecting = layers
            break
    assert connecting == (None if isinstance(path, str) else path)


def test_positions_that_no_dim_names() -> None:
    with pytest.raises(NetcalcError, match="has the positions") as raised:
        netcalc.load("resnet18").explain(complexity=True)
    assert "--symbolic" in str(raised.value.diagnostics[0].hint)
    with pytest.raises(NetcalcError, match="--complexity explains"):
        netcalc.load("gpt2").explain("h.0", complexity=True)


def test_networks() -> None:
    resnet = netcalc.load("resnet18", symbolic=["width"]).explain(complexity=True).sections[-1]
    assert resnet.steps[-1].value == 1  # by the mean over all positions
    gpt2 = netcalc.load("gpt2").explain(complexity=True).sections[-1]
    assert gpt2.steps[0].value == netcalc.load("gpt2").macs


@pytest.mark.parametrize("symbolic", [[], ["steps"]])
def test_size_of_a_dim_that_has_a_divisor(symbolic: list[str]) -> None:
    text = "netcalc: 1\ndims: {steps: {default: 24, multiple_of: 8}}\ninputs: {x: [1, steps, 4]}\n"
    text += "layers: [{from: [x, x, x], scaled_dot_product_attention: {window: 3}}]\n"
    if not symbolic:
        text = text.replace("steps", "length")
    found = netcalc.loads(text, symbolic=symbolic).explain(complexity=True)
    assert found.sections[-1].title.endswith("= 24")
    assert row(found, "multiply-adds")[1] == 2 * 4 * 24**2
    assert row(found, _PATH)[1] == 8  # 23 positions, 3 at a time
