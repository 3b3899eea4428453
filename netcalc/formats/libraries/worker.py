"""Process that builds a model by its library and writes the spec document of it.

It reads a request from standard input and writes an answer to standard output, both as JSON.  Nothing else that it
runs writes there, and nothing that it runs reaches the network.  Its argument is the process that wants the answer.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import warnings
from collections.abc import Mapping
from threading import Thread
from time import sleep
from typing import Any, NoReturn

from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.formats.table import implementation
from netcalc.formats.torch.diagnosis import refused


def main() -> None:
    """Answer the request on standard input."""
    Thread(target=_end_with, args=[int(sys.argv[1])], daemon=True).start()
    request = json.load(sys.stdin)
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as out:
        os.dup2(2, 1)
        warnings.simplefilter("ignore")
        logging.disable(logging.CRITICAL)
        socket.socket.connect = _no_network  # type: ignore[method-assign]
        json.dump(_answer(request), out)
        out.flush()
        os._exit(0)  # threads of a library may still run


def _answer(request: Mapping[str, Any]) -> dict[str, Any]:
    from netcalc.formats.libraries.capture import captured_document

    library = implementation(f"{request['library']}.building")
    try:
        if request["strict"] and (unknown := library.unknown_fields(request["model"], request["strict"])):
            message = "its class has no field " + ", ".join(map(repr, unknown))
            raise NetcalcError(Diagnostic("E009", message, hint="--ignore FIELD goes on without one"))
        built = library.built(request["model"], request["settings"])
        return {"document": captured_document(built, request["examples"], request["sizes"])}
    except NetcalcError as error:
        return {"problems": [(problem.code, problem.message, problem.hint) for problem in error.diagnostics]}
    except Exception as error:  # of the library, at a place where none was expected
        (problem,) = refused(f"{request['library']} cannot build it", error).diagnostics
        return {"problems": [(problem.code, problem.message, problem.hint)]}


def _end_with(parent: int) -> None:
    """End this process soon after the one that wants its answer."""
    while os.getppid() == parent:
        sleep(1)
    os._exit(1)


def _no_network(*args: object) -> NoReturn:
    raise OSError("a model is built without the network")


if __name__ == "__main__":
    main()
