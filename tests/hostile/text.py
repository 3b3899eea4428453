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
        yield Case(f"text/ok/{name}/compare", ("compare", "spec.yaml", "mlp"), "", valid)
        yield Case(f"text/ok/{name}/json", ("summary", "spec.yaml", "--format", "json"), "", valid)
