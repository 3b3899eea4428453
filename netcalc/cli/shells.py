"""Shells: the script by which each completes command lines, and its installation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from netcalc.diagnostics import Diagnostic, NetcalcError


class _Shell(NamedTuple):
    """A shell: the file of the script and a line of a startup file that reads it, both below the home folder."""

    file: str
    startup: str = ""
    line: str = ""


SHELLS = {
    "bash": _Shell(".bash_completions/netcalc.bash", ".bashrc", "source ~/.bash_completions/netcalc.bash"),
    "zsh": _Shell(".zfunc/_netcalc", ".zshrc", "fpath+=(~/.zfunc); autoload -Uz compinit; compinit"),
    "fish": _Shell(".config/fish/completions/netcalc.fish"),
}
_OPTIONS = ("--show-completion", "--install-completion")


def completion_option(words: Sequence[str]) -> bool:
    """Show or install the completion of a shell if the words ask for it; return False for other words.

    Raises:
        NetcalcError: E502 for an unknown shell, or a file that cannot be written.
    """
    option, _, shell = (words[0] if words else "").partition("=")
    if option not in _OPTIONS:
        return False
    shell = shell or (words[1] if len(words) > 1 else Path(os.environ.get("SHELL", "")).name)
    if shell not in SHELLS or len(words) > 2:
        hint = f"name one of {', '.join(SHELLS)}"
        raise NetcalcError(Diagnostic("E502", f"{option}: no completion of {shell or 'this shell'!r}", hint=hint))
    if option == "--show-completion":
        from netcalc.cli.output import write

        write(_script(shell).splitlines())
    else:
        _install(shell)
    return True


def _script(shell: str) -> str:
    return (Path(__file__).parent.parent / "data" / "completion" / f"netcalc.{shell}").read_text(encoding="utf-8")


def _install(shell: str) -> None:
    """Write the script of a shell, and the line that reads it unless the startup file has it."""
    from netcalc.cli.output import write
    from netcalc.files import make_folder, write_file

    home, (file, startup, line) = Path.home(), SHELLS[shell]
    path = home / file
    try:
        make_folder(path.parent)
        write_file([_script(shell).encode()], str(path), "--install-completion: ")
        if startup:
            before = (home / startup).read_text(encoding="utf-8") if (home / startup).exists() else ""
            if line not in before.splitlines():
                text = before + ("\n" if before and not before.endswith("\n") else "") + line + "\n"
                write_file([text.encode()], str(home / startup), "--install-completion: ")
    except (OSError, UnicodeError) as error:
        raise NetcalcError(Diagnostic("E502", f"--install-completion: {error}")) from None
    write([f"wrote {path}; it takes effect in a new {shell}"])
