"""Control characters in every text that a user writes, through the commands."""

from __future__ import annotations

from collections.abc import Iterator

from tests.hostile.case import Case

#: Sequences as YAML escapes: color, title, C1, DEL, marks of direction, and a line that looks like a diagnostic.
SEQUENCES = {
    "color": "\\x1b[31m",
    "title": "\\x1b]0;t\\x07",
    "c1": "\\x9b2J",
    "delete": "\\x7f\\x08",
    "direction": "\\u202e\\u2066\\u200f",
    "return": "\\rok",
}

#: A spec whose error holds a text, by place; ``@`` is the sequence.
PLACES = {
    "E102": 'netcalc: 1\ninputs: {x: [1, 8]}\nlayers: ["a@b"]\n',
    "E103": 'netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [{linear: {out: 4, "a@b": 1}}]\n',
    "E301": 'netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [{from: "a@b", relu: {}}]\n',
    "E104": 'netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [{linear: "a@b"}]\n',
    "E101": 'netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [relu]\n"a@b": 1\n',
    "E108": 'netcalc: 1\nvars: {v: 1}\nrequire: [{that: v > 1, message: "a@b"}]\ninputs: {x: [1, 8]}\nlayers: [relu]\n',
    "E202": 'netcalc: 1\ninputs: {x: [1, 8]}\nlayers: [{linear: "${a}@b"}]\n',
}


#: A spec whose texts are markup, script, and the syntax of Mermaid and of Graphviz.
MARKUP = """\
netcalc: 1
name: "</script><script>alert(1)</script>"
about: "<img src=x onerror=alert(2)> ]]> <!-- -->"
source: '"]; subgraph x'
vars: {kind: {default: "%%{init}%%", about: "javascript:alert(3)"}}
inputs: {x: {shape: [1, 8], about: '"><svg onload=alert(4)>'}}
layers: [{linear: 4}]
"""
#: Command lines of pictures and pages.
PICTURES = {
    "graph": "graph spec.yaml",
    "graph-csv": "graph spec.yaml --format csv",
    "graph-json": "graph spec.yaml --format json",
    "graph-wide": "graph spec.yaml --direction LR --show none --depth 1",
    "report-json": "report spec.yaml --format json",
    "report-two": "report spec.yaml spec.yaml --format json",
}


#: A valid spec whose texts all hold the sequence.
VALID = """\
netcalc: 1
name: "n@n"
about: "a@a"
source: "s@s"
family: "f@f"
dims: {batch: {default: 1, about: "d@d"}}
vars: {v: {default: "v@v", about: "w@w"}}
inputs: {x: {shape: [batch, 8], about: "i@i"}}
layers: [{linear: 4}]
published: [{figure: params, value: 36, where: "p@p", note: "o@o"}]
"""


def cases() -> Iterator[Case]:
    """Yield a case for each place and sequence, as text and as JSON, and valid specs through the commands."""
    for picture, line in PICTURES.items():
        yield Case(f"text/ok/markup/{picture}", tuple(line.split()), "", {"spec.yaml": MARKUP})
        named = MARKUP.replace("inputs: {x:", "inputs: {'x\"><svg onload=alert(5)>':")
        yield Case(f"text/E104/markup/{picture}", tuple(line.split()), "E104", {"spec.yaml": named})
    for name, escaped in SEQUENCES.items():
        for code, text in PLACES.items():
            files = {"spec.yaml": text.replace("@", escaped)}
            expected = "E202|E104" if code == "E202" else code
            yield Case(f"text/{code}/{name}", ("shapes", "spec.yaml"), expected, files)
            if code in ("E102", "E301"):
                yield Case(f"text/{code}/{name}/json", ("shapes", "spec.yaml", "--format", "json"), expected, files)
        valid = {"spec.yaml": VALID.replace("@", escaped)}
        for command in ("summary", "flops", "explain", "specs", "run", "verify"):
            yield Case(f"text/ok/{name}/{command}", (command, "spec.yaml"), "", valid)
        for picture, line in PICTURES.items():
            yield Case(f"text/ok/{name}/{picture}", tuple(line.split()), "", valid)
        yield Case(f"text/ok/{name}/compare", ("compare", "spec.yaml", "mlp"), "", valid)
        yield Case(f"text/ok/{name}/json", ("summary", "spec.yaml", "--format", "json"), "", valid)
