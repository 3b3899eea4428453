"""Standard streams that are closed, full, or lack characters."""

from __future__ import annotations

import errno
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from netcalc.cli import main

ROOT = Path(__file__).parent.parent.parent
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")

COMMANDS = [
    [],
    ["--help"],
    ["--version"],
    ["summary", "--help"],
    *([command, "mlp", "--format", form] for command in ("summary", "explain") for form in ("table", "json", "csv")),
    *(["specs", "mlp", "--format", form] for form in ("table", "markdown")),
    *(["ops", "relu", "--format", form] for form in ("table", "json", "markdown")),
    ["compare", "mlp", "alexnet"],
    ["run", "mlp"],
    ["verify", "mlp", "--format", "json"],
    ["specs", "mlp", "--yaml"],
    ["schema"],
    ["init", "-"],
]


class Failing(io.RawIOBase):
    """A device that refuses what is written to it."""

    def __init__(self, error: int) -> None:
        self.error = error

    def writable(self) -> bool:
        return True

    def write(self, data: object) -> int:
        raise OSError(self.error, os.strerror(self.error))


def failing(error: int) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BufferedWriter(Failing(error), 512), encoding="utf-8")


def ran(command: str) -> tuple[int, str, str]:
    """Run ``netcalc`` in a shell; return its exit code and what it wrote."""
    command = command.replace("netcalc", f"{sys.executable} -m netcalc")
    done = subprocess.run(["bash", "-c", command], env=ENVIRONMENT, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_full_standard_output_is_one_diagnostic(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("netcalc.cli.streams.discard_output", lambda: None)
    monkeypatch.setattr(sys, "stdout", failing(errno.ENOSPC))
    assert main(arguments) == 2
    text = os.strerror(errno.ENOSPC).lower()
    assert capfd.readouterr().err == f"error[E502]: standard output cannot be written: {text}\n"


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_reader_that_has_gone_is_no_error(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("netcalc.cli.streams.discard_output", lambda: None)
    monkeypatch.setattr(sys, "stdout", failing(errno.EPIPE))
    assert main(arguments) == 0
    assert capfd.readouterr().err == ""


def test_errors_that_cannot_be_printed_keep_their_exit_code(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for error in (errno.ENOSPC, errno.EPIPE, errno.EBADF):
        for arguments, code in ((["summary", "nothing-like-it"], 2), (["summary", "--no"], 2), (["verify", "mlp"], 0)):
            monkeypatch.setattr(sys, "stderr", failing(error))
            assert main(arguments) == code
    monkeypatch.undo()
    monkeypatch.setattr("netcalc.cli.streams.discard_output", lambda: None)
    monkeypatch.setattr(sys, "stdout", failing(errno.ENOSPC))
    capfd.readouterr()
    assert main(["summary", "nothing-like-it", "--format", "json"]) == 2
    assert capfd.readouterr().err.startswith("error[E005]: ")


@POSIX
def test_closed_streams() -> None:
    closed = "error[E502]: standard output cannot be written: it is closed\n"
    assert ran("netcalc summary mlp >&-") == (2, "", closed)
    assert ran("netcalc --help >&-") == (2, "", closed)
    assert ran("netcalc summary mlp <&- >&- 2>&-") == (2, "", "")
    assert ran("netcalc summary nothing-like-it >&- 2>&-") == (2, "", "")
    assert ran("netcalc shapes mlp 2>&- <&-")[0] == 0


@POSIX
def test_a_file_is_written_though_the_standard_output_is_closed(tmp_path: Path) -> None:
    file = tmp_path / "summary.json"
    assert ran(f"netcalc summary mlp --format json -o {file} >&-") == (0, "", "")
    assert json.loads(file.read_text())["schema"] == "netcalc/summary/1"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_dev_full() -> None:
    full = "error[E502]: standard output cannot be written: no space left on device\n"
    assert ran("netcalc summary mlp > /dev/full") == (2, "", full)
    assert ran("netcalc summary mlp > /dev/full 2> /dev/full") == (2, "", "")


@POSIX
def test_a_closed_pipe_is_quiet() -> None:
    assert ran("netcalc summary --help | head -0; echo ${PIPESTATUS[0]}") == (0, "0\n", "")


def test_characters_that_the_encoding_of_a_stream_lacks_are_escaped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("netcalc: 1\nabout: שלום\ninputs: {x: [1, 8]}\nlayers: [relu]\n", encoding="utf-8")
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="gbk"))
    assert main(["shapes", str(spec)]) == 0
    assert "\\u05e9" in written.getvalue().decode("gbk")


@pytest.mark.parametrize("columns", ["²", "0", "-1", "", "10001", "9" * 5000, "eighty", "\udcff"])
def test_a_width_that_is_none_is_ignored(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("COLUMNS", "LINES", "TERMINAL_WIDTH"):
        monkeypatch.setenv(name, columns)
    assert main(["summary", "mlp", "--help"]) == 0
    assert "summary" in capsys.readouterr().out
    assert main(["summary", "mlp"]) == 0
    output = capsys.readouterr().out
    monkeypatch.undo()
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(["summary", "mlp"]) == 0
    assert capsys.readouterr().out == output


@POSIX
def test_a_working_folder_that_is_gone(tmp_path: Path) -> None:
    gone = f"mkdir -p {tmp_path}/gone; cd {tmp_path}/gone; rmdir {tmp_path}/gone; "
    for command in ("ops relu", "specs mlp", "summary mlp", "schema"):
        code, out, err = ran(f"{gone} netcalc {command}")
        assert (code, err) == (0, ""), command
        assert out
    for command, error in (("summary a.yaml", "E004"), ("init", "E502"), ("summary mlp -o a", "E502")):
        code, out, err = ran(f"{gone} netcalc {command}")
        assert (code, out) == (2, "")
        assert err.startswith(f"error[{error}]: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ["summary", "NAME"],
        ["summary", "NAME.yaml"],
        ["summary", "NAME/NAME"],
        ["specs", "NAME.yaml"],
        ["ops", "NAME"],
        ["schema", "NAME"],
        ["init", "NAME"],
        ["summary", "mlp", "--output", "NAME"],
        ["run", "mlp", "--output", "NAME.npz"],
        ["run", "mlp", "--weights", "NAME.npz"],
        ["run", "mlp", "--input", "x=NAME.npy"],
        ["explain", "mlp", "NAME"],
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("name", ["n" * 300, "\udcff", "", "\0"], ids=["long", "surrogate", "empty", "null"])
def test_names_that_no_file_has(
    arguments: list[str],
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code = main([argument.replace("NAME", name) for argument in arguments])
    captured = capsys.readouterr()
    written = [path for path in tmp_path.iterdir() if path.name.encode(errors="ignore")]
    assert code == 2 or (code == 0 and (name in ("", "\udcff") or written)), captured.err
    assert code == 0 or captured.err.startswith("error[E")


def test_completion_in_a_home_that_cannot_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "file"))
    assert main(["--install-completion", "bash"]) == 2
    assert capsys.readouterr().err.startswith("error[E502]: --install-completion: ")


@pytest.mark.parametrize("encoding", ["gbk", "big5", "cp1252", "latin-1", "ascii", "utf-16", "cp500", "utf-8"])
def test_json_is_valid_in_every_encoding(encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "\xe9\xf1 שלום 中 \U0001f600"  # of one byte, of other scripts, and beyond 16 bits
    spec = tmp_path / "spec.yaml"
    text = f"netcalc: 1\nname: {name!r}\ninputs: {{x: [1, 8]}}\nlayers: [{{OP: 4}}]\n"
    for operation, code in (("linear", 0), ("\xf1\U0001f600", 2)):
        spec.write_text(text.replace("OP", operation), encoding="utf-8")
        written = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding=encoding))
        assert main(["summary", str(spec), "--format", "json"]) == code
        output = written.getvalue()
        record = json.loads(output.decode("utf-16") if encoding == "utf-16" else output.decode("utf-8"))
        assert record["spec"] == name if code == 0 else operation in record["errors"][0]["message"]
        if encoding in ("gbk", "big5"):
            assert output.isascii()
        written.truncate(0)


@POSIX
def test_errors_on_a_terminal_end_with_the_commands_that_explain_them(tmp_path: Path) -> None:
    """A terminal is written to as one; a pipe gets the errors alone."""
    import pty

    spec = tmp_path / "spec.yaml"
    spec.write_text("netcalc: 1\ninputs: {x: [1, 8]}\nlayers:\n  - lineer: 3\n  - {from: x, linear: {uot: 3}}\n")
    command = [sys.executable, "-m", "netcalc", "shapes", str(spec)]
    main_end, terminal = pty.openpty()
    done = subprocess.run(
        command, env={**ENVIRONMENT, "NO_COLOR": "1"}, stdout=subprocess.PIPE, stderr=terminal, timeout=60, check=False
    )
    os.close(terminal)
    shown = os.read(main_end, 10_000).decode().replace("\r\n", "\n")
    os.close(main_end)
    assert done.returncode == 2
    assert shown.endswith("\n\n2 errors\nmore: netcalc help E102, netcalc help E103\n")
    piped = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, timeout=60, check=False)
    assert piped.stderr.endswith("\n\n2 errors\n")
