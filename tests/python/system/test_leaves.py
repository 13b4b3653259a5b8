# SPDX-License-Identifier: Apache-2.0
"""Leaves of iommu_map and iommu_map_sg: what pagemix predicts against what QEMU's IOMMU found.

In the guest mapped_leaves_test lets the device read and write the first and last
bytes of each predicted leaf. QEMU traces the entry that each page walk ended at
(SMMUv3), or each request and translation (virtio-iommu).
"""

from __future__ import annotations

import functools
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from conftest import GUEST, SOURCE

from pagemix_guest import kernel
from pagemix_guest.cli import MACHINES as MACHINE_FILES
from pagemix_guest.console import LineAssembler
from pagemix_guest.errors import UsageError
from pagemix_guest.events import MARKER, PREFIX
from pagemix_guest.machine import load_machine
from pagemix_guest.uart import Pl011

MIB = 1 << 20
OPERATIONS = ("iommu_map", "iommu_map_sg")
WALKS = ("smmu_ptw_page_pte", "smmu_ptw_block_pte")
REQUESTS = ("virtio_iommu_map", "virtio_iommu_translate_out")
MACHINES = {"smmuv3": WALKS, "smmuv3-16k": WALKS, "virtio-iommu": REQUESTS}
DOMAIN_IOVA = 4 << 30  # kmod/ops_domain.c

Sizes = dict[int, int]  # bytes: count
Phases = dict[str, list[tuple[str, str]]]  # case: (event, its text)


class Leaves:
    """One boot: what was predicted, and the IOMMU's events, by case."""

    def __init__(self, output: str, trace: Path) -> None:
        self.predicted: dict[str, Sizes] = {
            match[1]: {int(size): int(count) for size, count
                       in (word.split(":") for word in match[2].split())}
            for match in re.finditer(r"^@leaves (\S+)((?: \d+:\d+)+)\s*$", output, re.MULTILINE)}
        self.phases = phases_of(trace)

    def found(self, case: str) -> Sizes:
        """Leaves that page walks ended at, each once, by size."""
        leaves: dict[int, int] = {}  # first address: bytes
        for event, text in self.phases[case]:
            iova = int(re.search(r"iova=0x([0-9a-f]+)", text)[1], 16)  # type: ignore[index]
            if iova < DOMAIN_IOVA:
                continue
            block = re.search(r"block size = (\d+) MiB", text)
            size = int(block[1]) * MIB if block else self.page_bytes
            leaves[iova & ~(size - 1)] = size
        return dict(sorted(Counter(leaves.values()).items()))

    def requests(self, case: str) -> list[tuple[int, int, int]]:
        """(first IOVA, bytes, physical address) of the requests that map the buffer."""
        found = []
        for event, text in self.phases[case]:
            if event == "virtio_iommu_map":
                first, last, phys = (int(word, 16) for word in re.findall(r"=0x([0-9a-f]+)", text))
                if first >= DOMAIN_IOVA:
                    found.append((first, last - first + 1, phys))
        return found

    @functools.cached_property
    def page_bytes(self) -> int:
        """The granule: the leaf of the case with the smallest chunks."""
        return min(self.predicted["iommu_map/mix:order0"])


def phases_of(trace: Path) -> Phases:
    phases: Phases = {}
    port, console, current = Pl011(), LineAssembler(), ""
    with open(trace, "rb") as lines:
        for raw in lines:
            prefix = PREFIX.match(raw)
            name, _, rest = raw[prefix.end() if prefix else 0:].rstrip(b"\r\n").partition(b" ")
            if name != b"pl011_write":
                if current:
                    phases[current].append((name.decode(), rest.decode()))
                continue
            for line in console.feed(port.character(rest) or ""):
                if marker := MARKER.search(line.text):
                    current = marker[2] if marker[1] == "begin" else ""
                    if current:
                        assert current not in phases, f"{current} twice"
                        phases[current] = []
    return phases


@pytest.fixture(scope="module")
def leaves() -> Iterator[Callable[[str], Leaves]]:
    kept: list[Path] = []

    @functools.cache
    def start(machine: str) -> Leaves:
        try:
            described = load_machine(MACHINE_FILES, machine)
            kernel.find(described.arch, described.kernel)
        except UsageError as error:
            pytest.skip(str(error))
        done = subprocess.run(
            [GUEST, "exec", "--machine", machine, "--keep", "--add", "mapped_leaves_test",
             *(word for event in MACHINES[machine] for word in ("--trace", event)),
             "--", "mapped_leaves_test", "--gtest_brief=1"],
            check=False, cwd=SOURCE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        print(done.stdout)
        folder = Path(re.search(r"\bkept (.+)$", done.stdout, re.MULTILINE)[1])  # type: ignore[index]
        kept.append(folder)
        done.check_returncode()
        return Leaves(done.stdout, folder / "trace.log")

    yield start
    for folder in kept:
        shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("machine", MACHINES)
def test_every_case_was_traced(leaves: Callable[[str], Leaves], machine: str) -> None:
    boot = leaves(machine)
    assert boot.predicted.keys() == boot.phases.keys()
    orders = {case.partition("/mix:")[2] for case in boot.predicted}
    assert {"order0", "order9", "order10", "9-4-0"} <= orders
    assert len(boot.predicted) == len(OPERATIONS) * len(orders)


# A walk's last entry is the leaf: page of the granule, or block.
@pytest.mark.parametrize("machine", ["smmuv3", "smmuv3-16k"])
def test_page_walks_end_at_the_predicted_leaves(leaves: Callable[[str], Leaves],
                                                machine: str) -> None:
    boot = leaves(machine)
    for case, predicted in boot.predicted.items():
        assert boot.found(case) == predicted, case


# Page sizes of the SMMU's format: 4K and 2M with that granule, 16K and 32M.
@pytest.mark.parametrize(("machine", "page", "block", "order"),
                         [("smmuv3", 4 << 10, 2 * MIB, 9), ("smmuv3-16k", 16 << 10, 32 * MIB, 11)])
def test_an_smmu_has_pages_and_blocks(leaves: Callable[[str], Leaves], machine: str, page: int,
                                      block: int, order: int) -> None:
    boot = leaves(machine)
    for operation in OPERATIONS:
        assert boot.found(f"{operation}/mix:order0") == {page: 2}
        assert boot.found(f"{operation}/mix:order4") == {page: 2 << 4}
        assert boot.found(f"{operation}/mix:order{order}") == {block: 2}
        if machine == "smmuv3":
            assert boot.found(f"{operation}/mix:9-4-0") == {page: 16 + 3, block: 1}


# Two chunks of an order that do not touch are two requests of its size.
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_virtio_iommu_takes_any_power_of_two(leaves: Callable[[str], Leaves],
                                               operation: str) -> None:
    boot = leaves("virtio-iommu")
    for order in range(11):
        case = f"{operation}/mix:order{order}"
        size = 4096 << order
        requests = boot.requests(case)
        joined = len(requests) == 1  # the two chunks touch
        assert [bytes_ for _, bytes_, _ in requests] == ([2 * size] if joined else [size, size])
        predicted = boot.predicted[case]
        assert sum(bytes_ * count for bytes_, count in predicted.items()) == 2 * size
        assert joined or predicted == {size: 2}, case


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_virtio_iommu_translates_by_these_requests(leaves: Callable[[str], Leaves],
                                                     operation: str) -> None:
    boot = leaves("virtio-iommu")
    for case in (case for case in boot.predicted if case.startswith(operation + "/")):
        requests, used = boot.requests(case), 0
        for event, text in boot.phases[case]:
            if event != "virtio_iommu_translate_out":
                continue
            virt, phys = (int(word, 16) for word in re.findall(r"0x([0-9a-f]+)", text)[:2])
            if virt < DOMAIN_IOVA:
                continue
            used += 1
            assert any(first <= virt < first + size and virt - first == phys - base
                       for first, size, base in requests), (case, text)
        assert used == 2 * sum(boot.predicted[case].values()), case
