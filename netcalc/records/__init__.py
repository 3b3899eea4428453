"""JSON records of results, which ``--format json`` prints, and their JSON Schemas.

A record begins with ``schema``, its name and version (``netcalc/summary/1``).  A new field keeps the version; a field
that is removed or redefined raises it.  The classes of results declare the fields (:mod:`netcalc.results`): a dataclass
or a named tuple is an object.
"""

from __future__ import annotations

from typing import Any

from netcalc.diagnostics import NetcalcError
from netcalc.records.errors import errors_record
from netcalc.records.writing import VERSIONS, record, schema_id

__all__ = ["VERSIONS", "as_dict", "record", "schema_id"]


def as_dict(result: Any) -> dict[str, Any]:
    """Return the JSON record of a result, as the command of the same name prints it with ``--format json``.

    Args:
        result: a result of :func:`netcalc.compare` or of a method of :class:`~netcalc.network.Network`, or a
            :class:`~netcalc.diagnostics.NetcalcError`.

    Raises:
        TypeError: the result has no record.

    >>> import netcalc
    >>> netcalc.as_dict(netcalc.load("mlp").summary())["totals"]["params"]
    535818
    """
    return errors_record(result.diagnostics) if isinstance(result, NetcalcError) else record(result)
