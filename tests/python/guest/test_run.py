# SPDX-License-Identifier: Apache-2.0
"""From a request to QEMU's arguments, and from the output disk to results."""

import io
import tarfile
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

import pytest

from pagemix_guest import qemu
from pagemix_guest.cli import MACHINES, main, reproducing, split_commands
from pagemix_guest.console import Console
from pagemix_guest.errors import GuestError, UsageError
from pagemix_guest.machine import Machine, load_machine
from pagemix_guest.qemu import Boot, Ending, command_line, shown_command
from pagemix_guest.run import (added_file, build_targets, complete_command, make_out, problem_of, real_dates,
                               unpack_results)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    """The smmuv3 machine; its QEMU need not be installed."""
    found = load_machine(MACHINES, "smmuv3")
    monkeypatch.setattr(qemu, "trace_events", lambda _: frozenset({"pl011_write", *found.trace}))
    monkeypatch.setattr(qemu, "version", lambda _: "QEMU emulator version 7.2.22")
    return found


@pytest.fixture
def boot(tmp_path: Path) -> Boot:
    return Boot(tmp_path / "i.cpio", tmp_path / "o.img", tmp_path / "t.log", tmp_path / "c.log",
                tmp_path / "vmlinuz")


def after(arguments: list[str], option: str) -> str:
    return arguments[arguments.index(option) + 1]


def test_command_line(machine: Machine, boot: Boot) -> None:
    arguments = command_line(machine, boot, "instructions", ["extra=1"])
    assert arguments[0] == "qemu-system-aarch64"
    assert after(arguments, "-icount") == "shift=0,sleep=off"
    assert after(arguments, "-machine").endswith("dtb-randomness=off")
    kernel = after(arguments, "-append").split()
    assert {"console=ttyAMA0", "nokaslr", "iommu.strict=1", "extra=1"} <= set(kernel)
    assert arguments.count("-trace") == 1 + len(machine.trace)
    # the output disk's virtio device must stay out of the counted IOMMU
    assert "iommu_platform" not in " ".join(arguments)


def test_command_line_of_a_pc(boot: Boot, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = load_machine(MACHINES, "intel-iommu")
    known = {"serial_write", *machine.trace}
    monkeypatch.setattr(qemu, "trace_events", lambda _: frozenset(known))
    monkeypatch.setattr(qemu, "version", lambda _: "QEMU emulator version 7.2.22")
    arguments = command_line(machine, boot, "instructions", [])
    assert arguments[0] == "qemu-system-x86_64"
    assert {"console=ttyS0", "tsc_early_khz=1000000"} <= set(after(arguments, "-append").split())
    emulated = command_line(machine, boot, "emulated", [])
    assert "tsc_early_khz=1000000" not in after(emulated, "-append").split()
    traced = [arguments[at + 1] for at, word in enumerate(arguments) if word == "-trace"]
    assert traced[0] == "serial_write" and set(traced) == known
    # Devices meet the IOMMU only if it stands before them.
    devices = [arguments[at + 1] for at, word in enumerate(arguments) if word == "-device"]
    assert devices[0].startswith("intel-iommu")
    known.remove("serial_write")
    with pytest.raises(GuestError, match="7.2.22 has no trace event 'serial_write'"):
        command_line(machine, boot, "instructions", [])


def test_emulated_clock_drops_icount(machine: Machine, boot: Boot) -> None:
    assert "-icount" not in command_line(machine, boot, "emulated", [])


def test_targets_share_an_address(machine: Machine, boot: Boot) -> None:
    for target in ("edu", "nvme"):
        line = " ".join(command_line(machine.changed(target, None, []), boot, "instructions", []))
        assert f"{target},addr=02.0" in line


def test_icount_needs_one_cpu(machine: Machine, boot: Boot) -> None:
    two = replace(machine, cpus=2)
    assert after(command_line(two, boot, "emulated", []), "-smp") == "2"
    with pytest.raises(UsageError, match="cpus = 2"):
        command_line(two, boot, "instructions", [])


def test_missing_trace_event_is_named(machine: Machine, boot: Boot) -> None:
    with pytest.raises(GuestError, match="QEMU emulator version 7.2.22 has no trace event 'nope'"):
        command_line(replace(machine, trace=("nope",)), boot, "instructions", [])


def test_no_path_of_this_host_is_published(machine: Machine, boot: Boot, tmp_path: Path) -> None:
    shown = " ".join(shown_command(command_line(machine, boot, "instructions", []), boot))
    assert str(tmp_path) not in shown
    assert "file=o.img" in shown and "-kernel vmlinuz" in shown


def test_pagemix_run_gets_what_only_the_host_knows(machine: Machine) -> None:
    done = complete_command(["pagemix", "run", "--config", "x.ini"], machine, "instructions")
    assert done == ["pagemix", "run", "--config", "x.ini", "--out", "/out", "--machine", "smmuv3",
                    "--clock", "instructions", "--marker", "/dev/ttyAMA0"]
    kept = complete_command(["pagemix", "run", "--out=/out/a", "--marker", "m"], machine, "emulated")
    assert kept == ["pagemix", "run", "--out=/out/a", "--marker", "m", "--machine", "smmuv3",
                    "--clock", "emulated-ns"]
    assert complete_command(["pagemix", "doctor"], machine, "instructions") == ["pagemix", "doctor"]


def test_marker_port_of_a_pc() -> None:
    machine = load_machine(MACHINES, "amd-iommu")
    done = complete_command(["pagemix", "run"], machine, "instructions")
    assert done[done.index("--marker") + 1] == "/dev/ttyS0"


def test_reproducing_command() -> None:
    assert reproducing(["run", "--machine", "m", "--no-build", "--out", "/tmp/x", "--quiet",
                        "--append", "a=1", "--", "pagemix", "run", "--out", "/out"]) == [
        "guest/pagemix-guest", "run", "--machine", "m", "--append", "a=1", "--", "pagemix", "run",
        "--out", "/out"]


def test_commands_are_split() -> None:
    assert split_commands(["a", "b", "--then", "c"]) == [["a", "b"], ["c"]]
    for words in ([], ["--then"], ["a", "--then"], ["a", "--then", "--then", "b"]):
        with pytest.raises(UsageError, match="no command"):
            split_commands(words)


def test_added_files(tmp_path: Path) -> None:
    path = tmp_path / "x.sh"
    path.touch()
    assert added_file(str(path), "arm64").guest == "/bin/x.sh"
    assert added_file(f"{path}:/data/y", "arm64").guest == "/data/y"
    with pytest.raises(UsageError, match="must start with '/'"):
        added_file(f"{path}:y", "arm64")
    with pytest.raises(UsageError, match="'no-such-program': 0 executables"):
        added_file("no-such-program", "arm64")


def test_what_is_built_for_a_guest(tmp_path: Path) -> None:
    (tmp_path / "x.sh").touch()
    assert build_targets([str(tmp_path / "x.sh"), "target_test", "other_test:/bin/o"]) == [
        "target_test", "other_test"]


def test_result_folder_must_be_new(tmp_path: Path) -> None:
    make_out(tmp_path / "a/b")
    make_out(tmp_path / "a/b")
    (tmp_path / "a/b/run.json").touch()
    for path in (tmp_path / "a/b", tmp_path / "a/b/run.json"):
        with pytest.raises(UsageError, match="not an empty folder"):
            make_out(path)


def disk_of(tmp_path: Path, members: dict[str, bytes | None], size: int = 1 << 16) -> Path:
    """An output disk as the guest's tar writes it; None is a folder, a leading '>' a link."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            if data is None:
                member.type = tarfile.DIRTYPE
            elif data.startswith(b">"):
                member.type, member.linkname = tarfile.SYMTYPE, data[1:].decode()
            else:
                member.size = len(data)
            archive.addfile(member, io.BytesIO(data or b""))
    disk = tmp_path / "disk.img"
    disk.write_bytes(buffer.getvalue().ljust(size, b"\0"))
    return disk


def test_results_come_off_the_disk(tmp_path: Path) -> None:
    disk = disk_of(tmp_path, {"out": None, "out/run.json": b"{}", "out/a": None, "out/a/b": b"12",
                              "out/link": b">/etc/passwd", "run/guest": None,
                              "run/guest/exit-1": b"3\n", "run/guest/exit-0": b"0\n"})
    assert unpack_results(disk, tmp_path / "r") == [0, 3]
    found = {str(path.relative_to(tmp_path / "r")) for path in (tmp_path / "r").rglob("*")}
    assert found == {"out", "out/run.json", "out/a", "out/a/b"}  # no links


@pytest.mark.parametrize("members", [{"../evil": b"x"}, {"/etc/evil": b"x"},
                                     {"out/../../evil": b"x"}])
def test_paths_that_leave_the_folder_are_refused(tmp_path: Path, members) -> None:
    with pytest.raises(GuestError, match="holds the path"):
        unpack_results(disk_of(tmp_path, members), tmp_path / "r")


def test_disk_without_status_is_not_complete(tmp_path: Path) -> None:
    with pytest.raises(GuestError, match="not complete"):
        unpack_results(disk_of(tmp_path, {"out": None, "out/run.json": b"{}"}), tmp_path / "r")


def test_empty_and_cut_disks(tmp_path: Path) -> None:
    empty = tmp_path / "empty.img"
    empty.write_bytes(b"\0" * 4096)
    with pytest.raises(GuestError, match="output disk"):
        unpack_results(empty, tmp_path / "r1")
    disk = disk_of(tmp_path, {"out": None, "out/big": b"x" * 5000, "run/guest/exit-0": b"0\n"})
    disk.write_bytes(disk.read_bytes()[:3000])
    with pytest.raises(GuestError, match="output disk"):
        unpack_results(disk, tmp_path / "r2")


def test_why_a_boot_failed() -> None:
    ok, bad = Console(), Console()
    bad.feed("[    1.000000] WARNING: CPU: 0\n")
    assert problem_of(Ending(0, 1.0), ok) == ""
    assert "WARNING: CPU: 0" in problem_of(Ending(0, 1.0), bad)
    assert "no end within 5 s" in problem_of(Ending(-9, 5.0, killed="no end within 5 s"), ok)
    assert "QEMU ended with 1" in problem_of(Ending(1, 0.1), ok)
    ok.feed("@pagemix-guest fail no output disk\n")
    assert "no output disk" in problem_of(Ending(0, 1.0), ok)


def test_dates_become_real() -> None:
    run = {"context": {"date": "2026-01-01T00:00:12+00:00",
                       "pagemix": {"started": "2026-01-01T00:00:10Z"}}}
    real_dates(run, datetime(2030, 5, 6, 7, 8, 9, tzinfo=timezone.utc))
    assert run == {"context": {"date": "2030-05-06T07:08:21+00:00",
                               "pagemix": {"started": "2030-05-06T07:08:19Z"}}}


@pytest.mark.parametrize(("arguments", "part"), [
    (["exec", "--machine", "smmuv2", "--", "true"], "machine 'smmuv2'"),
    (["exec", "--machine", "smmuv3"], "no command"),
    (["exec", "--machine", "smmuv3", "--clock", "sundial", "--", "true"], "emulated"),
    (["exec", "--machine", "smmuv3", "--target", "gpu", "--", "true"], "edu, nvme"),
    (["exec", "--machine", "smmuv3", "--timeout", "0", "--", "true"], "1 to 86400"),
    (["kernel", "fetch", "--arch", "mips"], "allowed are amd64, arm64"),
    (["kernel", "fetch", "--kernel", "x"], "'x'"),
    (["machines", "--", "true"], "no command after"),
])
def test_bad_input(arguments: list[str], part: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert part in capsys.readouterr().err


def test_machines_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["machines"]) == 0
    assert "SMMUv3" in capsys.readouterr().out
