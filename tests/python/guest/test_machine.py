# SPDX-License-Identifier: Apache-2.0
"""Machine files: the real ones load, wrong ones are refused with what is allowed."""

from pathlib import Path

import pytest

from pagemix_guest.cli import MACHINES, parser, request_of
from pagemix_guest.errors import UsageError
from pagemix_guest.counters import load
from pagemix_guest.events import counters_of
from pagemix_guest.machine import (load_machine, machine_names, parse_machine,
                                    target_arguments)

# Traced for the model of the IOTLB, which reads a whole trace; not counted.
REPLAYED = ("smmuv3_s1_range_inval", "smmu_iotlb_inv_asid", "smmu_iotlb_inv_all")
GOOD = {"arch": "arm64", "kernel": "6.12", "cpu": "cortex-a72", "memory": "2G", "target": "edu"}


def text_of(**changes: str | None) -> str:
    values = {**GOOD, **changes}
    return "[machine]\n" + "".join(f"{key} = {value}\n" for key, value in values.items()
                                   if value is not None)


@pytest.mark.parametrize("name", machine_names(MACHINES))
def test_shipped_machines_load(name: str) -> None:
    machine = load_machine(MACHINES, name)
    assert machine.description
    assert counters_of(machine.trace) or name == "no-iommu"
    assert set(machine.trace) <= {*load(), *REPLAYED}


def test_machines_by_architecture() -> None:
    archs = {name: load_machine(MACHINES, name).arch for name in machine_names(MACHINES)}
    assert archs == {"smmuv3": "arm64", "smmuv3-noncoherent": "arm64", "virtio-iommu": "arm64",
                     "smmuv3-16k": "arm64", "no-iommu": "arm64",
                     "intel-iommu": "amd64", "amd-iommu": "amd64", "q35-virtio-iommu": "amd64"}


def test_defaults_and_lists() -> None:
    machine = parse_machine(text_of(qemu="-machine virt,iommu=smmuv3 -device 'a b'",
                                    append="a=1 b", modules="one two-three", trace="x_y"),
                            "m", Path("m.ini"))
    assert machine.qemu == ("-machine", "virt,iommu=smmuv3", "-device", "a b")
    assert machine.append == ("a=1", "b")
    assert machine.modules == ("one", "two-three")
    assert machine.cpus == 1


@pytest.mark.parametrize(("text", "parts"), [
    (text_of(colour="red"), ["m.ini", "'colour'", "append, arch"]),
    (text_of(arch="mips"), ["m.ini", "mips", "amd64, arm64"]),
    (text_of(target="gpu"), ["m.ini", "gpu", "edu, nvme"]),
    (text_of(memory="lots"), ["m.ini", "lots", "2G"]),
    (text_of(memory="0G"), ["m.ini", "0G"]),
    (text_of(cpus="0"), ["m.ini", "cpus = 0", "1..8"]),
    (text_of(cpus="9"), ["m.ini", "cpus = 9", "1..8"]),
    (text_of(cpus=""), ["m.ini", "cpus"]),
    (text_of(kernel="latest"), ["m.ini", "latest", "6.12"]),
    (text_of(kernel=None), ["m.ini", "'kernel'", "missing"]),
    (text_of(cpu=""), ["m.ini", "'cpu'", "empty"]),
    (text_of(modules="a;b"), ["m.ini", "a;b"]),
    (text_of(qemu="-append 'open"), ["m.ini", "quotation"]),
    (text_of() + "[other]\n", ["m.ini", "[other]", "[machine]"]),
    ("cpu = x\n", ["m.ini", "section"]),
    ("", ["m.ini", "no [machine]"]),
    (text_of() + "cpu = twice\n", ["m.ini", "cpu"]),
])
def test_wrong_files(text: str, parts: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_machine(text, "m", Path("m.ini"))
    for part in parts:
        assert part in str(caught.value)
    assert caught.value.code == 2


def test_unknown_machine_names_those_there_are(tmp_path: Path) -> None:
    (tmp_path / "one.ini").write_text(text_of(), encoding="utf-8")
    with pytest.raises(UsageError, match="'two'.*one"):
        load_machine(tmp_path, "two")


def test_several_targets_have_slots_of_their_own() -> None:
    words = target_arguments("edu nvme,mdts=5")
    assert "edu,addr=02.0,dma_mask=0xffffffffffffffff" in words
    assert "nvme,addr=03.0,serial=pagemix,drive=target,mdts=5" in words
    assert "cirrus-vga,addr=04.0,romfile=" in target_arguments("edu nvme cirrus")


@pytest.mark.parametrize("targets", ["", "edu edu", "nvme nvme-file", "nvme nvme-slot", "edu nvme cirrus nvme-slot",
                                     "edu nvme,mdts"])
def test_wrong_targets(targets: str) -> None:
    machine = parse_machine(text_of(), "m", Path("m.ini"))
    with pytest.raises(UsageError):
        machine.changed(targets, None, [])


def test_changes_of_the_command_line() -> None:
    machine = parse_machine(text_of(modules="a"), "m", Path("m.ini"))
    assert machine.changed(None, None, []) == machine
    other = machine.changed("nvme", "6.1", ["b"])
    assert (other.target, other.kernel, other.modules) == ("nvme", "6.1", ("a", "b"))
    with pytest.raises(UsageError, match="'gpu'.*edu, nvme"):
        machine.changed("gpu", None, [])


def test_memory_of_the_command_line() -> None:
    options = ["run", "--machine", "smmuv3", "--memory"]
    assert request_of(parser().parse_args([*options, "1G"]), ["true"],
                      [*options, "1G", "--", "true"]).machine.memory == "1G"
    for wrong in ("1", "0G", "1T", "1G,slots=2"):
        with pytest.raises(UsageError, match="512M or 1G"):
            request_of(parser().parse_args([*options, wrong]), ["true"], ["--"])


def test_cpus_of_the_command_line() -> None:
    options = ["exec", "--machine", "smmuv3", "--cpus"]
    assert request_of(parser().parse_args([*options, "2"]), ["true"],
                      [*options, "2", "--", "true"]).machine.cpus == 2
    for wrong in ("0", "9", "-1"):
        with pytest.raises(UsageError, match="allowed are 1 to 8"):
            request_of(parser().parse_args([*options[:-1], f"--cpus={wrong}"]), ["true"], ["--"])
