"""Fuzz a target with atheris: ``python -m tests.fuzz TARGET [seconds] [options of libFuzzer]``.

Inputs that reach new code are kept in a temporary folder, or in a folder that the options name; those in the repository
are read, and stay as they are.  An input that fails is written to the current folder, and is run alone by giving its
path: ``python -m tests.fuzz TARGET ./crash-…``.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
#: An input that takes longer, in seconds, or more memory, in MiB, is a failure.
LIMITS = ("-timeout=20", "-rss_limit_mb=2048")


def main(arguments: list[str]) -> None:
    """Fuzz the target that the first argument names, for the number of seconds that the second gives."""
    import atheris

    with atheris.instrument_imports(include=["netcalc"]):
        from tests.fuzz.targets import TARGETS

    name, *options = arguments or ["--help"]
    if name not in TARGETS:
        sys.exit(f"{__doc__}\ntargets: {', '.join(TARGETS)}")
    if options and options[0].isdigit():
        options[0] = f"-max_total_time={options[0]}"
    corpus = [str(HERE / "corpus" / name)]
    if options and any(Path(option).is_file() for option in options):
        corpus = []
    elif not any(Path(option).is_dir() for option in options):
        corpus.insert(0, tempfile.mkdtemp(prefix=f"corpus-{name}-"))
    if name in ("yaml", "expression"):
        options.insert(0, f"-dict={HERE / 'netcalc.dict'}")
    atheris.Setup([sys.argv[0], *LIMITS, "-max_len=20000", *options, *corpus], TARGETS[name])
    atheris.Fuzz()


if __name__ == "__main__":
    main(sys.argv[1:])
