"""A program that runs a command and writes its status and costs, as JSON, to a file.

It is a process of its own, and small: a process begins with the peak of resident memory (``ru_maxrss``) of the one
that starts it, which for a long run of tests is more than a command may take.

Usage: ``python -IS measured.py REPORT OUTPUT LIMITS COMMAND...``, where LIMITS is a JSON object with what ends the
command: ``seconds`` of processor time, ``idle`` seconds without progress, ``clock`` seconds, and bytes of resident
``memory`` and of ``output``.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path


def main(report: str, output: str, limits: str, *command: str) -> None:
    """Run a command in a session of its own, and end it where it passes a limit."""
    limit = json.loads(limits)
    with Path(output).open("wb") as stream:
        start = time.monotonic()
        process = subprocess.Popen(command, stdout=stream, stderr=stream, start_new_session=True)
        peak, ended, active, spent = 0, False, start, 0.0
        while True:
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            peak, now = max(peak, _peak(process.pid)), time.monotonic()
            state, seconds = _state(process.pid)
            if state != "S" or seconds != spent:
                active, spent = now, seconds
            late = seconds > limit["seconds"] or now - active > limit["idle"] or now - start > limit["clock"]
            if (late or peak > limit["memory"] or Path(output).stat().st_size > limit["output"]) and not ended:
                os.killpg(process.pid, signal.SIGKILL)
                ended = True
            time.sleep(0.02)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # whatever it has left running
    process.returncode = os.waitstatus_to_exitcode(status)
    costs = {
        "exit": None if ended or process.returncode < 0 else process.returncode,
        "seconds": usage.ru_utime + usage.ru_stime,
        "clock": time.monotonic() - start,
        "peak": max(peak, usage.ru_maxrss * 1024),
    }
    Path(report).write_text(json.dumps(costs))


def _state(pid: int) -> tuple[str, float]:
    """Return the state of a process (``S`` if it waits) and its processor time in seconds."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return "", 0


def _peak(pid: int) -> int:
    """Return the peak resident memory of a process in bytes, 0 if it has ended."""
    with suppress(OSError):
        match = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return int(match[1]) * 1024 if match else 0
    return 0


if __name__ == "__main__":
    main(*sys.argv[1:])
