# SPDX-License-Identifier: Apache-2.0
"""The initramfs, read back: what is in it, whose it is, and that it is reproducible."""

import lzma
import shutil
import stat
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pagemix_guest import cpio
from pagemix_guest.elf import closure
from pagemix_guest.errors import GuestError, UsageError
from pagemix_guest.image import Added, Content, build_image
from pagemix_guest.kernel import Kernel
from pagemix_guest.modules import load_order, module_name, parse_dep, read_module

DEP = """\
kernel/drivers/block/virtio_blk.ko.xz:
kernel/drivers/vfio/vfio_iommu_type1.ko.xz: kernel/drivers/vfio/vfio.ko.xz
kernel/drivers/vfio/pci/vfio-pci.ko.xz: kernel/a/core.ko.xz kernel/drivers/vfio/vfio.ko.xz
kernel/a/core.ko.xz: kernel/drivers/vfio/vfio.ko.xz
kernel/drivers/vfio/vfio.ko.xz:
"""


@pytest.fixture
def kernel(tmp_path: Path) -> Kernel:
    """A kernel folder whose modules are text, compressed as Debian does."""
    folder = tmp_path / "kernel"
    modules = folder / "modules"
    for line in DEP.splitlines():
        path = modules / line.partition(":")[0]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(lzma.compress(f"module {path.name}".encode()))
    (modules / "modules.dep").write_text(DEP, encoding="utf-8")
    (modules / "modules.builtin").write_text("kernel/drivers/virtio/virtio_pci.ko\n",
                                             encoding="utf-8")
    (folder / "busybox").write_bytes(b"busybox")
    return Kernel("6.12.1-arm64", "arm64", "6.12.1-1", False, folder)


def members(data: bytes) -> dict[str, cpio.Entry]:
    return dict(cpio.unpack(data))


def test_dependencies_come_first_and_once(kernel: Kernel) -> None:
    names = [module_name(path) for path in
             load_order(kernel, ["vfio-pci", "vfio_iommu_type1", "virtio_pci", "virtio_blk"])]
    assert names == ["vfio", "core", "vfio_pci", "vfio_iommu_type1", "virtio_blk"]


def test_unknown_module_is_named(kernel: Kernel) -> None:
    with pytest.raises(GuestError, match="6.12.1-arm64 has no module 'nope'"):
        load_order(kernel, ["nope"])


def test_names_of_modules() -> None:
    assert module_name("kernel/x/vfio-pci.ko.xz") == "vfio_pci"
    assert module_name("kernel/x/a.ko") == "a"
    assert parse_dep("a/b.ko: c/d.ko\n") == {"b": ("a/b.ko", ["c/d.ko"])}


def test_modules_are_decompressed(tmp_path: Path) -> None:
    (tmp_path / "a.ko").write_bytes(b"plain")
    (tmp_path / "b.ko.xz").write_bytes(lzma.compress(b"small"))
    assert read_module(tmp_path / "a.ko") == b"plain"
    assert read_module(tmp_path / "b.ko.xz") == b"small"


def content(kernel: Kernel, tmp_path: Path) -> Content:
    configs = tmp_path / "configs"
    (configs / "profiles").mkdir(parents=True, exist_ok=True)
    (configs / "profiles/quick.ini").write_text("[run]\n", encoding="utf-8")
    script = tmp_path / "script.sh"
    script.write_text("#!/bin/sh\n", encoding="utf-8")
    script.chmod(0o755)
    own = tmp_path / "pagemix.ko"
    own.write_bytes(b"own module")
    return Content(kernel=kernel, commands=[["echo", "it's", "a b"], ["true"]],
                   environment={"CONSOLE": "ttyAMA0"}, modules=["vfio-pci"], own_modules=[own],
                   files=[Added(script, "/bin/script.sh"), Added(own, "/data/plain")],
                   configs=configs)


def test_image_reads_back(kernel: Kernel, tmp_path: Path) -> None:
    found = members(build_image(content(kernel, tmp_path)))
    assert stat.S_ISREG(found["init"].mode) and found["init"].mode & 0o777 == 0o755
    assert found["init"].data.startswith(b"#!/bin/busybox sh\n")
    assert found["bin/busybox"].data == b"busybox"
    assert (found["bin/sh"].data, stat.S_ISLNK(found["bin/sh"].mode)) == (b"busybox", True)
    console = found["dev/console"]
    assert stat.S_ISCHR(console.mode) and console.device == (5, 1)
    assert found["etc/guest/modules"].data.decode().split() == [
        "/lib/modules/vfio.ko", "/lib/modules/core.ko", "/lib/modules/vfio_pci.ko",
        "/lib/modules/pagemix.ko"]
    assert found["lib/modules/vfio_pci.ko"].data == b"module vfio-pci.ko.xz"
    assert found["lib/modules/pagemix.ko"].data == b"own module"
    assert found["etc/pagemix/profiles/quick.ini"].data == b"[run]\n"
    assert found["bin/script.sh"].mode & 0o777 == 0o755
    assert found["data/plain"].mode & 0o777 == 0o644
    assert found["tmp"].mode == stat.S_IFDIR | 0o1777
    assert found["etc/guest/environment"].data == b"export CONSOLE=ttyAMA0\n"
    assert b"""echo 'it'"'"'s' 'a b'\n""" in found["etc/guest/command-0"].data
    assert b"\ntrue\n" in found["etc/guest/command-1"].data


def test_a_pc_finds_its_loader(kernel: Kernel, tmp_path: Path) -> None:
    # Programs of x86-64 ask for /lib64/ld-linux-x86-64.so.2, those of arm64 for /lib/...
    assert "lib64" not in members(build_image(content(kernel, tmp_path)))
    pc = content(replace(kernel, arch="amd64"), tmp_path)
    link = members(build_image(pc))["lib64"]
    assert (link.data, stat.S_ISLNK(link.mode)) == (b"lib", True)


def test_parents_come_before_their_files(kernel: Kernel, tmp_path: Path) -> None:
    seen: set[str] = set()
    for name, _ in cpio.unpack(build_image(content(kernel, tmp_path))):
        parent = name.rpartition("/")[0]
        assert not parent or parent in seen, name
        seen.add(name)


def test_same_input_same_bytes(kernel: Kernel, tmp_path: Path) -> None:
    first = build_image(content(kernel, tmp_path))
    (tmp_path / "script.sh").touch()
    assert build_image(content(kernel, tmp_path)) == first


def test_missing_file_is_named(kernel: Kernel, tmp_path: Path) -> None:
    what = content(kernel, tmp_path)
    what.files = [Added(tmp_path / "gone", "/bin/gone")]
    with pytest.raises(UsageError, match="gone: no such file"):
        build_image(what)


@pytest.mark.parametrize("path", ["", "/", ".", "a/../../b"])
def test_paths_outside_are_refused(path: str) -> None:
    with pytest.raises(ValueError, match="is no path inside"):
        cpio.Archive().file(path, b"")


def test_cpio_program_reads_it(tmp_path: Path) -> None:
    if not shutil.which("cpio"):
        pytest.skip("cpio is not installed")
    archive = cpio.Archive()
    archive.file("a/b/c.txt", b"odd", 0o640)
    archive.link("l", "a/b/c.txt")
    listing = subprocess.run(["cpio", "-itnv", "--quiet"], input=archive.pack(),
                             capture_output=True, check=True).stdout.decode().splitlines()
    assert [(line.split()[0], *line.split()[2:5]) for line in listing] == [
        ("drwxr-xr-x", "0", "0", "0"), ("drwxr-xr-x", "0", "0", "0"),
        ("-rw-r-----", "0", "0", "3"), ("lrwxrwxrwx", "0", "0", "9")]


def test_libraries_of_a_real_program() -> None:
    if not shutil.which("aarch64-linux-gnu-gcc"):
        pytest.skip("no cross compiler: aarch64-linux-gnu-gcc is not installed")
    library = Path("/usr/aarch64-linux-gnu/lib/libm.so.6")
    found = closure([library], "arm64")
    assert {"libc.so.6", "ld-linux-aarch64.so.1"} <= found.keys()
    with pytest.raises(GuestError, match="needs libc.so.6, which is in none of /nowhere"):
        closure([library], "arm64", [Path("/nowhere")])
