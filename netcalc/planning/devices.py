"""The devices that an option names, the machine itself included."""

from __future__ import annotations

from netcalc.analysis.devices import Devices, chosen_devices

#: Name of the machine that netcalc runs on.
THIS = "this"


def devices_of(text: str | int) -> Devices:
    """Return the devices that ``--device`` names; ``this`` is measured, which takes a few seconds.

    Raises:
        NetcalcError: as :func:`~netcalc.analysis.devices.chosen_devices` does.
    """
    if text != THIS:
        return chosen_devices(text)
    from netcalc.engine.machine import this_machine

    return Devices(this_machine())
