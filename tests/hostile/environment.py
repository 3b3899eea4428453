"""Hostile surroundings of the command: descriptors, folders, permissions, devices and variables."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from tests.hostile.case import Case, Content

SPEC = "netcalc: 1\nname: spec\ninputs: {x: [1, 8]}\nlayers: [{name: fc, linear: 4}]\n"
FILES = {"spec.yaml": SPEC}


def _locked(path: Path) -> None:
    path.mkdir()
    (path / "spec.yaml").write_text(SPEC)
    path.chmod(0)


def _unreadable(path: Path) -> None:
    path.write_text(SPEC)
    path.chmod(0)


def _sealed(path: Path) -> None:
    path.mkdir()
    path.chmod(0o555)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 30)


def cases() -> Iterator[Case]:
    """Yield a case for each surrounding and command."""
    shapes, summary = ("shapes", "spec.yaml"), ("summary", "spec.yaml")
    commands = {
        "shapes": shapes,
        "params": ("params", "spec.yaml"),
        "summary-json": (*summary, "--format", "json"),
        "explain": ("explain", "spec.yaml", "fc"),
        "compare": ("compare", "spec.yaml", "mlp"),
        "run": ("run", "spec.yaml"),
        "verify": ("verify", "spec.yaml"),
        "specs": ("specs",),
        "ops": ("ops",),
        "schema": ("schema",),
        "help": ("--help",),
    }
    for name, arguments in commands.items():
        yield Case(f"environment/full/{name}", arguments, "E502", FILES, 'exec "$@" > /dev/full')
        yield Case(f"environment/closed/{name}", arguments, "E502", FILES, 'exec "$@" >&-')
    bad = ("shapes", "nothing.yaml")
    yield Case("environment/full-stderr", bad, "exit 2", FILES, 'exec "$@" 2> /dev/full')
    yield Case("environment/closed-stderr", bad, "exit 2", FILES, 'exec "$@" 2>&-')
    yield Case("environment/closed-all", bad, "exit 2", FILES, 'exec "$@" <&- >&- 2>&-')
    yield Case("environment/closed-stdin", ("shapes", "-"), "E004", {}, 'exec "$@" <&-')
    yield Case("environment/zero-stdin", ("shapes", "-"), "E003|E001", {}, 'exec "$@" < /dev/zero')
    yield Case("environment/urandom-stdin", ("shapes", "-"), "E004|E003", {}, 'exec "$@" < /dev/urandom')
    yield Case("environment/null-stdin", ("shapes", "-"), "E001", {}, 'exec "$@" < /dev/null')
    yield Case("environment/latin-stdin", ("shapes", "-"), "E004|E001", {}, stdin=b"netcalc: \xff\xfe\n")
    yield Case("environment/write-only-stdin", ("shapes", "-"), "E004", {}, 'exec "$@" 0> written', stdin="")._replace(
        files={"written": ""}
    )

    gone = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    yield Case("environment/deleted-folder", ("shapes", "spec.yaml"), "E004", FILES, gone)
    yield Case("environment/deleted-folder-output", ("shapes", "mlp", "-o", "out.txt"), "E502|E004", {}, gone)
    yield Case("environment/deleted-folder-name", ("shapes", "nothing"), "E005", {}, gone)
    yield Case("environment/deleted-folder-shipped", ("shapes", "mlp"), "", {}, gone)
    yield Case("environment/deleted-folder-stdin", ("shapes", "-"), "E005", {}, gone, "netcalc: 1\nextends: nothing\n")
    yield Case("environment/deleted-folder-weights", ("verify", "mlp", "-w", "w.npz"), "E605|E004", {}, gone)

    yield Case(
        "environment/zero",
        ("shapes", "zero.yaml"),
        "E003|E004|E001",
        {"zero.yaml": lambda p: p.symlink_to("/dev/zero")},
    )
    yield Case("environment/zero-path", ("shapes", "/dev/zero"), "E003|E004|E001", {})
    yield Case("environment/memory", ("shapes", "/proc/self/mem"), "E004", {})
    yield Case("environment/gigabyte", ("shapes", "large.yaml"), "E003|E001", {"large.yaml": _sparse})
    yield Case("environment/circle", ("shapes", "a.yaml"), "E004", {"a.yaml": lambda p: p.symlink_to("a.yaml")})
    yield Case(
        "environment/long-circle",
        ("shapes", "a/spec.yaml"),
        "E004",
        {"a": lambda p: p.symlink_to("b"), "b": lambda p: p.symlink_to("a")},
    )
    yield Case("environment/dangling", ("shapes", "a.yaml"), "E004", {"a.yaml": lambda p: p.symlink_to("nothing")})
    yield Case("environment/folder", ("shapes", "a.yaml"), "E004", {"a.yaml": lambda p: p.mkdir()})
    yield Case("environment/socket-output", ("shapes", "spec.yaml", "-o", "/proc/self/nothing"), "E502|E004", FILES)
    yield Case("environment/full-output", ("shapes", "spec.yaml", "-o", "/dev/full"), "E502|E004", FILES)
    yield Case("environment/full-tensors", ("run", "spec.yaml", "-o", "/dev/full"), "E502|E004|E605", FILES)
    yield Case("environment/full-schema", ("schema", "-o", "/dev/full"), "E502|E004", FILES)
    yield Case("environment/output-in-file", ("shapes", "spec.yaml", "-o", "spec.yaml/out"), "E502|E004", FILES)
    yield Case(
        "environment/extends-passwd",
        ("shapes", "-"),
        "E001|E004|E005|E003|E101|E104|E105",
        {},
        stdin="netcalc: 1\nextends: /etc/passwd\n",
    )
    yield Case(
        "environment/import-outside", ("shapes", "-"), "E005", {}, stdin="netcalc: 1\nimport: [../../../etc/passwd]\n"
    )
    yield Case("environment/gzip", ("shapes", "a.yaml"), "E004", {"a.yaml": b"\x1f\x8b\x08\0" + b"\0" * 100})
    yield Case("environment/elf", ("shapes", "a.yaml"), "E001", {"a.yaml": b"\x7fELF" + b"\0" * 100})
    yield Case("environment/latin", ("shapes", "a.yaml"), "E004", {"a.yaml": b"netcalc: 1\nname: \xe9\n"})
    yield Case("environment/utf-16", ("shapes", "a.yaml"), "E004", {"a.yaml": SPEC.encode("utf-16")})
    yield Case("environment/overlong", ("shapes", "a.yaml"), "E004", {"a.yaml": b"netcalc: 1\nname: \xc0\x80\n"})
    yield Case("environment/surrogate", ("shapes", "a.yaml"), "E004", {"a.yaml": b"netcalc: 1\nname: \xed\xa0\x80\n"})
    yield Case(
        "environment/surrogate-escape",
        shapes,
        "E001|E003|E104|E301|E102",
        {"spec.yaml": 'netcalc: 1\nlayers: ["\\uD800"]\ninputs: {x: [1]}\n'},
    )
    yield Case(
        "environment/fifo",
        ("shapes", "a.yaml"),
        "E004",
        {"a.yaml": lambda p: os.mkfifo(p), **FILES},
        'cat spec.yaml > a.yaml & exec "$@"',
    )
    yield Case(
        "environment/fifo-invalid",
        ("shapes", "a.yaml"),
        "E004",
        {"a.yaml": lambda p: os.mkfifo(p)},
        'echo hello > a.yaml & exec "$@"',
    )
    yield Case(
        "environment/fifo-endless",
        ("shapes", "a.yaml"),
        "E004",
        {"a.yaml": lambda p: os.mkfifo(p)},
        'yes > a.yaml 2>/dev/null & exec "$@"',
    )

    for index, columns in enumerate(("²", "", "-5", "0", "99999999999999999999", "1e9", "x\x1b[31m", "9" * 5000)):
        yield Case(f"environment/columns-{index}", shapes, "", FILES, environment={"COLUMNS": columns})
        yield Case(f"environment/columns-error-{index}", bad, "E004", FILES, environment={"COLUMNS": columns})
    for variable, value in {
        "PYTHONIOENCODING": "ascii",
        "LC_ALL": "nonsense",
        "TERM": "\x1b[31m",
        "HOME": "/nothing",
        "TMPDIR": "/nothing",
        "OMP_NUM_THREADS": "-1",
        "OPENBLAS_NUM_THREADS": "99999999",
        "NETCALC_DEBUG": "",
    }.items():
        yield Case(f"environment/variable-{variable}", bad, "E004", FILES, environment={variable: value})
        yield Case(
            f"environment/run-variable-{variable}", ("run", "spec.yaml"), "", FILES, environment={variable: value}
        )

    yield Case("environment/locked-file", ("shapes", "a.yaml"), "E004", {"a.yaml": _unreadable}, unprivileged=True)
    yield Case("environment/locked-folder", ("shapes", "a/spec.yaml"), "E004", {"a": _locked}, unprivileged=True)
    yield Case(
        "environment/locked-extends",
        ("shapes", "b.yaml"),
        "E004|E005",
        {"a.yaml": _unreadable, "b.yaml": "netcalc: 1\nextends: a\n"},
        unprivileged=True,
    )
    yield Case(
        "environment/locked-weights",
        ("verify", "spec.yaml", "-w", "a.npz"),
        "E605|E004",
        {**FILES, "a.npz": _unreadable},
        unprivileged=True,
    )
    yield Case(
        "environment/locked-weights-folder",
        ("verify", "spec.yaml", "-w", "a"),
        "E605|E004",
        {**FILES, "a": _locked},
        unprivileged=True,
    )
    yield Case(
        "environment/sealed-output",
        ("shapes", "spec.yaml", "-o", "a/out.txt"),
        "E502|E004",
        {**FILES, "a": _sealed},
        unprivileged=True,
    )
    yield Case(
        "environment/sealed-tensors",
        ("run", "spec.yaml", "-o", "a/out.npz"),
        "E502|E004|E605",
        {**FILES, "a": _sealed},
        unprivileged=True,
    )
    yield Case("environment/sealed-init", ("init", "a/spec.yaml"), "E502|E004", {"a": _sealed}, unprivileged=True)
    inner: dict[str, Content] = {"inner": lambda path: path.mkdir()}
    for name, arguments, code in (
        ("nothing", ("shapes", "nothing"), "E004|E005"),
        ("nothing.yaml", ("shapes", "nothing.yaml"), "E004|E005"),
        ("mlp", ("shapes", "mlp"), ""),
        ("output", ("shapes", "mlp", "-o", "x"), "E502|E004"),
    ):
        locked = 'cd inner && chmod 000 . && exec "$@"'
        yield Case(f"environment/locked-working-folder-{name}", arguments, code, inner, locked, unprivileged=True)
