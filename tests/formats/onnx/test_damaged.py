"""Damaged and hostile ONNX files: errors with codes and names of nodes, never a traceback, a hang or a read outside."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import netcalc
from netcalc.diagnostics import NetcalcError
from tests.conftest import CommandResult
from tests.formats.onnx.encoding import field, graph, message, model, node, saved, tensor, value


def small_net() -> bytes:
    arrays = {"w": np.ones((4, 3, 3, 3), np.float32), "fc.weight": np.ones((5, 4), np.float32)}
    nodes = [
        node("Conv", ["x", "w"], ["c"], "/conv/Conv", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["c"], ["r"], "/relu/Relu"),
        node("GlobalAveragePool", ["r"], ["p"], "/pool/GlobalAveragePool"),
        node("Constant", [], ["shape"], value=np.array([0, -1])),
        node("Reshape", ["p", "shape"], ["f"], "/Reshape"),
        node("Gemm", ["f", "fc.weight"], ["y"], "/fc/Gemm", transB=1, alpha=0.5),
        node("Softmax", ["y"], ["z"], "/Softmax", axis=1),
    ]
    tensors = [tensor(name, array) for name, array in arrays.items()]
    return model(
        graph(nodes, [value("x", ["batch", 3, 8, 8])], [value("z", ["batch", 5])], tensors), producer="pytorch"
    )


def loaded(path: Path) -> list[str]:
    """Return the codes of the errors of a file; an empty list if there are none."""
    try:
        assert netcalc.load(path).macs >= 0
    except NetcalcError as error:
        return [problem.code for problem in error.diagnostics]
    return []


def test_truncated_files_are_errors(tmp_path: Path) -> None:
    content = small_net()
    assert loaded(saved(tmp_path, content)) == []
    for length in range(0, len(content), 7):
        codes = loaded(saved(tmp_path, content[:length]))
        assert codes and set(codes) <= {"E605", "E007"}, length


@pytest.mark.parametrize("seed", range(3))
def test_mutants_have_no_traceback(tmp_path: Path, seed: int) -> None:
    content, draw = small_net(), random.Random(seed)
    for _ in range(200):
        mutant = bytearray(content)
        for _ in range(draw.choice([1, 1, 2, 8])):
            mutant[draw.randrange(len(mutant))] = draw.choice([0, 1, 127, 128, 255, draw.randrange(256)])
        loaded(saved(tmp_path, bytes(mutant)))  # any exception but NetcalcError fails


def test_problems_name_their_nodes(tmp_path: Path) -> None:
    """Every node that cannot be translated is named at once: unknown operators, loops, values that nothing makes."""
    body = graph([], [], [])
    loop = message({1: ["x"], 2: ["l"], 3: "the loop", 4: "Loop", 5: message({1: "body", 6: body, 20: 5})})
    nodes = [
        node("Fancy", ["x"], ["a"], "first"),
        node("Fancy", ["x"], ["b"], "second"),
        node("Other", ["x"], ["c"], "third", domain="com.example"),
        loop,
        node("Add", ["x", "nowhere"], ["d"], "fourth"),
        node("Add", ["x", "later"], ["e"], "fifth"),
        node("Neg", ["e"], ["later"], "sixth"),
    ]
    path = saved(tmp_path, model(graph(nodes, [value("x", [2])], [value("a", [2])])))
    with pytest.raises(NetcalcError) as caught:
        netcalc.load(path)
    text = str(caught.value)
    assert {problem.code for problem in caught.value.diagnostics} == {"E007"}
    assert "operator Fancy is not known (2 nodes: Fancy 'first', Fancy 'second')" in text
    assert "operator com.example.Other is not known (com.example.Other 'third')" in text
    assert "Loop 'the loop': its body has 0 inputs and 0 outputs" in text
    assert "Add 'fourth': it reads 'nowhere', which nothing makes" in text
    assert "Add 'fifth': it reads 'later', which a later node makes: the graph has a cycle" in text


def test_operators_behind_unknown_ones_are_named_too(tmp_path: Path) -> None:
    """A user learns all that is not known at once, and nothing of nodes that only lack the results of others."""
    nodes = [
        node("FusedMatMul", ["x", "x"], ["a"], "fused", "com.microsoft"),
        node("Shape", ["a"], ["s"], "shape"),
        node("Relu", ["a"], ["b"], "relu"),
        node("MyOp", ["b"], ["y"], "mine", "org.example"),
    ]
    content = model(graph(nodes, [value("x", [4, 4])], [value("y", [4, 4])]))
    with pytest.raises(NetcalcError) as caught:
        netcalc.load(saved(tmp_path, content))
    assert [problem.message.partition(": ")[2] for problem in caught.value.diagnostics] == [
        "operator com.microsoft.FusedMatMul is not known (com.microsoft.FusedMatMul 'fused')",
        "operator org.example.MyOp is not known (org.example.MyOp 'mine')",
    ]


def test_pointers_of_git_lfs_are_known(tmp_path: Path) -> None:
    content = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n"
    with pytest.raises(NetcalcError, match="pointer of Git LFS") as caught:
        netcalc.load(saved(tmp_path, content))
    assert caught.value.diagnostics[0].code == "E605"


@pytest.mark.parametrize(
    ("data", "said"), [(None, "which is no file in its folder"), (b"\0" * 79, "which has 79 bytes"), (b"\0" * 80, "")]
)
def test_an_audit_looks_for_data_in_other_files(
    tmp_path: Path, netcalc: Callable[..., CommandResult], data: bytes | None, said: str
) -> None:
    """Counts need no such file; an audit says that it is missing, or too short."""
    weight = tensor("w", np.zeros((4, 5), np.float32), {"location": "net.data"})
    nodes = [node("MatMul", ["x", "w"], ["y"])]
    path = saved(tmp_path, model(graph(nodes, [value("x", [2, 4])], [value("y", [2, 5])], [weight])))
    if data is not None:
        (tmp_path / "net.data").write_bytes(data)
    assert netcalc("params", str(path)).code == 0
    result = netcalc("verify", str(path))
    assert (result.code, said in result.out + result.err) == (1 if said else 0, True)


def test_weights_have_the_shapes_that_their_inputs_take(tmp_path: Path) -> None:
    wide = tensor("fc.weight", np.ones((7, 5), np.float32))
    nodes = [node("MatMul", ["x", "fc.weight"], ["y"], "/fc/MatMul")]
    path = saved(tmp_path, model(graph(nodes, [value("x", [2, 4])], [value("y", [2, 5])], [wide])))
    with pytest.raises(NetcalcError, match=r"MatMul '/fc/MatMul'.*is 5×7, and its input takes 5×4"):
        netcalc.load(path)


@pytest.mark.parametrize("location", ["../outside.bin", "/etc/passwd", "", "inner/../../outside.bin", "a\0b"])
def test_data_outside_of_the_folder_are_not_read(tmp_path: Path, location: str) -> None:
    folder = tmp_path / "models"
    (folder / "inner").mkdir(parents=True)
    (tmp_path / "outside.bin").write_bytes(bytes(8))
    shape = tensor("shape", np.array([2]), {"location": location})
    nodes = [node("Reshape", ["x", "shape"], ["y"])]
    path = saved(folder, model(graph(nodes, [value("x", [2])], [value("y", [2])], [shape])))
    assert loaded(path) == ["E605"]


def test_links_out_of_the_folder_are_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "outside.bin").write_bytes(np.array([2]).tobytes())
    try:
        (folder / "data.bin").symlink_to(tmp_path / "outside.bin")
    except OSError:
        pytest.skip("no links here")
    shape = tensor("shape", np.array([2]), {"location": "data.bin"})
    nodes = [node("Reshape", ["x", "shape"], ["y"])]
    path = saved(folder, model(graph(nodes, [value("x", [2])], [value("y", [2])], [shape])))
    assert loaded(path) == ["E605"]


def test_deep_graphs_and_large_claims_are_refused(tmp_path: Path) -> None:
    body = graph([node("Neg", ["x"], ["y"])], [], [value("y", [2])])
    for _ in range(60):
        inner = message({1: ["x"], 2: ["y"], 4: "If", 5: message({1: "then_branch", 6: body, 20: 5})})
        body = graph([inner], [], [value("y", [2])])
    assert loaded(saved(tmp_path, model(body))) == ["E605"]
    huge = message({1: [1 << 40, 1 << 40], 2: 1, 8: "w", 9: b""})
    nodes = [node("MatMul", ["x", "w"], ["y"])]
    path = saved(tmp_path, model(graph(nodes, [value("x", [2, 4])], [value("y", [2, 4])], [huge])))
    assert loaded(path) == ["E605"]
    assert loaded(saved(tmp_path, field(7, b"\xff" * 40))) == ["E605"]


def test_command_line_ends_with_code_2(tmp_path: Path, netcalc: Callable[..., CommandResult]) -> None:
    path = saved(tmp_path, small_net()[:200])
    result = netcalc("summary", str(path))
    assert result.code == 2
    assert "E605" in result.err or "E007" in result.err
