"""Reading of hostile documents and files: bounded, refused with code and place, without parts of other files."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import netcalc
from netcalc.diagnostics import Diagnostic, NetcalcError
from netcalc.limits import MAX_DEPTH, MAX_EXTENDS, MAX_SPEC_SIZE, MAX_TEXT, MAX_VALUES
from netcalc.spec.library import load_document, load_text
from netcalc.spec.yaml_document import parse_scalar, parse_yaml

HEAD = "netcalc: 1\n"


def problem(text: str) -> Diagnostic:
    """Return the diagnostic of a document that is refused while it is read."""
    with pytest.raises(NetcalcError) as caught:
        parse_yaml(text, "spec.yaml")
    (found,) = caught.value.diagnostics
    return found


@pytest.mark.parametrize(
    ("text", "code", "line", "column"),
    [
        ("a: [" + "0," * MAX_VALUES + "]", "E003", 1, 2 * MAX_VALUES + 1),
        ("- 0\n" * (MAX_VALUES + 1), "E003", MAX_VALUES, 3),
        ("a: &a [0]\nb: {" + "c: *a, " * MAX_VALUES, "E003", 2, None),  # also where the document is not closed
        ("[" * 100_000, "E003", 1, MAX_DEPTH + 2),
        ("{a: " * 100_000, "E003", 1, None),
        ("- " * 100_000, "E003", 1, None),
        ("? " * 100_000, "E003", 1, None),
        ("a: &a [*a]", "E003", 1, 4),
        ("a: &a {b: *a}", "E003", 1, 4),
        ("{[a]: 1}", "E003", 1, 2),
        ("a: 'x" + " x" * MAX_TEXT, "E003", 1, None),
        ('a: "' + "x\n" * MAX_TEXT, "E003", None, None),
        ("a: |\n" + "\n" * (MAX_TEXT + 10), "E003", None, None),
        ("a: >\n" + " x\n" * MAX_TEXT, "E003", None, None),
        ("a: " + "x" * (MAX_TEXT + 1), "E003", 1, None),
        ("a: &" + "x" * (MAX_TEXT + 1) + " 1", "E003", 1, None),
        ("a: !" + "x" * (MAX_TEXT + 1) + " 1", "E003", 1, None),
        ("%TAG ! tag:x\n--- {}", "E003", 1, 1),
        ("%FOO\n" * 3 + "--- {}", "E003", 1, 1),
        ("%YAML 2.0\n--- {}", "E001", 1, 1),
        ("%YAML 1." + "9" * 5000 + "\n--- {}", "E001", 1, 6),
        ('a: "\\UFFFFFFFF"', "E001", 1, None),
        ("a: !<%FF> 1", "E001", 1, None),
        ('a: "\\ud800"', "E001", 1, 4),
        ('"\\udc00\\ud800": 1', "E001", 1, 1),
        ("a: 1\nb: \0", "E001", 2, 4),
        ("a: 1\nb: x\x07y", "E001", 2, 5),
        ("a: 1\nb: \ud800", "E001", 2, 4),
        ("a: *b", "E001", 1, 4),
        ("--- 1\n--- 2\n", "E001", 2, 1),
        ("...\n", "E001", 1, 1),
        ("\n" * 1000, "E001", 1, 1),
    ],
)
def test_a_hostile_document_is_refused_at_its_place(text: str, code: str, line: int | None, column: int | None) -> None:
    found = problem(text)
    assert found.code == code
    assert found.span is not None
    assert line is None or found.span.line == line
    assert column is None or found.span.column == column


def test_values_are_counted_while_reading() -> None:
    found = problem("[" + "0," * MAX_VALUES + "]  '")  # what follows is no YAML
    assert found.code == "E003"


def test_ends_of_lines_and_a_byte_order_mark_make_no_difference() -> None:
    text = "a: 1  # first\nb:\n- |\n  x\n  y\n- 'p\n  q'\n  \n# end\n"
    data = {"a": 1, "b": ["x\ny\n", "p q"]}
    for written in (text, "\ufeff" + text, text.replace("\n", "\r\n"), text.replace("\n", "\r")):
        cursor = parse_yaml(written, "spec.yaml")
        assert cursor.data == data
        assert cursor["b"][1].span is not None
        assert cursor["b"][1].span[1:3] == (6, 3)


def test_a_pair_of_surrogates_is_a_character() -> None:
    assert parse_yaml('a: "\\ud83d\\ude00"', "spec.yaml").data == {"a": "😀"}
    assert parse_scalar('"\\ud83d\\ude00"') == "😀"


@pytest.mark.parametrize("version", ["1.1", "1.2", "1.7"])
def test_yaml_is_read_by_its_version_1_2(version: str) -> None:
    data = parse_yaml(f"%YAML {version}\n---\n{{a: on, b: no, c: 010, d: true, e: 1:30}}", "spec.yaml").data
    assert data == {"a": "on", "b": "no", "c": 10, "d": True, "e": "1:30"}


def test_the_size_of_a_text_is_bounded_and_can_be_raised() -> None:
    text = HEAD + "inputs: {x: [1, 2]}\nlayers: [{linear: 1}]\n"
    longer = text + "#" * MAX_SPEC_SIZE
    with pytest.raises(NetcalcError, match=r"E003: the spec has over 4,000,000 bytes \(--max-spec-size"):
        netcalc.loads(longer)
    assert netcalc.loads(longer, max_spec_size=len(longer)).params == 3
    with pytest.raises(NetcalcError, match="over 20 bytes"):
        netcalc.loads(text, max_spec_size=20)


def test_the_limit_on_the_size_holds_for_every_file(tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text(HEAD + "inputs: {x: [1, 2]}\nlayers: [{linear: 1}]\n" + "#" * 1000)
    child = tmp_path / "child.yaml"
    child.write_text(HEAD + "extends: parent\n")
    assert netcalc.load(child, max_spec_size=2000).params == 3
    with pytest.raises(NetcalcError) as caught:
        netcalc.load(child, max_spec_size=500)
    (found,) = caught.value.diagnostics
    assert found.code == "E003"
    assert found.span is not None


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no such device")
@pytest.mark.parametrize("spec", ["/dev/zero", "/dev/urandom"])
def test_an_endless_file_is_read_up_to_the_limit(spec: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        load_document(spec)
    (found,) = caught.value.diagnostics
    assert found.code in ("E003", "E004")  # random bytes may be no UTF-8, or look like another file


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(10**12)  # sparse
    with pytest.raises(NetcalcError, match="E003"):
        load_document(path)
    with pytest.raises(NetcalcError, match="E003"):
        load_text(HEAD + "import: [large]", folder=tmp_path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
@pytest.mark.parametrize("name", ["pipe.yaml", "config.json"])
def test_a_named_pipe_is_not_waited_for(name: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / name)
    with pytest.raises(NetcalcError, match=r"E004.*no regular file"):
        netcalc.load(tmp_path / name)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="no files by their descriptors")
def test_a_descriptor_is_a_spec() -> None:
    reader, writer = os.pipe()
    os.write(writer, (HEAD + "inputs: {x: [1, 2]}\nlayers: [{linear: 1}]\n").encode())
    os.close(writer)
    assert netcalc.load(f"/dev/fd/{reader}").params == 3
    os.close(reader)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_not_extended(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.yaml"
    os.mkfifo(pipe)
    with pytest.raises(NetcalcError, match="E005"):
        netcalc.loads(HEAD + "extends: pipe", folder=tmp_path)


@pytest.mark.parametrize("key", ["extends: secret", "import: [secret]"])
@pytest.mark.parametrize(
    "text",
    [
        "password-1234: [\n",
        "root:x:0:0:password-1234:/root:/bin/sh\n",
        "password-1234\n",
        "{model_type: password-1234}",
        "- password-1234: 1\n",
        "password-1234: 1\npassword-1234: 2\n",
        "user: {netcalcs: password-1234}\n",
    ],
)
def test_no_part_of_another_file_is_shown(key: str, text: str, tmp_path: Path) -> None:
    (tmp_path / "secret.yaml").write_text(text)
    with pytest.raises(NetcalcError) as caught:
        netcalc.loads(HEAD + key, folder=tmp_path)
    (found,) = caught.value.diagnostics
    assert found.code == "E004"
    assert found.span is not None
    assert found.span.line == 2
    assert "password" not in repr(found)
    assert "no key 'netcalc'" in found.message


@pytest.mark.parametrize("head", ["netcalc: 1\n", '"netcalc": 1\n', "# a\n\n{netcalc: 1}", '{\n  "netcalc": 1\n}'])
def test_a_spec_is_recognized_however_it_is_written(head: str, tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text(head)
    load_text(HEAD + "import: [parent]", folder=tmp_path)


def test_a_long_chain_of_specs_is_refused(tmp_path: Path) -> None:
    for number in range(MAX_EXTENDS + 5):
        (tmp_path / f"s{number}.yaml").write_text(f"{HEAD}extends: s{number + 1}\n")
    with pytest.raises(NetcalcError) as caught:
        load_document(tmp_path / "s0.yaml")
    (found,) = caught.value.diagnostics
    assert found.code == "E006"
    assert found.span is not None


@pytest.mark.parametrize(
    "name", ["x" * 300, "x" * 300 + ".yaml", "a/" + "x" * 5000, "a\0b", "a\0b.yaml", "", "..", "\ud800"]
)
def test_a_name_that_no_file_can_have_is_not_found(name: str) -> None:
    with pytest.raises(NetcalcError) as caught:
        load_document(name)
    assert caught.value.diagnostics[0].code in ("E004", "E005")
    for key in (f"extends: {name!r}", f"import: [{name!r}]"):
        with pytest.raises(NetcalcError):
            load_text(HEAD + key)


def test_paths_that_cannot_be_followed(tmp_path: Path) -> None:
    (tmp_path / "loop.yaml").symlink_to("loop.yaml")
    (tmp_path / "folder.yaml").mkdir()
    for name in ("loop.yaml", "folder.yaml", ""):
        with pytest.raises(NetcalcError, match="E004"):
            load_document(tmp_path / name)
        with pytest.raises(NetcalcError, match="E005"):
            load_text(f"{HEAD}extends: {name!r}", folder=tmp_path)


def shell(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script in which $netcalc is the command."""
    environment = {
        **os.environ,
        "netcalc": f"{sys.executable} -m netcalc",
        "PYTHONPATH": str(Path(netcalc.__file__).parents[1]),
    }
    return subprocess.run(
        ["bash", "-c", script], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    ("script", "code", "text"),
    [
        ("$netcalc shapes - <&-", 2, "error[E004]: standard input"),
        ("$netcalc shapes - < /dev/zero", 2, "error[E003]"),
        ("printf 'netcalc: 1\\xff' | $netcalc shapes -", 2, "error[E004]"),
        ("mkdir gone && cd gone && rmdir ../gone && $netcalc shapes net.yaml", 2, "error[E004]"),
        ("mkdir gone && cd gone && rmdir ../gone && $netcalc shapes mlp", 0, "mlp"),
        ("$netcalc shapes <($netcalc specs mlp --yaml)", 0, "784"),
        ("$netcalc specs <($netcalc specs mlp --yaml) --yaml", 2, "error[E502]"),
        ("$netcalc specs mlp --yaml --max-spec-size 100", 2, "error[E003]"),
    ],
)
def test_the_command_in_a_hostile_environment(script: str, code: int, text: str, tmp_path: Path) -> None:
    done = shell(script, tmp_path)
    assert done.returncode == code, done
    assert text in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_a_name_of_a_file_and_of_a_shipped_spec_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlp").write_text(HEAD + "inputs: {x: [1, 2]}\nlayers: [{linear: 1}]\n")
    (found,) = netcalc.load("mlp").warnings
    assert found.code == "W103"
    assert "the shipped spec is used" in found.message
    assert netcalc.load("./mlp").params == 3
    assert netcalc.load("./mlp").warnings == ()


def test_the_size_of_a_spec_is_limited_in_every_function(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text(HEAD + "inputs: {x: [1, 2]}\nlayers: [{linear: 1}]\n")
    child = {"netcalc": 1, "extends": str(spec)}
    for load in (
        lambda size: netcalc.load(spec, max_spec_size=size),
        lambda size: netcalc.describe(spec, max_spec_size=size),
        lambda size: netcalc.compare(netcalc.load("mlp"), spec, max_spec_size=size),
        lambda size: netcalc.load_data(child, max_spec_size=size),
    ):
        load(1000)
        with pytest.raises(NetcalcError, match="E003: the spec has over 20 bytes"):
            load(20)


@pytest.mark.parametrize(
    "text", ["root:x:0:0\n  foo: [\n", "root:x:0:0\n", "root: 1\n", "root: 1\nroot: 2\n", "[root", "{"]
)
def test_no_line_is_shown_of_a_file_that_is_no_spec(text: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(NetcalcError) as caught:
        load_document(str(path))
    (found,) = caught.value.diagnostics
    assert found.span is not None
    assert (found.span.file, found.span.text) == (str(path), "")
    assert found.span.line
    with pytest.raises(NetcalcError) as caught:  # a text that is given is no file of someone else
        load_text(text)
    assert caught.value.diagnostics[0].span is not None
    assert caught.value.diagnostics[0].span.text == text.splitlines()[caught.value.diagnostics[0].span.line - 1]
    path.write_text("netcalc: 1\n" + text)
    with pytest.raises(NetcalcError) as caught:
        load_document(str(path))
    assert any(found.span is not None and found.span.text for found in caught.value.diagnostics)


@pytest.mark.parametrize(
    ("name", "title"),
    [
        *[("ResNet50", "resnet50"), ("resnet-50", "resnet50"), ("vit_b16", "vit_b_16"), ("VGG-16", "vgg16")],
        *[("GPT-2", "gpt2"), ("Llama_3-8b", "llama-3-8b"), ("regnet-x-16gf", "regnet_x_16gf")],
        *[("REGNET_X_1_6GF", "regnet_x_1_6gf"), ("Bert_Base_Uncased", "bert-base")],
    ],
)
def test_case_and_hyphens_do_not_matter_in_names_of_shipped_specs(name: str, title: str) -> None:
    assert load_document(name).document.name == title
    assert load_text(f"{HEAD}extends: {name}\n").document.name == title


def test_the_specs_that_a_beginning_may_mean_are_listed() -> None:
    with pytest.raises(NetcalcError) as caught:
        load_document("llama2")
    (found,) = caught.value.diagnostics
    listed = (found.hint or "").partition(": ")[2].split(", ")
    assert listed == ["llama-2-13b", "llama-2-70b", "llama-2-7b"]
    assert all(load_document(name).document for name in listed)
    with pytest.raises(NetcalcError, match="regnet_x_16gf, regnet_x_1_6gf"):  # without underscores it is either
        load_document("regnetx16gf")


def test_a_file_precedes_another_spelling_of_a_shipped_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "MLP").write_text(HEAD + "inputs: {x: [1, 2]}\nlayers: [{linear: 1}]\n")
    assert netcalc.load("MLP").params == 3
    assert netcalc.load("MLP").warnings == ()
