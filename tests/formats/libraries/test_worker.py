"""The process that builds models."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

#: Starts a worker and ends without a word to it.
_PARENT = """
import os, subprocess, sys
command = [sys.executable, "-m", "netcalc.formats.libraries.worker", str(os.getpid())]
worker = subprocess.Popen(command, stdin=int(sys.argv[1]))
print(worker.pid)
"""


@pytest.mark.skipif(os.name == "nt", reason="processes of Windows do not learn of the end of another")
def test_a_worker_ends_with_the_process_that_started_it() -> None:
    requests, ours = os.pipe()
    os.set_inheritable(requests, True)
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT, str(requests)], stdout=subprocess.PIPE, text=True, close_fds=False
    )
    assert parent.stdout is not None
    worker = int(parent.stdout.readline())
    assert parent.wait(60) == 0
    try:
        for _ in range(600):
            if not _is_running(worker):
                break
            time.sleep(0.1)
        assert not _is_running(worker)
    finally:
        os.close(ours)
        os.close(requests)
        parent.stdout.close()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True
