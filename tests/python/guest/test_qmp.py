# SPDX-License-Identifier: Apache-2.0
"""QMP on request of the guest: against a real QEMU without a machine, and its requests."""

import json
import re
import shutil
import subprocess

import pytest

from pagemix_guest.console import Console
from pagemix_guest.errors import GuestError
from pagemix_guest.pattern import FACTOR, write_pattern
from pagemix_guest.qmp import Monitor

QEMU = "qemu-system-aarch64"


@pytest.mark.skipif(shutil.which(QEMU) is None, reason=f"{QEMU} is not installed")
def test_commands_and_errors_of_a_real_qemu() -> None:
    monitor = Monitor()
    command = [QEMU, "-machine", "none", "-nodefaults", "-display", "none", "-S",
               *monitor.arguments()]
    with subprocess.Popen(command, pass_fds=(monitor.inherited,)) as qemu:
        try:
            monitor.started()
            assert json.loads(monitor.execute('{"execute": "query-status"}'))["return"]["running"] \
                is False
            error = json.loads(monitor.execute('{"execute": "no-such-command"}'))["error"]
            assert error["class"] == "CommandNotFound"
            assert monitor.execute('{"execute": "quit"}') == '{"return": {}}'
            assert qemu.wait(timeout=10) == 0
            with pytest.raises(GuestError, match="query-status"):
                monitor.execute('{"execute": "query-status"}')
        finally:
            qemu.kill()
            monitor.close()


def test_no_json_is_the_guests_fault() -> None:
    monitor = Monitor()
    with pytest.raises(GuestError, match="the QMP command 'device_del target'"):
        monitor.execute("device_del target")
    monitor.close()


def test_requests_are_collected_and_not_shown() -> None:
    console = Console()
    shown = console.feed('@pagemix-guest start 0\n@pagemix-guest qmp {"execute":"a"}\nhello\n')
    assert shown == ["hello"]
    assert console.requests == ['{"execute":"a"}']


EVENT = "[    1.000000] arm-smmu-v3 arm-smmu-v3.0.auto: event 0x10 received:\n"


def test_an_expected_kernel_message_is_no_failure() -> None:
    console = Console(expected=(re.compile("event 0x10 received"), re.compile("no such")))
    assert console.awaited == ["event 0x10 received", "no such"]
    console.feed(EVENT)
    assert console.failures == []
    assert console.awaited == ["no such"]
    console.feed("[    1.000000] WARNING: CPU: 0 PID: 1 at x.c:1\n")
    assert len(console.failures) == 1


def test_a_program_does_not_fulfil_an_expectation() -> None:
    console = Console(expected=(re.compile("event 0x10 received"),))
    console.feed("event 0x10 received\n")
    assert console.awaited == ["event 0x10 received"]


def test_pattern(tmp_path) -> None:
    write_pattern(tmp_path / "p", 1 << 16)
    data = (tmp_path / "p").read_bytes()
    words = [int.from_bytes(data[at:at + 8], "little") for at in range(0, len(data), 8)]
    assert words[0] == FACTOR and words[2] == 3 * FACTOR % 2**64
    assert len(set(words)) == len(words) == (1 << 16) // 8
