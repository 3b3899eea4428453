"""Shipped specs with random changes are elaborated or rejected with diagnostics; nothing else is raised."""

from __future__ import annotations

import os
import re
from functools import cache

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from netcalc.analysis.cost import analyze
from netcalc.diagnostics import NetcalcError
from netcalc.spec import elaborate
from netcalc.spec.library import load_text
from netcalc.spec.shipped import shipped, specs_dir

DRAWS = int(os.environ.get("NETCALC_DRAWS", "100"))

#: Words, whitespace and single other characters.
TOKEN = re.compile(r"\w+|\s+|[^\w\s]")
STRANGE = [
    *(
        "",
        "0",
        "-1",
        "1",
        "2.5",
        "1e9",
        "null",
        "true",
        ".nan",
        "[]",
        "{}",
        "''",
        "~",
        "!!int",
        "*a",
        "&a",
        "é",
        "\t",
        "\n",
    ),
    *("${", "}", "[", "]", "{", "index", "in", "x", "name", "from", "repeat", "share", "tie", "when", "as", "freeze"),
    *("linear", "conv2d", "relu", "add", "sequence", "layers", "inputs", "outputs", "blocks", "extends", "import"),
]
SMALL = ("mlp", "seed_cnn", "resnet18", "transformer", "mobilenet_v1", "squeezenet1_1", "bert-tiny", "unet")


@cache
def tokens(name: str) -> list[str]:
    return TOKEN.findall(shipped()[name].read_text(encoding="utf-8"))


@st.composite
def damaged(draw: st.DrawFn) -> str:
    found = list(tokens(draw(st.sampled_from(SMALL))))
    for _ in range(draw(st.integers(1, 4))):
        place = draw(st.integers(0, len(found) - 1))
        match draw(st.sampled_from(["delete", "duplicate", "replace", "swap"])):
            case "delete":
                del found[place]
            case "duplicate":
                found.insert(place, found[place])
            case "replace":
                found[place] = draw(st.sampled_from(STRANGE))
            case "swap":
                other = draw(st.integers(0, len(found) - 1))
                found[place], found[other] = found[other], found[place]
    return "".join(found)


@settings(max_examples=DRAWS, deadline=None, suppress_health_check=list(HealthCheck))
@given(damaged())
def test_damaged_specs_are_elaborated_or_rejected(text: str) -> None:
    try:
        program = elaborate(load_text(text, "spec.yaml", specs_dir()))
    except NetcalcError as error:
        assert error.diagnostics
        assert len(set(map(str, error.diagnostics))) == len(error.diagnostics)
        return
    analysis = analyze(program)
    rows = list(analysis.leaves())
    assert sum(row.cost.params * row.repeat for row in rows) == analysis.total.params
    assert sum(row.cost.flops * row.repeat for row in rows) == analysis.total.flops
