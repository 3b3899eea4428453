"""Specs of a few lines that expand to very many layers."""

import pytest

import netcalc
from netcalc.analysis.counting import operation_count
from netcalc.limits import MAX_INSTANCES, MAX_PATH, MAX_ROWS, MAX_UNROLLED
from netcalc.spec import expansion

HEAD = "netcalc: 1\ninputs: {x: [2, 4]}\n"


def chain(line: str, levels: int = 24) -> str:
    """Return a spec of blocks in which each calls the next by ``line``, with NEXT for its name."""
    blocks = [f"  b{i}:\n    layers: [{line.replace('NEXT', f'b{i + 1}')}]\n" for i in range(levels - 1)]
    return f"{HEAD}layers: [b0: ]\nblocks:\n{''.join(blocks)}  b{levels - 1}:\n    layers: [relu: ]\n"


FIBONACCI = (
    HEAD
    + """layers: [fib: 40]
blocks:
  fib:
    args: {n: int}
    layers:
      - {fib: "${n - 1}", when: n > 1}
      - {fib: "${n - 2}", when: n > 1}
      - {relu: , when: n <= 1}
"""
)

EXPONENTIAL = {
    "calls": chain("NEXT: , NEXT: "),
    "branches": chain("{add: {left: [NEXT], right: [NEXT]}}"),
    "named iterations": chain("{NEXT: , repeat: 2, name: 'n${index}'}"),
    "unnamed iterations": chain("{sequence: [NEXT, relu], repeat: 2}"),
    "operations of many tensors": chain("NEXT: , NEXT: ", 12).replace("relu: ", "lstm: {hidden: 4, layers: 900}"),
    "calls of the two below": FIBONACCI,
}


def refusal(text: str) -> netcalc.Diagnostic:
    with pytest.raises(netcalc.NetcalcError) as caught:
        netcalc.loads(text)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "E003"
    assert diagnostic.span is not None
    return diagnostic


@pytest.mark.parametrize("text", EXPONENTIAL.values(), ids=EXPONENTIAL)
def test_a_spec_that_expands_exponentially_is_refused_at_a_line(text: str) -> None:
    assert f"{MAX_ROWS:,} rows" in refusal(text).message


def test_reports_have_few_enough_rows_to_be_printed_in_seconds() -> None:
    assert "reports have at most 40,000 rows" in refusal(chain("NEXT: , NEXT: ", 16)).message


def test_inlined_lines_count_as_lines() -> None:
    assert "lines" in refusal(chain("{NEXT: , inline: true}, {NEXT: , inline: true}").replace("b0: ]", "b0]")).message


def test_rows_below_the_limit_are_all_there() -> None:
    net = netcalc.loads(chain("NEXT: , NEXT: ", 11))
    assert len(net.summary().layers) == operation_count(net.program) == 2**10


def test_tensors_of_lines_are_counted_though_equal_bodies_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = ", ".join(["x"] * 50)
    repeat = "repeat: {times: 20, index: i}, name: n"
    text = f"{HEAD}layers: [{{concat: {{axis: '${{0 * i}}'}}, from: [{inputs}], {repeat}}}]\n"
    netcalc.loads(text)
    monkeypatch.setattr(expansion, "MAX_TENSORS", 500)
    assert "inputs, outputs and parameters" in refusal(text).message


def test_a_path_has_a_limit() -> None:
    text = chain("{NEXT: , name: '" + "n" * 50 + "'}")
    assert f"at most {MAX_PATH:,}" in refusal(text).message


@pytest.fixture(scope="module")
def deep() -> netcalc.Network:
    return netcalc.loads(HEAD + "layers: [{name: h, linear: 4, repeat: 100000000}]\n")


def test_equal_layers_are_one_row(deep: netcalc.Network) -> None:
    assert deep.params == 20 * 10**8
    assert len(deep.summary().layers) == 1


@pytest.mark.parametrize(
    ("use", "limit"),
    [
        (lambda net: net.summary(unroll=True), MAX_UNROLLED),
        (lambda net: net.analysis().tree(unroll=True), MAX_UNROLLED),
        (lambda net: net.shapes, MAX_UNROLLED),
        (lambda net: net.run(plan="reference"), MAX_INSTANCES),
        (lambda net: net.verify(), MAX_INSTANCES),
    ],
)
def test_what_visits_every_instance_has_a_limit(deep: netcalc.Network, use, limit) -> None:
    with pytest.raises(netcalc.NetcalcError, match=rf"^{limit.code}: .*\(at most {int(limit):,}\)"):
        use(deep)


def test_receptive_fields_of_many_layers_are_refused() -> None:
    net = netcalc.loads("netcalc: 1\ninputs: {x: [1, 3, 8, 8]}\nlayers: [{name: h, relu: , repeat: 100000000}]\n")
    with pytest.raises(netcalc.NetcalcError, match="E502"):
        net.receptive_fields()
