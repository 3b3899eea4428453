"""Files that are replaced as a whole: modes, links, signals, abandoned temporary files, and several writers."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from netcalc import files
from netcalc.files import replacing

ROOT = Path(__file__).parent.parent
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes, links and signals of POSIX")

#: Begins to write the file that it is given, says so, and waits.
WRITER = """
import signal, sys
from netcalc import files
from netcalc.files import replacing
for number in signal.SIGTERM, signal.SIGHUP:  # the parent may ignore them
    signal.signal(number, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
with replacing(sys.argv[1]) as path:
    path.write_text("half")
    print("writing", flush=True)
    sys.stdin.read()
    path.write_text("whole")
"""


def write(path: Path, text: str = "new") -> None:
    with replacing(path) as temporary:
        temporary.write_text(text)


def writer(path: Path) -> subprocess.Popen[str]:
    """Return a process that has begun to write."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "writing\n"
    return process


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_the_mode_and_the_owner_of_a_file_stay(tmp_path: Path) -> None:
    file = tmp_path / "file"
    for mode in (0o640, 0o600, 0o755):
        file.write_text("old")
        file.chmod(mode)
        with replacing(file) as temporary:
            temporary.write_text("new")
            assert stat.S_IMODE(temporary.stat().st_mode) == 0o600  # not readable by others before it is complete
        assert (file.read_text(), stat.S_IMODE(file.stat().st_mode)) == ("new", mode)
    if os.geteuid() == 0:
        os.chown(file, 12345, 12346)
        write(file)
        assert (file.stat().st_uid, file.stat().st_gid) == (12345, 12346)


def test_a_new_file_has_the_mode_of_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "file")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write to any file")
def test_a_file_that_is_not_writable_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    file.chmod(0o444)
    with pytest.raises(PermissionError):
        write(file)
    assert file.read_text() == "old"


def test_links_stay_links(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for target in ("folder/there", "folder/absent"):
        link = tmp_path / "link"
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        write(link)
        assert link.is_symlink()
        assert (tmp_path / target).read_text() == "new"
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="symbolic links"):
        write(tmp_path / "loop")


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    thread = threading.Thread(target=write, args=[pipe])
    thread.start()
    assert pipe.read_text() == "new"
    thread.join()
    assert names(tmp_path) == ["pipe"]


def test_an_error_leaves_the_file_and_nothing_else(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(file) as temporary:
        temporary.write_text("half")
        raise ZeroDivisionError
    assert (names(tmp_path), file.read_text()) == (["file"], "old")
    with pytest.raises(IsADirectoryError):
        write(tmp_path)


def test_names_as_long_as_the_file_system_permits(tmp_path: Path) -> None:
    for name in ("n" * 255, "層" * 85):
        write(tmp_path / name)
        assert names(tmp_path) == [name]
        (tmp_path / name).unlink()
    with pytest.raises(OSError, match="too long"):
        write(tmp_path / ("n" * 256))


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_signals_remove_the_temporary_file(number: signal.Signals, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    process = writer(file)
    assert len(names(tmp_path)) == 2
    process.send_signal(number)
    process.communicate(timeout=60)
    assert process.returncode == -number
    assert (names(tmp_path), file.read_text()) == (["file"], "old")


def test_an_interrupt_while_the_temporary_file_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(descriptor: int, *, wait: bool = False) -> bool:
        signal.raise_signal(signal.SIGINT)
        return True

    monkeypatch.setattr(files, "_lock", interrupted)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "file")
        assert names(tmp_path) == []
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)


def test_handlers_of_a_program_stay(tmp_path: Path) -> None:
    received: list[int] = []
    before = signal.signal(signal.SIGTERM, lambda number, _: received.append(number))
    try:
        with replacing(tmp_path / "file") as temporary:
            temporary.write_text("new")
            os.kill(os.getpid(), signal.SIGTERM)
        assert received == [signal.SIGTERM]
        assert (tmp_path / "file").read_text() == "new"
    finally:
        signal.signal(signal.SIGTERM, before)
    write(tmp_path / "file")
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_killed_process_leaves_the_file_whole_and_the_next_write_tidies(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("old")
    process = writer(file)
    process.kill()
    process.communicate(timeout=60)
    assert file.read_text() == "old"
    assert names(tmp_path) == [f".file.netcalc-{process.pid}", "file"]
    write(file)
    assert (names(tmp_path), file.read_text()) == (["file"], "new")


def test_only_abandoned_files_are_removed(tmp_path: Path) -> None:
    others = [".file.netcalc-x", ".file.netcalc-", ".other.netcalc-7", "file.netcalc-7"]
    for name in others:
        (tmp_path / name).write_text("kept")
    (tmp_path / ".file.netcalc-7").symlink_to("file.netcalc-7")
    (tmp_path / ".file.netcalc-8").mkdir()
    os.mkfifo(tmp_path / ".file.netcalc-9")
    (tmp_path / f".file.netcalc-{os.getpid()}").write_text("of a former process of this number")
    write(tmp_path / "file")
    kept = [*others, ".file.netcalc-7", ".file.netcalc-8", ".file.netcalc-9", "file"]
    assert names(tmp_path) == sorted(kept)


def test_writers_of_one_file_do_not_disturb_each_other(tmp_path: Path) -> None:
    file = tmp_path / "file"
    process = writer(file)  # it holds its temporary file while others write
    with replacing(file) as first, replacing(file) as second:
        assert first != second
        first.write_text("first")
        second.write_text("second")
    assert file.read_text() == "first"
    failed: list[BaseException] = []

    def repeat(text: str) -> None:
        try:
            for _ in range(20):
                write(file, text)
                assert set(file.read_text()) <= {"a", "b", "c"}
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=repeat, args=[letter * 1000]) for letter in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed
    assert len(set(file.read_text())) == 1
    process.communicate("", timeout=60)
    assert (process.returncode, file.read_text(), names(tmp_path)) == (0, "whole", ["file"])
