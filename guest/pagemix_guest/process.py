# SPDX-License-Identifier: Apache-2.0
"""Child processes that do not outlive this one."""

from __future__ import annotations

import ctypes
import signal

PR_SET_PDEATHSIG = 1  # <linux/prctl.h>


def die_with_parent(number: signal.Signals = signal.SIGKILL) -> None:
    """For preexec_fn: the child gets this signal when its parent ends, however it does."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, number)
