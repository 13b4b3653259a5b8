# SPDX-License-Identifier: Apache-2.0
"""Modules of a later Debian's kernels are built in a root of it."""

import os
import subprocess
from pathlib import Path

import pytest

from pagemix_guest import build, toolroot
from pagemix_guest.errors import GuestError
from pagemix_guest.kernel import Kernel


def test_packages_hold_every_architectures_compiler() -> None:
    assert toolroot.packages("amd64")[:2] == ["gcc-14", "gcc-14-aarch64-linux-gnu"]
    assert toolroot.packages("arm64")[:2] == ["gcc-14-x86-64-linux-gnu", "gcc-14"]
    assert toolroot.compiler("amd64") == "x86_64-linux-gnu-gcc-14"


@pytest.mark.parametrize(("signed_by", "option"), [
    (" /usr/share/keyrings/x.gpg", ["--keyring=/usr/share/keyrings/x.gpg"]),
    ("", []), ("\n -----BEGIN PGP PUBLIC KEY BLOCK-----", [])])
def test_key_of_the_mirror(signed_by: str, option: list[str]) -> None:
    assert toolroot.keyring(signed_by) == option


def test_a_failing_mmdebstrap_leaves_nothing(own_cache: Path, on_path) -> None:
    on_path("mmdebstrap", "echo no mirror >&2; exit 25")
    with pytest.raises(GuestError, match="no mirror"):
        toolroot.tool_root()
    assert list((own_cache / "roots").iterdir()) == []


def test_mmdebstrap_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setattr(toolroot, "host_architecture", lambda: "amd64")
    with pytest.raises(GuestError, match="mmdebstrap is not installed"):
        toolroot.tool_root()


def test_the_kernels_folders_are_bound_into_the_root(tmp_path: Path, monkeypatch) -> None:
    headers = tmp_path / "root/usr/src/linux-headers-x"
    headers.mkdir(parents=True)
    (tmp_path / "headers").symlink_to("root/usr/src/linux-headers-x")
    seen = {}
    monkeypatch.setattr(build, "checked", lambda argv, **_: seen.setdefault("argv", argv) and "")
    monkeypatch.setattr(toolroot, "tool_root", lambda say: Path("/the/root"))
    kernel = Kernel("x", "arm64", "7.3", True, tmp_path, tools="trixie")
    build.run_kbuild(kernel, Path("/copy"), ("modules",))
    words = [str(word) for word in seen["argv"]]
    assert ["/the/root", "/kernel/root/usr/src/linux-headers-x", str(tmp_path), "/kernel",
            "/copy", "/module", "--"] == words[words.index("/the/root"):words.index("--") + 1]
    assert {"M=/module", "CC=aarch64-linux-gnu-gcc-14", "modules"} <= set(words)


def may_mount() -> bool:
    users = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    return subprocess.run(["unshare", *users, "--mount", "true"], check=False,
                          capture_output=True).returncode == 0


@pytest.mark.skipif(not may_mount(), reason="no mount namespace may be made here")
def test_a_command_sees_the_bound_folder_and_leaves_no_mount(tmp_path: Path) -> None:
    root, bound = tmp_path / "root", tmp_path / "bound"
    for part in ("dev", "proc", "bin", "usr"):
        (root / part).mkdir(parents=True)
    bound.mkdir()
    busybox = subprocess.run(["which", "busybox"], capture_output=True, text=True, check=False)
    if busybox.returncode:
        pytest.skip("no busybox to be the root's shell")
    for name in ("sh", "env", "touch"):
        (root / "bin" / name).write_bytes(Path(busybox.stdout.strip()).read_bytes())
        (root / "bin" / name).chmod(0o755)
    argv = toolroot.inside(root, "/work", {bound: "/work"}, ["touch", "here"], {})
    subprocess.run(argv, check=True)
    assert (bound / "here").exists()
    assert not (root / "work/here").exists()
