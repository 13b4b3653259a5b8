# SPDX-License-Identifier: Apache-2.0
"""The module under calls of every kind and under reloads, and what it does afterwards: one boot.

More of both, and faults in every allocation, on a kernel with KASAN, lockdep and
others: scripts/debug-kernel. A report of the kernel's fails the boot.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from boots import Boot, Run
from conftest import PROFILES, load
from quick_entries import warm

# What Debian's kernel has of checkers: SLUB's red zones and poison, poisoned free
# pages, and KFENCE, which guards some of the objects.
CHECKERS = "slab_debug=FZPU page_poison=1 kfence.sample_interval=1"
CALLS = "4000"
ROUNDS = "20"


@pytest.fixture(scope="module")
def afterwards(boot: Callable[..., Boot]) -> Run:
    return load(boot(
        "smmuv3",
        ["ioctl_fuzz", "--seed", "1", "--calls", CALLS, "--then", "reload_rounds", "--rounds", ROUNDS,
         "--then", "pagemix", "run", "--config", f"{PROFILES}/quick.ini", "--mixes", "order0 order9",
         "--layouts", "scattered", "--families", "map_sgtable unmap_sgtable", "--states", "warm"],
        ("--append", CHECKERS, "--add", "ioctl_fuzz", "--add", "reload_rounds")).out)


# The counts of test_known_answers.py, of a module that nobody has called before.
@pytest.mark.parametrize("family", ["map_sgtable", "unmap_sgtable"])
@pytest.mark.parametrize(("mix", "commands"), [("order0", 6), ("order9", 1)])
def test_the_smmu_gets_the_known_commands(afterwards: Run, family: str, mix: str,
                                          commands: int) -> None:
    found = list(warm(afterwards, family, mix, "scattered"))
    assert found
    for entry in found:
        assert (entry["smmu_cmd_tlbi"], entry["smmu_cmd_sync"]) == (commands, commands)
