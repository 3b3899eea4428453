"""Files of PyTorch: the command that an error suggests converts them."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import netcalc
from netcalc.diagnostics import NetcalcError

torch = pytest.importorskip("torch")

SPEC = "netcalc: 1\ninputs: {x: [1, 6]}\nlayers: [{name: a, linear: {out: 6}}, {name: b, tie: a, linear: {out: 6}}]"


@pytest.mark.parametrize("nested", [False, True])
def test_the_suggested_command_converts_pickles(tmp_path: Path, nested: bool) -> None:
    torch.manual_seed(0)
    linear = torch.nn.Linear(6, 6)
    shared = linear.weight.data.T.contiguous().T  # not contiguous, and stored under two names
    state = {"a.weight": shared, "b.weight": shared, "a.bias": linear.bias.data, "b.bias": linear.bias.data}
    folder = tmp_path / "with a space"
    folder.mkdir()
    torch.save({"state_dict": state, "epoch": 3} if nested else state, folder / "pytorch_model.bin")
    network, x = netcalc.loads(SPEC), torch.randn(1, 6)
    with pytest.raises(NetcalcError) as caught:
        network.run({"x": x.numpy()}, weights=folder)
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.hint is not None
    command = shlex.split(diagnostic.hint.partition("convert it with: ")[2])
    assert command[0] == "python"
    subprocess.run([sys.executable, *command[1:]], check=True)
    found = network.run({"x": x.numpy()}, weights=folder).outputs["output"]
    torch.testing.assert_close(torch.from_numpy(found), linear(linear(x)).detach())
