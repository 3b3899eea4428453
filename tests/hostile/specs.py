"""Specs that are malformed, too large, or that ask for more work than their size suggests."""

from __future__ import annotations

from collections.abc import Iterator

from tests.hostile.case import Case

HEAD = "netcalc: 1\ninputs: {x: [1, 8]}\n"
IMAGE = "netcalc: 1\ninputs: {x: [1, 3, 8, 8]}\n"
RELU = "layers: [relu]\n"


def _nested(opening: str, closing: str, depth: int) -> str:
    return opening * depth + closing * depth


def _calls(levels: int, twice: str) -> str:
    """Return blocks of which each calls the next twice."""
    blocks = "".join(f"  b{i}: {{layers: [{twice.format(i + 1)}]}}\n" for i in range(levels))
    return f"{HEAD}blocks:\n{blocks}  b{levels}: {{layers: [{{linear: 8}}]}}\nlayers: [b0]\n"


def _billion_laughs(levels: int, open_: str = "[", close: str = "]") -> str:
    lines = ["a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]"]
    lines += [f"a{i}: &a{i} {open_}{', '.join([f'*a{i - 1}'] * 9)}{close}" for i in range(1, levels)]
    return "netcalc: 1\nvars:\n  " + "\n  ".join(lines) + "\ninputs: {x: [1, 8]}\nlayers: [relu]\n"


#: Text of a spec by the code that it ends with and a name.
TEXTS: dict[str, dict[str, str]] = {
    "E001": {
        "empty": "",
        "spaces": "   \n\n",
        "comment": "# nothing\n",
        "open-bracket": HEAD + "layers: [relu\n",
        "open-brace": HEAD + "layers: [{linear: {out: 4]\n",
        "open-quote": HEAD + "layers: ['relu]\n",
        "tab": "netcalc: 1\nlayers:\n\t- relu\n",
        "unknown-alias": HEAD + "layers: [*nothing]\n",
        "two-documents": HEAD + RELU + "---\n" + HEAD + RELU,
        "only-separators": "---\n" * 2000,
        "nul": "netcalc: 1\n\x00\n",
        "escape": 'netcalc: 1\nname: "\x1b[31m"\n',
        "percent": "%",
        "bad-escape": 'netcalc: 1\nname: "\\q"\n',
        "bad-unicode-escape": 'netcalc: 1\nname: "\\UFFFFFFFF"\n',
        "at-sign": "netcalc: @1\n",
        "backtick": "netcalc: `1\n",
        "block-indent": "netcalc: |99\n  a\n",
        "unclosed-anchor": "netcalc: &\n",
        "dedent": "netcalc: 1\ninputs:\n    x: [1]\n  y: [1]\n",
        "quote-lines": '"' + "\\\n" * 500,
    },
    "E002": {
        "key": HEAD + "layers: [{linear: {out: 4, out: 5}}]\n",
        "top": HEAD + RELU + RELU,
        "quoted": HEAD + "vars: {a: 1, 'a': 2}\n" + RELU,
    },
    "E003": {
        "long-text": HEAD + f"layers: [{'n' * 100_000}]\n",
        "directive": "%FOO bar\n%YAML 9.9\n---\nnetcalc: 1\n",
        "python-tag": HEAD + "layers: [!!python/object/apply:os.system [ls]]\n",
        "local-tag": HEAD + "layers: [!exec ls]\n",
        "binary": HEAD + "layers: [!!binary AAAA]\n",
        "set": HEAD + "vars: !!set {a, b}\n" + RELU,
        "deep-lists": HEAD + f"vars: {{a: {_nested('[', ']', 5000)}}}\n" + RELU,
        "deep-mappings": HEAD + "vars: " + "{a: " * 3000 + "1" + "}" * 3000 + "\n" + RELU,
        "deep-block-lists": HEAD + "vars:\n  a:\n    " + "- " * 3000 + "1\n" + RELU,
        "recursive-alias": "netcalc: 1\nvars: &a {b: *a}\n" + RELU,
        "laughs": _billion_laughs(9),
        "laughs-mapping": _billion_laughs(9, "{k: [", "]}"),
        "many-items": HEAD + f"vars: {{a: [{'1,' * 300_000}]}}\n" + RELU,
        "many-keys": HEAD + "vars: {" + ",".join(f"v{i}: 1" for i in range(250_000)) + "}\n" + RELU,
        "long-number": HEAD + f"vars: {{a: {'9' * 2000}}}\n" + RELU,
        "long-float": HEAD + f"vars: {{a: 0.{'1' * 2000}}}\n" + RELU,
        "long-hexadecimal": HEAD + f"vars: {{a: 0x{'f' * 2000}}}\n" + RELU,
        "two-megabytes": HEAD + "vars: {a: [" + "1, " * 700_000 + "]}\n" + RELU,
        "newlines": "\n" * 10_000_000,
        "spaces-large": " " * 10_000_000,
        "comments": "# a\n" * 2_000_000,
        "large-scalar": f"{HEAD}{RELU}about: {'a' * 6_000_000}\n",
        "calls-twice": _calls(24, "b{0}, b{0}"),
        "calls-thrice": _calls(20, "b{0}, b{0}, b{0}"),
        "repeated-calls": _calls(
            12, "{{repeat: 100, sequence: [b{0}, {{linear: '${{8 + index % 2}}'}}, {{linear: 8}}]}}"
        ),
        "fibonacci": HEAD
        + "blocks:\n  f: {args: {n: int}, layers: [{when: n > 1, f: {n: '${n - 1}'}}, "
        + "{when: n > 1, f: {n: '${n - 2}'}}, {linear: 8}]}\nlayers: [{f: {n: 40}}]\n",
        "unfoldable": HEAD
        + "layers:\n  - {name: a, repeat: 100000, sequence: [{linear: '${8 + index}'}, {linear: 8}]}\n",
        "nested-unfoldable": HEAD
        + "layers:\n  - name: a\n    repeat: {times: 1000, index: i}\n    sequence:\n"
        + "      - name: b\n        repeat: {times: 1000, index: j}\n"
        + "        sequence: [{linear: '${8 + i + j}'}, {linear: 8}]\n",
    },
    "E101": {
        "top": HEAD + RELU + "layer: []\n",
        "control": HEAD + RELU + '"\\u202Elayer\\x1b[2J": []\n',
        "long": HEAD + RELU + f"{'k' * 900}: []\n",
        "many": HEAD + RELU + "".join(f"key{i}: 1\n" for i in range(20_000)),
        "var-of-parent": "netcalc: 1\nextends: mlp\nvars: {clases: 3}\n",
        "input-key": "netcalc: 1\ninputs: {x: {shape: [1], size: 3}}\n" + RELU,
        "block-key": HEAD + "blocks: {b: {arguments: {}, layers: [relu]}}\nlayers: [b]\n",
    },
    "E102": {
        "operation": HEAD + "layers: [lineer]\n",
        "control": HEAD + 'layers: ["\\x1b]0;title\\x07"]\n',
        "empty-name": HEAD + "layers: ['']\n",
        "path": HEAD + "layers: ['../../etc/passwd']\n",
        "dunder": HEAD + "layers: [__class__]\n",
        "module": HEAD + "layers: [os.system]\n",
        "long": HEAD + f"layers: [{'n' * 10_000}]\n",
        "many": HEAD + "layers: [" + ", ".join(f"o{i}" for i in range(5000)) + "]\n",
        "computed": HEAD + 'layers: [\'${"no" + "ne"}\']\n',
        "unicode": HEAD + "layers: [ｌｉｎｅａｒ]\n",
    },
    "E103": {
        "one": HEAD + "layers: [{linear: {out: 4, biass: false}}]\n",
        "many": HEAD + "layers: [{linear: {out: 4, " + ", ".join(f"a{i}: 1" for i in range(2000)) + "}}]\n",
        "argument": HEAD + "blocks: {b: {args: {n: int}, layers: [{linear: '${n}'}]}}\nlayers: [{b: {n: 1, m: 2}}]\n",
        "long": HEAD + f"layers: [{{linear: {{out: 4, {'a' * 1000}: 1}}}}]\n",
    },
    "E104": {
        "null-only": "~",
        "number-only": "42",
        "list-only": "- 1\n- 2\n",
        "text-only": "hello",
        "version-text": "netcalc: one\n" + RELU,
        "version-2": "netcalc: 2\ninputs: {x: [1]}\n" + RELU,
        "version-huge": f"netcalc: 1{'0' * 500}\ninputs: {{x: [1]}}\n" + RELU,
        "inputs-list": "netcalc: 1\ninputs: [1, 2]\n" + RELU,
        "inputs-text": "netcalc: 1\ninputs: x\n" + RELU,
        "layers-text": HEAD + "layers: relu\n",
        "layers-mapping": HEAD + "layers: {relu: {}}\n",
        "layers-number": HEAD + "layers: 3\n",
        "size-negative": "netcalc: 1\ninputs: {x: [1, -8]}\n" + RELU,
        "size-zero": "netcalc: 1\ninputs: {x: [0, 8]}\n" + RELU,
        "size-fraction": "netcalc: 1\ninputs: {x: [1, 2.5]}\n" + RELU,
        "size-nan": "netcalc: 1\ninputs: {x: [1, .nan]}\n" + RELU,
        "size-infinite": "netcalc: 1\ninputs: {x: [1, .inf]}\n" + RELU,
        "size-boolean": "netcalc: 1\ninputs: {x: [1, true]}\n" + RELU,
        "size-400-digits": f"netcalc: 1\ninputs: {{x: [1, {'9' * 400}]}}\n" + RELU,
        "dtype": "netcalc: 1\ndtype: float1024\ninputs: {x: [1]}\n" + RELU,
        "input-dtype": "netcalc: 1\ninputs: {x: {shape: [1], dtype: object}}\n" + RELU,
        "range-huge": f"netcalc: 1\ninputs: {{x: {{shape: [1], dtype: int64, range: [0, 1{'0' * 400}]}}}}\n" + RELU,
        "range-reversed": "netcalc: 1\ninputs: {x: {shape: [1], dtype: int64, range: [5, 1]}}\n" + RELU,
        "range-nan": "netcalc: 1\ninputs: {x: {shape: [1], range: [.nan, 1]}}\n" + RELU,
        "range-three": "netcalc: 1\ninputs: {x: {shape: [1], range: [1, 2, 3]}}\n" + RELU,
        "dim-negative": "netcalc: 1\ndims: {n: -1}\ninputs: {x: [n]}\n" + RELU,
        "dim-text": "netcalc: 1\ndims: {n: many}\ninputs: {x: [n]}\n" + RELU,
        "dim-limits": "netcalc: 1\ndims: {n: {default: 5, min: 6}}\ninputs: {x: [n]}\n" + RELU,
        "dim-multiple": "netcalc: 1\ndims: {n: {default: 5, multiple_of: 2}}\ninputs: {x: [n]}\n" + RELU,
        "dim-multiple-zero": "netcalc: 1\ndims: {n: {default: 5, multiple_of: 0}}\ninputs: {x: [n]}\n" + RELU,
        "var-choices": HEAD + "vars: {a: {default: 1, choices: [2, 3]}}\n" + RELU,
        "var-type": HEAD + "vars: {a: {default: text, type: int}}\n" + RELU,
        "var-unknown-type": HEAD + "vars: {a: {default: 1, type: integer}}\n" + RELU,
        "repeat-huge": HEAD + "layers: [{repeat: 1000000000000, linear: 8}]\n",
        "repeat-negative": HEAD + "layers: [{repeat: -1, linear: 8}]\n",
        "repeat-fraction": HEAD + "layers: [{repeat: 1.5, linear: 8}]\n",
        "repeat-text": HEAD + "layers: [{repeat: 'in', linear: 8}]\n",
        "each-number": HEAD + "layers: [{repeat: {each: 3, as: i}, linear: 8}]\n",
        "rnn-layers": "netcalc: 1\ninputs: {x: [1, 5, 8]}\nlayers: [{rnn: {hidden: 8, layers: 10000000}}]\n",
        "pos-weight-empty": HEAD + "layers: [{from: [x, x], binary_cross_entropy_with_logits: {pos_weight: []}}]\n",
        "published-value": HEAD + RELU + "published: [{figure: params, value: lots}]\n",
        "patch-number": "netcalc: 1\nextends: mlp\npatch: [3]\n",
    },
    "E105": {
        "colons": ": : : :\n",
        "no-version": "name: a\nlayers: [relu]\n",
        "no-layers": HEAD,
        "attribute": IMAGE + "layers: [{conv2d: {out: 4}}]\n",
        "argument": HEAD + "blocks: {b: {args: {n: int}, layers: [{linear: '${n}'}]}}\nlayers: [b]\n",
    },
    "E106": {
        "lines": HEAD + "layers: [{name: a, relu: {}}, {name: a, relu: {}}]\n",
        "block": HEAD + "blocks: {linear: {layers: [relu]}}\nlayers: [relu]\n",
        "paths": HEAD + "layers: [{name: a.b, linear: 8}, {name: a, sequence: [{name: b, linear: 8}]}]\n",
    },
    "E107": {
        "repeat-key": HEAD + "layers: [{repeat: {time: 3}, linear: 8}]\n",
        "two": HEAD + "layers: [{relu: {}, linear: 4}]\n",
        "none": HEAD + "layers: [{name: a}]\n",
        "list": HEAD + "layers: [[relu]]\n",
        "number": HEAD + "layers: [3]\n",
        "null": HEAD + "layers: [null]\n",
        "empty": HEAD + "layers: [{}]\n",
        "float": HEAD + "layers: [.nan]\n",
        "inline-name": HEAD + "blocks: {b: {layers: [relu]}}\nlayers: [{name: a, inline: true, b: {}}]\n",
    },
    "E108": {
        "spec": HEAD + 'vars: {a: 3}\nrequire: [{that: a % 2 == 0, message: "even\\x1b[5m"}]\n' + RELU,
        "block": HEAD
        + "blocks: {b: {require: [{that: in.features > 9, message: wide}], layers: [relu]}}\nlayers: [b]\n",
    },
    "E109": {
        "unmatched": HEAD + "layers: [{name: a, linear: 8}]\ncheckpoint: {b.weight: c}\n",
        "many-stars": HEAD + f"layers: [{{name: a, linear: 8}}]\ncheckpoint: {{'{'*a' * 60}': c}}\n",
    },
    "E202": {
        "range": "netcalc: 1\ninputs: {x: {shape: [1], range: [a, b]}}\n" + RELU,
    },
    "E204": {
        "vars": "netcalc: 1\nvars: {a: '${b}', b: '${a}'}\ninputs: {x: [1]}\nlayers: [{linear: '${a}'}]\n",
        "block": HEAD + "blocks: {b: {layers: [b]}}\nlayers: [b]\n",
        "two-blocks": HEAD + "blocks: {a: {layers: [b]}, b: {layers: [a]}}\nlayers: [a]\n",
        "deep-calls": _calls(200, "b{0}"),
        "growing": HEAD + "blocks: {b: {args: {n: int}, layers: [{b: {n: '${n + 1}'}}]}}\nlayers: [{b: {n: 0}}]\n",
    },
    "E301": {
        "from": HEAD + "layers: [{from: y, relu: {}}]\n",
        "control": HEAD + 'layers: [{from: "\\x9b31m\\u2066y", relu: {}}]\n',
        "output": HEAD + RELU + "outputs: [y]\n",
        "many": HEAD + "layers:\n" + "".join(f"- {{from: y{i}, relu: {{}}}}\n" for i in range(3000)),
        "long": HEAD + f"layers: [{{from: {'y.' * 400}z, relu: {{}}}}]\n",
    },
    "E302": {
        "later": HEAD + "layers: [{from: b, relu: {}}, {name: b, relu: {}}]\n",
        "itself": HEAD + "layers: [{name: b, from: b, relu: {}}]\n",
    },
    "E303": {
        "two": HEAD + "layers: [{from: [x, x], relu: {}}]\n",
        "many": HEAD + f"layers: [{{from: [{'x, ' * 5000}x], relu: {{}}}}]\n",
        "port": HEAD + "layers: [{from: {nothing: x}, relu: {}}]\n",
    },
    "E304": {
        "missing": HEAD + "layers: [{tie: nothing, linear: 8}]\n",
        "itself": HEAD + "layers: [{name: a, tie: a, linear: 8}]\n",
        "shape": HEAD + "layers: [{name: a, linear: 4}, {tie: {weight: a.weight}, linear: 8}]\n",
    },
    "E401": {
        "kernel": IMAGE + "layers: [{conv2d: {out: 4, kernel: 9}}]\n",
        "add": "netcalc: 1\ninputs: {x: [1, 8], y: [1, 7]}\nlayers: [{from: [x, y], add: {}}]\n",
        "rank": HEAD + "layers: [{conv2d: {out: 4, kernel: 1}}]\n",
        "reshape": HEAD + "layers: [{reshape: [7]}]\n",
        "einsum": "netcalc: 1\ninputs: {x: [2, 3], y: [4, 5]}\nlayers: [{from: [x, y], einsum: 'ij,jk->ik'}]\n",
    },
    "E402": {"linear": HEAD + "layers: [{cast: int64}, {linear: 4}]\n"},
    "E403": {
        "repeat": HEAD
        + "blocks: {b: {outputs: [d, e], layers: [{name: d, linear: 4}, {name: e, linear: 4}]}}\n"
        + "layers: [{repeat: 2, b: {}}]\n"
    },
    "E404": {"repeat": "netcalc: 1\ndims: {n: null}\ninputs: {x: [n, 8]}\nlayers: [{repeat: x.batch, linear: 8}]\n"},
    "E503": {
        "patch": "netcalc: 1\nextends: mlp\npatch: [{remove: nothing}]\n",
        "patch-stars": f"netcalc: 1\nextends: mlp\npatch: [{{remove: '{'*.' * 60}x'}}]\n",
    },
    "E005": {
        "extends": "netcalc: 1\nextends: resnet-35\n",
        "import": HEAD + "import: [nothing]\n" + RELU,
        "extends-control": 'netcalc: 1\nextends: "\\x1b[2Jx"\n',
        "extends-long": f"netcalc: 1\nextends: {'a' * 5000}\n",
        "extends-nul": 'netcalc: 1\nextends: "a\\0b"\n',
        "import-long": HEAD + f"import: [{'b' * 300}]\n" + RELU,
    },
    "E006": {"itself": "netcalc: 1\nextends: spec\n", "import": HEAD + "import: [spec]\n" + RELU},
    "": {
        "name-number": HEAD + "layers: [{name: 3, linear: 8}]\n",
        "merge": HEAD + "vars:\n  a: &a {b: 1}\n  c: {<<: *a}\n" + RELU,
        "byte-order-mark": "\ufeff" + HEAD + RELU,
        "carriage-returns": (HEAD + RELU).replace("\n", "\r\n"),
        "wide-flow": HEAD + "layers: [" + "relu, " * 500 + "relu]\n",
        "control-name": 'netcalc: 1\nname: "a\\x1b[31m\\u202Eb"\nabout: "c\\x9b\\x7fd"\ninputs: {x: [1, 8]}\n' + RELU,
        "folded": HEAD + "layers: [{repeat: 90000000, linear: 8}]\n",
    },
}


def cases() -> Iterator[Case]:
    """Yield a case for each text."""
    for code, texts in TEXTS.items():
        for name, text in texts.items():
            yield Case(f"spec/{code or 'ok'}/{name}", ("summary", "spec.yaml"), code, {"spec.yaml": text})
