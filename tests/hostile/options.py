"""Hostile options and arguments of the commands."""

from __future__ import annotations

from collections.abc import Iterator

from tests.hostile.case import Case

SPEC = """\
netcalc: 1
name: spec
dims: {batch: {default: 1, max: 100}, length: 4}
vars: {width: {default: 8, min: 1}, kind: {default: a, choices: [a, b]}, sizes: [1, 2], flag: true}
inputs: {x: [batch, length, 8]}
layers:
  - {name: fc, linear: "${width if flag and kind == 'a' else sizes[0]}"}
  - {name: stack, repeat: 3, linear: 8}
"""
#: Layers whose runs are long or large.
LARGE = """\
netcalc: 1
name: large
vars: {width: 8, times: 3}
inputs: {x: [1, 2, 8]}
layers:
  - {name: stack, repeat: "${times}", linear: 8}
  - {name: wide, linear: "${width}"}
"""

#: Command lines by code and name; ``spec.yaml`` and ``large.yaml`` exist.
LINES: dict[str, dict[str, str]] = {
    "E501|E401|E104": {
        "hexadecimal": f"shapes spec.yaml --set length=0x{'f' * 800}",
        "400-digits": f"shapes spec.yaml --set length={'9' * 400}",
    },
    "E102": {
        "ops-control": "ops '\x1b]0;x\x07'",
        "ops": "ops no-such-operation",
    },
    "E003": {
        "deep": f"shapes spec.yaml --set 'sizes={'[' * 4000}'",
        "tag": "shapes spec.yaml --set 'width=!!python/name:os.system'",
    },
    "E001": {
        "anchor": "shapes spec.yaml --set 'width=*a'",
        "bracket": "shapes spec.yaml --set 'width=['",
    },
    "E501": {
        "no-value": "shapes spec.yaml --set batch",
        "no-name": "shapes spec.yaml --set =3",
        "empty": "shapes spec.yaml --set ''",
        "unknown": "shapes spec.yaml --set bach=3",
        "zero": "shapes spec.yaml --set batch=0",
        "negative": "shapes spec.yaml --set batch=-5",
        "above": "shapes spec.yaml --set batch=101",
        "fraction": "shapes spec.yaml --set length=1.5",
        "text": "shapes spec.yaml --set width=many",
        "list": "shapes spec.yaml --set width=[1,2]",
        "mapping": "shapes spec.yaml --set 'width={a: 1}'",
        "null": "shapes spec.yaml --set width=null",
        "nan": "shapes spec.yaml --set width=.nan",
        "infinite": "shapes spec.yaml --set length=.inf",
        "choice": "shapes spec.yaml --set kind=c",
        "flag": "shapes spec.yaml --set flag=maybe",
        "many-items": f"shapes spec.yaml --set 'kind=[{'1,' * 30000}]'",
        "control": "shapes spec.yaml --set 'batch\x1b[2J=3'",
        "long": f"shapes spec.yaml --set {'n' * 50000}=3",
        "twice": "shapes spec.yaml --set batch=1 --set batch=zz",
        "expression": "shapes spec.yaml --set 'length=${9**9**9}'",
        "symbolic-var": "shapes spec.yaml --symbolic kind",
        "symbolic-unknown": "shapes spec.yaml --symbolic nothing",
        "symbolic-empty": "shapes spec.yaml --symbolic ''",
        "compare-number": "compare spec.yaml large.yaml --set 9:width=3",
    },
    "E502": {
        "sweep-many": "sweep spec.yaml --over length=1:999999999999999G",
        "sweep-decimals": "sweep spec.yaml --over length=0.1:1e15:1e-15",
        "sweep-grid": "sweep spec.yaml --over length=1:1000000000 --over width=1:1000000000",
        "sweep-drawn": "sweep spec.yaml --over length=1:4 --random 999999999999",
        "sweep-list": f"sweep spec.yaml --over 'sizes={'[' * 4000}'",
        "sweep-bound": "sweep spec.yaml --over batch=1:101",
        "sweep-choice": "sweep spec.yaml --over kind=a,c",
        "sweep-control": "sweep spec.yaml --over 'batch\x1b[2J=3,4'",
        "sweep-figures": "sweep spec.yaml --over length=1:4 --figures ,,",
        "sweep-pareto": f"sweep spec.yaml --over length=1:4 --pareto {'params,' * 3000}macs",
        "sweep-join": "sweep spec.yaml --over length=1:4 --join spec.yaml",
        "specs": "specs renset34",
        "nothing": "shapes",
        "command": "summry spec.yaml",
        "option": "shapes spec.yaml --dept 2",
        "format": "shapes spec.yaml --format xml",
        "depth-zero": "summary spec.yaml --depth 0",
        "depth-text": "summary spec.yaml --depth one",
        "depth-digits": f"summary spec.yaml --depth {'9' * 6000}",
        "top-negative": "params spec.yaml --top -1",
        "top-huge-text": "params spec.yaml --top 1e99",
        "sort": "params spec.yaml --sort nothing",
        "sort-control": "params spec.yaml --sort '\x1b[31m'",
        "dtype": "params spec.yaml --dtype float8",
        "dtype-control": "params spec.yaml --dtype '\x9b2J'",
        "layout": "shapes spec.yaml --layout nhwc",
        "mode": "flops spec.yaml --mode test",
        "modes": "flops spec.yaml --mode eval --train",
        "seed-negative": "run spec.yaml --seed -1",
        "seed-text": "run spec.yaml --seed x",
        "seed-digits": f"run spec.yaml --seed {'9' * 5000}",
        "threads-zero": "run spec.yaml --threads 0",
        "threads-huge": "run spec.yaml --threads 1000000000",
        "threads-digits": f"run spec.yaml --threads {'9' * 500}",
        "plan": "run spec.yaml --plan none",
        "input": "run spec.yaml --input x",
        "input-empty": "run spec.yaml --input =",
        "init": "run spec.yaml --init nothing",
        "init-open": "run spec.yaml --init 'normal(std='",
        "init-code": "run spec.yaml --init \"__import__('os').system('ls')\"",
        "init-nan": "run spec.yaml --init 'normal(std=nan)'",
        "init-argument": "run spec.yaml --init 'normal(size=3)'",
        "init-long": f"run spec.yaml --init '{'a' * 30000}'",
        "init-nested": f"run spec.yaml --init '{'f(' * 3000}'",
        "graph-depth": "graph spec.yaml --depth 0",
        "graph-direction": "graph spec.yaml --direction '\x1b[2J'",
        "graph-show": f"graph spec.yaml --show {'x,' * 9000}",
        "graph-folder": "graph spec.yaml --output no/such/folder.mmd",
        "graph-suffix": "graph spec.yaml --output spec.yaml",
        "report-three": "report spec.yaml spec.yaml spec.yaml",
        "report-device": "report spec.yaml --device '\x1b]0;x\x07'",
        "report-bytes": f"report spec.yaml --device {'9' * 5000}GiB",
        "report-tp": "report spec.yaml --tp 1000000000",
        "report-cache": f"report spec.yaml --cache '{'v' * 30000}'",
        "report-phase": "report spec.yaml --phase decode",
        "report-folder": "report spec.yaml --output no/such/folder.html",
        "report-suffix": "report spec.yaml --output spec.yaml",
        "output-folder": "shapes spec.yaml --output no/such/folder.txt",
        "output-is-folder": "shapes spec.yaml --output .",
        "output-long": f"shapes spec.yaml --output {'o' * 300}",
        "output-slash": "shapes spec.yaml --output /",
        "output-empty": "shapes spec.yaml --output ''",
        "init-exists": "init spec.yaml",
        "init-folder": "init no/such/folder.yaml",
        "init-long-name": f"init {'i' * 300}",
        "schema": "schema nothing",
        "compare-one": "compare spec.yaml",
        "fields": "shapes bert-tiny --receptive-field",
        "extra": "shapes spec.yaml large.yaml",
        "markdown-json": "shapes spec.yaml --format",
        "set-without": "shapes spec.yaml --set",
    },
    "E503": {
        "filter": f"params spec.yaml --filter '{'*a' * 40}'",
        "explain": "explain spec.yaml nothing",
        "explain-control": "explain spec.yaml '\x1b[31m\u202e'",
        "explain-long": f"explain spec.yaml {'a.' * 20000}b",
        "explain-index": f"explain spec.yaml stack.{'9' * 4500}",
        "explain-range": "explain spec.yaml stack.0-99999999999999",
        "explain-beyond": "explain spec.yaml stack.3",
        "trace": "run spec.yaml --trace nothing",
        "trace-stars": f"run spec.yaml --trace '{'*a' * 50}'",
    },
    "E701": {
        "convention": "flops spec.yaml --convention torchvison",
        "convention-control": "flops spec.yaml --convention '\x1b[31m'",
        "convention-path": "flops spec.yaml --convention ../../etc/passwd",
    },
    "E603": {
        "batch": "run resnet18 --set batch=1000000",
        "batch-reference": "run resnet18 --set batch=1000000 --plan reference",
        "width-10e30": f"run large.yaml --set width=1{'0' * 30}",
        "width-2e63": f"run large.yaml --set width={2**63}",
        "width-2e40": f"run large.yaml --set width={2**40}",
        "verify-width": f"verify large.yaml --set width={2**40}",
        "times": "run large.yaml --set times=50000000",
        "times-reference": "run large.yaml --set times=50000000 --plan reference",
        "verify-times": "verify large.yaml --set times=50000000",
        "signal-times": "signal large.yaml --set times=50000000",
        "signal-seeds": "signal mlp --seeds 1000000000000",
        "train-batch": "run resnet18 --set batch=1000000 --train",
    },
    "E005": {
        "name": "shapes renset34",
        "empty": "shapes ''",
        "control": "shapes '\x1b[2J'",
        "long": f"shapes {'s' * 300}",
        "very-long": f"shapes {'s' * 100000}",
        "dots": "shapes ....",
        "compare": "compare mlp renset34",
    },
    "E004": {
        "missing": "shapes nothing.yaml",
        "folder": "shapes ./",
        "control": "shapes './\x1b[2J.yaml'",
        "long": f"shapes ./{'s' * 300}.yaml",
        "deep": f"shapes {'a/' * 3000}b.yaml",
        "null-device": "shapes ./spec.yaml/x.yaml",
    },
    "": {
        "graph-times": "graph large.yaml --set times=50000000",
        "graph-width": f"graph large.yaml --set width={2**200}",
        "report-times": "report large.yaml --set times=50000000 --format json",
        "report-width": f"report large.yaml --set width={2**200} --format json",
        "unroll": "summary spec.yaml --unroll",
        "json": "summary spec.yaml --format json",
        "top": "params spec.yaml --top 99999999999999999999",
        "times": "flops large.yaml --set times=50000000",
        "width": f"flops large.yaml --set width={2**63}",
        "batch": "flops bert-base --set batch=1000000000 --set length=10",
    },
}


def cases() -> Iterator[Case]:
    """Yield a case for each command line."""
    import shlex

    files = {"spec.yaml": SPEC, "large.yaml": LARGE}
    for code, lines in LINES.items():
        for name, line in lines.items():
            yield Case(f"option/{code or 'ok'}/{name}", tuple(shlex.split(line)), code, files)
    unrolled = ("summary", "large.yaml", "--unroll", "--set", "times=50000000")
    yield Case("option/unroll-millions", unrolled, "E502", files)
    symbolic = "netcalc: 1\ndims: {" + ", ".join(f"d{i}: 3" for i in range(10)) + "}\n"
    symbolic += "inputs: {x: [1, " + " + ".join(f"d{i}" for i in range(10)) + "]}\n"
    symbolic += "layers: [{linear: '${in.features ** 12}'}]\n"
    chosen = [part for i in range(10) for part in ("--symbolic", f"d{i}")]
    yield Case("option/polynomial", ("flops", "symbolic.yaml", *chosen), "E404", {"symbolic.yaml": symbolic})
