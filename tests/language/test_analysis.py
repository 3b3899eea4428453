"""Analysis of texts as they are typed: figures of lines, and diagnostics as the command line gives them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from netcalc.language import Document, Edit, Options, Position, Range

SMALL = """\
netcalc: 1
name: small
inputs: {image: [1, 3, 32, 32]}
layers:
  - {name: conv, conv2d: {out: 8, kernel: 3}}
  - relu
  - flatten
  - {name: fc, linear: 10}
"""


def _hints(text: str, options: Options | None = None) -> list[tuple[int, str]]:
    return [(hint.line, hint.text()) for hint in Document(text, options=options).analyze().hints]


def test_lines_have_the_shapes_and_parameters_that_pytorch_gives() -> None:
    # torch.nn.Conv2d(3, 8, 3): 8·3·9 + 8; torch.nn.Linear(7200, 10): 72000 + 10
    assert _hints(SMALL) == [
        (4, "→ 1×8×30×30 · 224"),
        (5, "→ 1×8×30×30"),
        (6, "→ 1×7200"),
        (7, "→ 1×10 · 72,010"),
    ]


def test_totals_of_a_shipped_spec() -> None:
    path = next((Path(netcalc.__file__).parent.parent / "specs").rglob("resnet34.yaml"))
    analysis = Document(path.read_text(encoding="utf-8"), path).analyze()
    assert analysis.problems == ()
    assert analysis.totals is not None
    assert (analysis.totals.params, analysis.totals.macs) == (21_797_672, 3_663_761_408)
    assert json.loads(json.dumps(asdict(analysis)))["totals"]["outputs"][0]["shape"] == [1, 1000]


@pytest.mark.parametrize(
    ("old", "new", "known"),
    [
        ("- flatten", "- flaten", [4, 5]),
        ("- flatten", "- {flatt", [4, 5]),
        ("- flatten", "- flatten: [", [4, 5]),
        ("- flatten", '- flatten: "', [4, 5]),
        ("- flatten", "- fla: a: b", [4, 5]),
        ("  - relu", "  - {name: act, relu: {inpl", [4]),
        ("  - relu", " - relu", [4]),
        ("  - {name: fc, linear: 10}", "  - name: fc\n    linear:\n      out: [1", [4, 5, 6]),
        ("name: small", "name: small: x", [4, 5, 6, 7]),
        ("name: small", "nam", [4, 5, 6, 7]),
        ("image: [1, 3, 32, 32]", "image: [1, 3, 32, 32", []),
    ],
)
def test_a_broken_line_hides_no_line_before_it_and_nothing_that_depends_on_it_has_a_figure(
    old: str, new: str, known: list[int]
) -> None:
    analysis = Document(SMALL.replace(old, new)).analyze()
    assert [hint.line for hint in analysis.hints] == known
    assert [problem.severity for problem in analysis.problems][:1] == ["error"]
    assert analysis.totals is None


def test_a_line_after_a_broken_one_has_a_figure_if_it_does_not_depend_on_it() -> None:
    text = SMALL.replace("- relu", "- {relu").replace("{name: fc, linear: 10}", "{name: fc, from: conv, linear: 10}")
    assert _hints(text) == [(4, "→ 1×8×30×30 · 224"), (7, "→ 1×8×30×10 · 310")]


FLOW = """\
netcalc: 1
inputs: {x: [1, 8]}
layers: [  # in flow style
  linear: 4,
  {name: b, linear: 5}, relu,
  {name: c, from: b, linear: 6},
  |
  {name: d, from: b, linear: 7},
  {name: e,
   linear: 8},
]
outputs: [d]
"""


@pytest.mark.parametrize(
    "typed", ["{linear: ,", "{name: z, linear: [3},", "linear: 3: 4,", "{", "[", '"', "relu: {", "- x,"]
)
def test_complete_elements_of_a_list_in_flow_style_have_figures(typed: str) -> None:
    known = [(3, "→ 1×4 · 36"), (4, "→ 1×5 · 25"), (5, "→ 1×6 · 36"), (7, "→ 1×7 · 42")]
    assert _hints(FLOW.replace("|", typed)) == [*known, (9, "→ 1×8 · 64")]
    assert _hints(FLOW.partition("|")[0] + typed) == known[:3]
    inside = "blocks:\n  a:\n    layers: [linear: 4,\n      |\n      {from: in, linear: 2}]\nlayers: [a: {}]\n"
    analysis = Document("netcalc: 1\ninputs: {x: [1, 8]}\n" + inside.replace("|", typed)).analyze()
    assert [hint.line for hint in analysis.hints] == [4, 6, 7]
    assert analysis.totals is None and analysis.problems


def test_a_comma_that_is_missing_hides_no_element() -> None:
    assert [line for line, _ in _hints(FLOW.replace("|", "tanh"))] == [3, 4, 5, 6, 7, 9]


DECLARED = """\
netcalc: 1
vars: {width: 4}
inputs: {x: [1, 8]}
blocks:
  first: {layers: [{linear: "${width}"}]}
  second: {layers: [linear: 2]}
layers:
  - {name: a, first: {}}
  - {name: b, from: x, second: {}}
"""


@pytest.mark.parametrize(
    ("old", "new", "known"),
    [
        ("blocks:\n", "blocks:\n  third:\n", "ab"),
        ("blocks:\n", "blocks:\n  third:\n    layers:\n", "ab"),
        ("blocks:\n", "blocks:\n  third:\n    args: {out: int}\n", "ab"),
        ("{layers: [linear: 2]}", "{args: {out: int}}", "a"),
        ("{name: a, first: {}}", "{name: a, third: {}}", "b"),
        ("vars: {width: 4}", "dims: {depth: {min: x}, other: 1}\nvars: {width: 4}", "ab"),
        ("vars: {width: 4}", "vars:", "b"),
        ("blocks:\n", "require:\nblocks:\n", "ab"),
        ("blocks:\n", "requires: []\nblocks:\n", "ab"),
        ("inputs: {x: [1, 8]}", "extends: resnet18\nvas: {width: 5}", ""),
    ],
)
def test_a_declaration_that_is_typed_hides_no_line_that_does_not_depend_on_it(old: str, new: str, known: str) -> None:
    analysis = Document(DECLARED.replace(old, new)).analyze()
    assert "".join(hint.path for hint in analysis.hints if hint.path in ("a", "b")) == known
    assert analysis.totals is None and analysis.problems


def test_what_may_be_missing_in_a_part_that_cannot_be_read_is_no_error() -> None:
    assert [problem.code for problem in Document("netcalc: 1\nname: x\nlay").analyze().problems] == ["E001"]


def test_a_broken_line_keeps_its_name_from_lines_that_use_it() -> None:
    # `x` is the broken line, not the input of that name
    text = "netcalc: 1\ninputs: {x: [1, 8]}\nlayers:\n  - {name: x, linear: [\n  - {from: x, linear: 2}\n"
    assert _hints(text) == []


def test_earlier_errors_stay_while_a_line_cannot_be_read() -> None:
    text = SMALL.replace("- relu", "- relo").replace("- flatten", "- {flatten")
    assert [(problem.code, problem.range.start.line) for problem in Document(text).analyze().problems] == [
        ("E001", 6),
        ("E102", 5),
    ]


def test_a_line_of_a_block_has_the_figures_of_its_first_call() -> None:
    text = """\
netcalc: 1
inputs: {x: [2, 8]}
blocks:
  pair:
    args: {width: int}
    layers:
      - {name: a, linear: "${width}"}
      - relu
layers:
  - {name: one, pair: {width: 4}}
  - {name: many, repeat: 3, pair: {width: 4}}
  - {when: false, name: never, relu: {}}
"""
    assert _hints(text) == [
        (6, "→ 2×4 · 36"),
        (7, "→ 2×4"),
        (9, "→ 2×4 · 36"),
        (10, "→ 2×4 · 60"),  # 3·(4·4 + 4)
        (11, "→ left out"),
    ]


def test_a_line_with_several_results_says_so() -> None:
    text = (
        "netcalc: 1\ninputs: {x: [2, 8]}\nblocks:\n  wide:\n    args: {width: int}\n    layers:\n"
        '      - linear: "${width}"\nlayers:\n  - wide: {width: 4}\n  - wide: {width: 6}\n'
    )
    assert _hints(text)[0] == (6, "→ 2×4 · 36 · and 1 other")


def test_symbolic_dims() -> None:
    text = "netcalc: 1\ndims: {batch: 1}\ninputs: {x: [batch, 8]}\nlayers:\n  - linear: 4\n"
    assert _hints(text, Options(symbolic=("batch", "height"))) == [(4, "→ batch×4 · 36")]


def test_symbolic_vars() -> None:
    text = (
        'netcalc: 1\nvars: {width: 8}\ninputs: {x: [1, 8]}\nlayers:\n  - linear: "${width}"\n  - linear: "${width}"\n'
    )
    assert _hints(text, Options(symbolic=("width",))) == [(4, "→ 1×width · 9·width"), (5, "→ 1×width · width² + width")]


def test_places_count_utf_16_units() -> None:
    text = 'netcalc: 1\nabout: "🎉 宽"\ninputs: {宽: [1, 8]}\nlayers: [{name: 𝒜, relo: {}}]\n'
    (problem,) = Document(text).analyze().problems
    line = text.split("\n")[3].encode("utf-16-le")
    start, end = problem.range.start.character, problem.range.end.character
    assert line[2 * start : 2 * end].decode("utf-16-le") == "relo"


def test_hints_are_edits() -> None:
    document = Document(SMALL.replace("- relu", "- relo").replace("out: 8", 'out: "8"'))
    fixes = [problem.fixes[0] for problem in document.analyze().problems]
    assert [fix.title for fix in fixes] == ["Write `8`", "Change to `relu`"]
    document.edit([edit for fix in fixes for edit in fix.edits])
    assert document.text == SMALL
    assert document.analyze().totals is not None


def test_an_edit_replaces_a_range() -> None:
    document = Document("a🎉b\r\nc")
    document.edit([Edit(Range(Position(0, 3), Position(1, 0)), "d\n")])
    assert document.text == "a🎉d\nc"


BROKEN = [
    "",
    "netcalc: 1",
    "netcalc: 2\nlayers: []",
    "- 1",
    "netcalc: 1\nlayers: [relu]",
    "netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [linear: 4]\nfoo: 1",
    "netcalc: 1\nextends: resnet18\nvars: {clases: 10}",
    "netcalc: 1\nextends: ./self\n",
    "netcalc: 1\nextends: nothing-such\n",
    "netcalc: 1\ninputs: {x: [1, 8]}\nvars: {a: 1}\nlayers: [{basic_block: {channels: 4}}]",
    "netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [{linear: ${a}}]\n",
    'netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [{linear: "${a}"}, relu]\nvars: {b: 1}\n',
    "netcalc: 1\r\ninputs: {x: [1, 8]}\r\nlayers: [relo]\r\n",
    "\ufeffnetcalc: 1\ninputs: {x: [1, 8]}\nlayers: [relo]\n",
    SMALL.replace("linear: 10", "linear: 10, repeat: 1000000000, name: x"),
]


@pytest.mark.parametrize("text", BROKEN)
def test_diagnostics_are_those_of_the_command_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "self.yaml"
    path.write_bytes(text.encode())
    expected: list[tuple[str, str, str | None, str]] = []
    try:
        found = netcalc.load(str(path)).program.warnings
    except NetcalcError as error:
        found = error.diagnostics
    expected = [(d.code, d.message, d.hint, str(d.span or "")) for d in found]
    problems = Document(text, path).analyze().problems
    assert [(p.code, p.message, p.hint, p.place) for p in problems] == expected


def test_the_engine_needs_no_numpy() -> None:
    code = (
        "import sys; from netcalc.language import Document; "
        f"Document({SMALL!r}).analyze(); "
        "sys.exit(', '.join({'numpy', 'rich', 'typer', 'pygls'} & {*sys.modules}) or 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
