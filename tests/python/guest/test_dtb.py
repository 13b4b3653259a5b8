# SPDX-License-Identifier: Apache-2.0
"""The device tree of a board without coherent PCI, on QEMU's own tree and on broken ones."""

import struct
import subprocess
from pathlib import Path

import pytest

from pagemix_guest.dtb import _properties, without_coherent_pci
from pagemix_guest.errors import GuestError


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """What QEMU writes for the machine smmuv3."""
    path: Path = tmp_path_factory.mktemp("dtb") / "virt.dtb"
    subprocess.run(["qemu-system-aarch64", "-nodefaults", "-display", "none", "-machine",
                    f"virt,gic-version=3,iommu=smmuv3,dumpdtb={path}"], check=True,
                   capture_output=True)
    return path.read_bytes()


def properties(blob: bytes) -> list[tuple[bytes, bytes]]:
    return [(node, name) for node, name, _, _ in _properties(blob)]


def test_only_the_pci_host_changes(tree: bytes) -> None:
    before = properties(tree)
    after = properties(without_coherent_pci(tree))
    gone = [item for item in before if item not in after]
    assert [(node[:5], name) for node, name in gone] == [(b"pcie@", b"dma-coherent")]
    assert len(before) - len(after) == 1
    # The SMMU's own walks stay coherent.
    assert any(node.startswith(b"smmuv3@") and name == b"dma-coherent" for node, name in after)


def test_the_rest_stays(tree: bytes) -> None:
    changed = without_coherent_pci(tree)
    begin = struct.unpack_from(">I", tree, 8)[0]
    # One property without a value became three NOPs.
    assert sum(a != b for a, b in zip(tree[begin:], changed[begin:])) <= 12


# QEMU loads twice the size and 10,000 bytes; arm64 takes no tree above 2 MiB
# (Documentation/arch/arm64/booting.rst).
def test_the_kernel_can_take_it(tree: bytes) -> None:
    changed = without_coherent_pci(tree)
    assert struct.unpack_from(">I", changed, 4)[0] == len(changed)
    assert 2 * len(changed) + 10000 <= 2 << 20


def test_twice_is_an_error(tree: bytes) -> None:
    with pytest.raises(GuestError, match="0 coherent PCI hosts"):
        without_coherent_pci(without_coherent_pci(tree))


@pytest.mark.parametrize("blob", [b"", b"x" * 100])
def test_something_else_is_an_error(blob: bytes) -> None:
    with pytest.raises(GuestError, match="header"):
        without_coherent_pci(blob)


def test_unknown_token_is_an_error(tree: bytes) -> None:
    at = struct.unpack_from(">I", tree, 8)[0]
    broken = bytearray(tree)
    struct.pack_into(">I", broken, at, 7)
    with pytest.raises(GuestError, match="unknown token 7"):
        without_coherent_pci(bytes(broken))
